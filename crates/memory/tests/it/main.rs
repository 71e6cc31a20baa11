//! The table from outside, apart from the store laws.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests stand outside of `#[test]`

mod allocation;
mod batches;
mod collisions;
mod damage;
mod differential;
mod dumps;
mod expiry;
mod flood;
mod held;
mod held_up;
mod journal;
mod linear;
mod logs;
mod looks;
mod notes;
mod overflow;
mod panics;
mod settings;
mod sources;
mod syscalls;
mod threads;
mod weights;

use jeton_core::{
    Act, Anchor, Answers, Cost, Decision, Fit, Micros, Op, Plan, Quota, Rate, RuleId, Span,
};
use jeton_memory::{Overflow, Seed, Settings, Table};

/// The same numbers every time (Steele, Lea and Flood's `SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}

const SECOND: u64 = 1_000_000;

fn span(us: u64) -> Span {
    Span::from_micros(us).unwrap()
}

fn bucket(units: u64, us: u64, burst: u64) -> Quota {
    Quota::bucket(Rate::new(units, span(us)).unwrap(), burst).unwrap()
}

fn fixed(limit: u64, us: u64) -> Quota {
    Quota::fixed_window(limit, span(us), Anchor::Epoch).unwrap()
}

fn first(limit: u64, us: u64) -> Quota {
    Quota::fixed_window(limit, span(us), Anchor::FirstRequest).unwrap()
}

fn counter(limit: u64, us: u64) -> Quota {
    Quota::sliding_counter(limit, span(us)).unwrap()
}

fn log(limit: u64, us: u64) -> Quota {
    Quota::sliding_log(limit, span(us)).unwrap()
}

fn concurrency(limit: u64, lease_us: u64) -> Quota {
    Quota::concurrency(limit, span(lease_us)).unwrap()
}

fn ticket(ttl_us: u64) -> Quota {
    Quota::ticket(span(ttl_us)).unwrap()
}

fn table(max_keys: u64, max_memory_bytes: u64, overflow: Overflow) -> Table {
    Table::new(&Settings {
        max_keys,
        max_memory_bytes,
        overflow,
        seed: Some(Seed::new([7; 16])),
    })
    .unwrap()
}

fn take(table: &Table, key: &str, quota: &Quota, us: u64) -> Decision {
    table.take(
        RuleId::new(1),
        key.as_bytes(),
        quota,
        Cost::ONE,
        Micros::new(us),
    )
}

fn allowed(decision: &Decision) -> bool {
    decision.fit == Fit::Allowed
}

/// What the table says to one act.
fn one(table: &Table, key: &str, quota: &Quota, act: Act, us: u64) -> Decision {
    let op = Op::new(RuleId::new(1), key.as_bytes(), quota, act);
    let mut answers = Answers::new();
    table.decide(Plan::one(&op), Micros::new(us), &mut (), &mut answers);
    answers.plan(0).1[0]
}
