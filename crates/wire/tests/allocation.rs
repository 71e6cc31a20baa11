//! Writing the fields of an answer allocates nothing once the scratch string has grown.
//!
//! Alone in its process, since allocations are counted for the whole of it.

use std::alloc::System;

use jeton_wire::ratelimit::{Dialect, Dialects, PolicyItem, Report};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn fields_are_written_without_allocating() {
    let policies = [
        PolicyItem::bucket("everyone", 20, 1_000_000, 100),
        PolicyItem::window("day", 1000, 86_400_000_000),
    ];
    let limits = policies.map(|policy| policy.limit(7, 86_400_000_000).with_cost(1));
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: 1_800_000_000_000_000,
    };
    let mut scratch = String::with_capacity(256);
    let mut written_bytes = 0;
    let region = Region::new(ALLOCATOR);
    for dialect in Dialect::words().filter_map(|word| word.parse::<Dialect>().ok()) {
        Dialects::from(dialect).write_fields(&report, &mut scratch, |name, value| {
            written_bytes += name.len() + value.len();
        });
    }
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
    assert!(written_bytes > 500, "{written_bytes}");
}
