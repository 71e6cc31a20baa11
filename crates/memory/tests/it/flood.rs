//! Two million fresh keys against a table of a hundred thousand, while honest keys are in use.

use jeton_core::{Cost, Decision, Kind, Micros, Quota, RuleId, Span};
use jeton_memory::{Overflow, Table};

use crate::{Random, SECOND, allowed, bucket, counter, first, fixed, log, table};

const HONEST: u64 = 500;
const LIMIT: u64 = 20;

/// (most keys, keys of the flood)
fn sizes() -> (u64, u64) {
    if jeton_testkit::laws::full_size() {
        (100_000, 2_000_000)
    } else {
        (5_000, 100_000)
    }
}

fn honest(table: &Table, key: u64, quota: &Quota, us: u64) -> Decision {
    let rule = RuleId::new(1);
    table.take(rule, &key.to_le_bytes(), quota, Cost::ONE, Micros::new(us))
}

/// The flood comes under a rule of its own, or under that of the honest keys.
fn flood(table: &Table, rule: u64, n: u64, quota: &Quota, us: u64) -> Decision {
    let key = n.to_be_bytes().repeat(2);
    table.take(RuleId::new(rule), &key, quota, Cost::ONE, Micros::new(us))
}

/// What a new key is told that finds no room.
fn turned_away(decision: &Decision, policy: Overflow, quota: &Quota) {
    assert!(decision.approximate, "there was room for {quota:?}");
    let wait = decision.fit.retry_after().map(Span::as_micros);
    match policy {
        Overflow::Deny => assert_eq!(wait, Some(SECOND)),
        Overflow::Allow => assert!(allowed(decision)),
        Overflow::Share => assert!(allowed(decision) || wait.is_some()),
    }
}

/// A table under a flood gives honest keys the very answers of one that nobody else uses; whatever the
/// policy, its memory is as large in the end as when it had just become full.
fn attack(policy: Overflow, quota: &Quota) {
    let (max_keys, fresh) = sizes();
    let table = table(max_keys, 64 << 20, policy);
    let quiet = self::table(HONEST, 64 << 20, policy);
    let mut random = Random(fresh);
    let (mut peak, mut full, mut denied) = (0, 0, 0);
    let mut both = |key, us| {
        let decision = honest(&table, key, quota, us);
        assert_eq!(decision, honest(&quiet, key, quota, us), "{policy:?}");
        assert!(!decision.approximate, "a key in use was pushed out");
        denied += u64::from(!allowed(&decision));
    };
    (0..HONEST).for_each(|key| both(key, 0));
    for n in 0..fresh {
        // The whole flood comes within 20 s.
        let us = n * 20 * SECOND / fresh;
        let decision = flood(&table, 1 + n % 2, n, quota, us);
        if n < max_keys - HONEST {
            assert!(allowed(&decision) && !decision.approximate);
        } else {
            turned_away(&decision, policy, quota);
        }
        if n % 4 == 0 {
            both(random.below(HONEST), us);
        }
        if n % (fresh / 20) == 0 {
            let stats = table.stats();
            assert!(stats.keys <= max_keys && stats.bytes <= stats.max_bytes);
            let seen = if n > fresh / 2 { &mut peak } else { &mut full };
            *seen = stats.bytes.max(*seen);
        }
    }
    assert!(denied > HONEST, "{denied}: honest keys met their limits");
    let stats = table.stats();
    assert_eq!(stats.keys, max_keys);
    assert_eq!(stats.overflowed, fresh - (max_keys - HONEST));
    // Logs of honest keys go on filling: 20 entries of 16 bytes, and half as much again.
    let entries = HONEST * LIMIT * 24 * u64::from(quota.kind() == Kind::Log);
    assert!(
        peak <= full + full / 50 + entries,
        "{quota:?}: {full} then {peak} bytes"
    );
}

#[test]
fn a_flood_leaves_keys_in_use_their_limits_and_memory_flat_under_each_policy() {
    let minute = 60 * SECOND;
    for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        for quota in [
            bucket(1, minute, LIMIT),
            fixed(LIMIT, 10 * minute),
            first(LIMIT, 10 * minute),
            counter(LIMIT, 10 * minute),
            log(LIMIT, 10 * minute),
        ] {
            attack(policy, &quota);
        }
    }
}

#[test]
fn after_a_flood_memory_is_given_back_and_new_keys_find_room() {
    let (max_keys, fresh) = sizes();
    let table = table(max_keys, 64 << 20, Overflow::Deny);
    let quota = log(5, 10 * SECOND);
    let empty = table.stats().bytes;
    for n in 0..fresh / 4 {
        flood(&table, 1, n, &quota, n);
    }
    let full = table.stats();
    assert_eq!(full.keys, max_keys);
    // Everything is over; a hundred keys go on.
    let mut turned_away = 0;
    for n in 0..fresh {
        let decision = honest(&table, n % 100, &bucket(1, SECOND, 5), 60 * SECOND + n);
        turned_away += u64::from(decision.approximate);
    }
    let left = table.stats();
    assert_eq!((left.keys, turned_away), (100, 0));
    assert!(
        left.bytes - empty < (full.bytes - empty) / 20,
        "{left:?} of {full:?}"
    );
}
