//! What the system sees of a table: pages in memory, in a program that does nothing else.

#![allow(clippy::unwrap_used)]

use std::fs;

use jeton_core::{Anchor, Cost, Micros, Quota, RuleId, Span};
use jeton_memory::{Overflow, Settings, Table};

const SECOND: u64 = 1_000_000;

/// Bytes of this process in memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

fn table(max_keys: u64, overflow: Overflow) -> Table {
    Table::new(&Settings {
        max_keys,
        max_memory_bytes: 1 << 30,
        overflow,
        seed: None,
    })
    .unwrap()
}

fn take(table: &Table, key: u64, quota: &Quota, us: u64) {
    let name = key.to_le_bytes();
    table.take(RuleId::new(1), &name, quota, Cost::ONE, Micros::new(us));
}

/// (fresh keys, most keys)
fn sizes() -> (u64, u64) {
    if jeton_testkit::laws::full_size() {
        (2_000_000, 100_000)
    } else {
        (200_000, 25_000)
    }
}

fn flood_stays_flat() {
    let (fresh, max_keys) = sizes();
    let minute = Span::from_micros(60 * SECOND).unwrap();
    let quotas = [
        Quota::fixed_window(5, minute, Anchor::FirstRequest).unwrap(),
        Quota::sliding_log(5, minute).unwrap(),
    ];
    for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        for quota in &quotas {
            let table = table(max_keys, policy);
            (0..max_keys).for_each(|key| take(&table, key, quota, key));
            // Once it is full; a page here and there may follow.
            (0..max_keys).for_each(|key| take(&table, key + max_keys, quota, max_keys + key));
            let full = resident();
            (0..fresh).for_each(|n| take(&table, 10 * max_keys + n, quota, 2 * max_keys + n));
            let flooded = resident();
            assert!(
                flooded <= full + (1 << 20),
                "{policy:?}: {full} then {flooded} bytes"
            );
        }
    }
}

/// What one flood has left behind when its keys are dead is enough for the next, of another kind and in
/// other places: nothing is lost to states that are over.
fn memory_of_the_dead_is_used_again() {
    let fresh = sizes().0
        / if jeton_testkit::laws::full_size() {
            1
        } else {
            8
        };
    let minute = Span::from_micros(60 * SECOND).unwrap();
    let quotas = [
        Quota::sliding_log(5, minute).unwrap(),
        Quota::fixed_window(5, minute, Anchor::FirstRequest).unwrap(),
    ];
    let table = table(4 * fresh, Overflow::Deny);
    let empty = table.stats().bytes;
    let mut first = None;
    for (generation, quota) in (0..).zip(quotas.iter().cycle().take(3)) {
        let start = generation * 1_000 * SECOND;
        (0..fresh).for_each(|n| take(&table, fresh * generation + n, quota, start + n));
        let (full, stated) = (resident(), table.stats().bytes);
        assert!(stated > empty + 32 * fresh);
        // They are over; a hundred keys go on until nothing is left of them.
        for n in 0..64 * fresh {
            take(&table, n % 100, quota, start + 200 * SECOND + n);
        }
        let left = table.stats().bytes;
        assert!(left < empty + (stated - empty) / 4, "{left} of {stated}");
        let before = *first.get_or_insert(full);
        assert!(full <= before + before / 10, "{before}, then {full} bytes");
    }
}

/// One test, for there is one process.
#[test]
fn resident_memory_is_flat_in_a_flood_and_used_again_after_it() {
    memory_of_the_dead_is_used_again();
    flood_stays_flat();
}
