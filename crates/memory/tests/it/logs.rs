//! What sliding logs cost: their memory follows use, and the limit costs nothing (field case F56).

use jeton_core::{Cost, Micros, RuleId};
use jeton_memory::{Overflow, Table};

use crate::{SECOND, allowed, log, table, take};

const DAY: u64 = 86_400 * SECOND;

/// What a check looks at and what a charge moves is counted beside the code: `f56_` in the core's
/// `sliding_log.rs` and in `tail.rs`. Here: however many checks there are, a full log stays as it is.
#[test]
fn f56_checks_of_a_full_log_leave_it_alone() {
    for limit in [70, 70_000] {
        let table = table(1_000, 64 << 20, Overflow::Share);
        let quota = log(limit, DAY);
        for n in 0..limit {
            assert!(allowed(&take(&table, "k", &quota, n)));
        }
        assert!(!allowed(&take(&table, "k", &quota, limit)));
        let before = table.stats();
        let checks = allocation_counter::measure(|| {
            for n in 0..1_000 {
                assert!(!allowed(&take(&table, "k", &quota, limit + n)));
            }
        });
        assert_eq!((checks.count_total, table.stats()), (0, before));
    }
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
