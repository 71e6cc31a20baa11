//! What happens when many keys come or go at once: the slowest takes, and the memory.

use std::time::Instant;

use jeton::{Anchor, Overflow, Quota, Settings, Span};
use jeton_core::{Cost, Micros, RuleId};
use jeton_memory::Table;

use crate::peers::{Fault, bucket};
use crate::progress::Progress;

const SECOND: u64 = 1_000_000;

/// A million keys that expire together, and a flood of two million at a cap of a hundred thousand.
pub fn table(full: bool, progress: &mut Progress) -> Result<String, Fault> {
    let scale = if full { 1 } else { 20 };
    progress.step("keys that expire together");
    let mut table = String::from(
        "| event | takes of other keys | p99, us | p99.99, us | longest, us | bytes in use |\n|---|--:|--:|--:|--:|--:|\n",
    );
    expiry(1_000_000 / scale, &mut table)?;
    progress.step("a flood of new keys");
    flood(2_000_000 / scale, 100_000 / scale, &mut table)?;
    Ok(table)
}

fn expiry(keys: u64, table: &mut String) -> Result<(), Fault> {
    let window = Quota::fixed_window(5, Span::from_micros(60 * SECOND)?, Anchor::FirstRequest)?;
    let (start, other) = (1_800_000_000 * SECOND, bucket()?);
    let states = Table::new(&crate::peers::settings(keys + 1_000))?;
    for n in 0..keys {
        let key = n.to_le_bytes();
        states.take(RuleId::new(1), &key, &window, Cost::ONE, Micros::new(start));
    }
    let takes = |from_us: u64| {
        let take = |n: u64| {
            let key = (n % 1_000).to_le_bytes();
            states.take(
                RuleId::new(2),
                &key,
                &other,
                Cost::ONE,
                Micros::new(from_us + n),
            );
        };
        lengths(2 * keys, take)
    };
    row(
        table,
        &format!("{keys} keys in use"),
        takes(start + SECOND),
        &states,
    );
    row(
        table,
        &format!("{keys} keys just over"),
        takes(start + 61 * SECOND),
        &states,
    );
    Ok(())
}

fn flood(fresh: u64, max_keys: u64, table: &mut String) -> Result<(), Fault> {
    let states = Table::new(&Settings {
        max_keys,
        max_memory_bytes: 256 << 20,
        overflow: Overflow::Share,
        seed: None,
    })?;
    let (start, quota) = (1_800_000_000 * SECOND, bucket()?);
    let take = |key: u64, n: u64| {
        let now = Micros::new(start + n);
        states.take(RuleId::new(1), &key.to_le_bytes(), &quota, Cost::ONE, now);
    };
    (0..1_000).for_each(|n| take(n, n));
    row(
        table,
        "before the flood",
        lengths(fresh / 4, |n| take(n % 1_000, n)),
        &states,
    );
    for part in 1..=4 {
        let name = format!("flood, quarter {part} of {fresh} new keys at a cap of {max_keys}");
        let each = |n: u64| {
            take(1_000_000 * part + n, fresh * part + n);
            take(n % 1_000, fresh * part + n);
        };
        row(table, &name, lengths(fresh / 4, each), &states);
    }
    Ok(())
}

/// How long each of many takes is, in nanoseconds, in order.
fn lengths(takes: u64, mut take: impl FnMut(u64)) -> Vec<u64> {
    let mut all: Vec<u64> = (0..takes)
        .map(|n| {
            let begun = Instant::now();
            take(n);
            begun.elapsed().as_nanos() as u64
        })
        .collect();
    all.sort_unstable();
    all
}

fn row(table: &mut String, name: &str, sorted: Vec<u64>, states: &Table) {
    let at = |part: f64| {
        let index = (sorted.len() as f64 * part) as usize;
        sorted
            .get(index.min(sorted.len() - 1))
            .copied()
            .unwrap_or(0) as f64
            / 1e3
    };
    let (p99, p9999, most) = (at(0.99), at(0.9999), at(1.0));
    let (takes, bytes) = (sorted.len(), states.stats().bytes);
    *table += &format!("| {name} | {takes} | {p99:.2} | {p9999:.2} | {most:.0} | {bytes} |\n");
}
