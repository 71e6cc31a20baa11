//! What sliding logs cost: their memory follows use, and the limit costs nothing (field case F56).

use std::time::Instant;

use jeton_core::{Cost, Micros, RuleId};
use jeton_memory::{Overflow, Table};

use crate::{SECOND, allowed, log, table, take};

const DAY: u64 = 86_400 * SECOND;

/// A table with one log that is full, and how long one of many takes of it is, in nanoseconds; the
/// best of some runs, since other programs want the processor too.
fn cost_of_a_take(limit: u64) -> f64 {
    let table = table(1_000, 64 << 20, Overflow::Share);
    let quota = log(limit, DAY);
    for n in 0..limit {
        assert!(allowed(&take(&table, "k", &quota, n)));
    }
    let run = |from: u64| {
        let begun = Instant::now();
        for n in from..from + 2_000 {
            let denied = take(&table, "k", &quota, n);
            assert!(!allowed(&denied));
        }
        begun.elapsed().as_secs_f64() * 1e9 / 2_000.0
    };
    (0..50)
        .map(|n| run(limit + n * 2_000))
        .fold(f64::MAX, f64::min)
}

#[test]
fn f56_a_check_of_a_full_log_costs_the_same_at_70_and_at_70_000() {
    // The case states three times; a walk along the log would be a thousand times.
    let (few, many) = (cost_of_a_take(70), cost_of_a_take(70_000));
    assert!(
        many < 3.0 * few + 100.0,
        "{few} ns at 70, {many} ns at 70 000"
    );
}

/// The bytes of a table after `hits` of one key.
fn bytes_after(table: &Table, limit: u64, hits: u64) -> u64 {
    for n in 0..hits {
        table.take(
            RuleId::new(1),
            b"k",
            &log(limit, DAY),
            Cost::ONE,
            Micros::new(n),
        );
    }
    table.stats().bytes
}

#[test]
fn f56_a_log_weighs_what_is_used_of_it_whatever_its_limit() {
    let new = || table(1_000, 64 << 20, Overflow::Share);
    let empty = new().stats().bytes;
    assert_eq!(
        bytes_after(&new(), 5, 5),
        bytes_after(&new(), 1_000_000_000, 5)
    );
    let one = bytes_after(&new(), 70_000, 1_000) - empty;
    let ten = bytes_after(&new(), 70_000, 10_000) - empty;
    assert!(
        (16_000..40_000).contains(&one),
        "{one} bytes for 1000 entries"
    );
    assert!(
        (160_000..260_000).contains(&ten),
        "{ten} bytes for 10 000 entries"
    );
}
