//! Clock and time arithmetic: F1 to F6.

use crate::driver::{DAY, MS, One, S, all, bucket, counter, first, fixed, log};
use jeton_core::Fit;

#[test]
fn f1_a_clock_that_steps_back_costs_no_client_anything() {
    let mut gcra = One::new(bucket(5, 1, S));
    assert!(gcra.passes(10_000 * MS, 1));
    assert_eq!(gcra.passed(4_000 * MS, 4), 4);
    assert_eq!(gcra.wait(4_000 * MS, 1), 1_000 * MS);
}

#[test]
fn f1_every_algorithm_waits_by_the_new_clock() {
    for quota in [
        fixed(3, 10 * S),
        first(3, 10 * S),
        log(3, 10 * S),
        counter(3, 10 * S),
    ] {
        let mut one = One::new(quota);
        assert_eq!(one.passed(1_000_000 * S, 3), 3);
        let wait = one.wait(4_005 * S, 1);
        assert!(wait <= 20 * S, "{quota:?} waits {wait} us");
        assert!(!one.passes(4_005 * S + wait - 1, 1), "{quota:?}");
        assert!(one.passes(4_005 * S + wait, 1), "{quota:?}");
    }
}

#[test]
fn f1_a_step_back_is_written_even_when_the_answer_is_a_denial() {
    for quota in all(2, 10 * S) {
        let mut one = One::new(quota);
        assert_eq!(one.passed(1_000 * S, 2), 2);
        assert!(!one.passes(500 * S, 1), "{quota:?}");
        // Without the write, the state would still stand at 1000 s.
        assert!(one.passes(521 * S, 1), "{quota:?}");
    }
}

#[test]
fn f1_a_look_writes_nothing() {
    for quota in all(2, 10 * S) {
        let mut one = One::new(quota);
        one.take(1_000 * S, 2);
        let before = one.clone();
        one.peek(500 * S, 1);
        one.take(500 * S, 0);
        assert_eq!(
            (one.cell, one.tail),
            (before.cell, before.tail),
            "{quota:?}"
        );
    }
}

#[test]
fn f2_a_huge_cost_is_impossible_and_changes_nothing() {
    let mut gcra = One::new(bucket(1, 1, DAY));
    for cost in [200_000_000, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(gcra.take(0, cost).fit, Fit::Impossible);
        assert_eq!(gcra.cell, None);
    }
    assert!(gcra.passes(0, 1));
}

#[test]
fn f3_rates_far_above_a_thousand_per_second_are_exact() {
    let mut fast = One::new(bucket(65_535, 65_535, S));
    for i in 0..20 {
        assert_eq!(fast.take(i * 100 * MS, 1).remaining, 65_534);
    }
    let mut gcra = One::new(bucket(1, 2_000, S));
    let passed = (0..4_000).filter(|i| gcra.passes(i * 250, 1)).count();
    assert!((1_999..=2_001).contains(&passed), "{passed}");
    let mut million = One::new(bucket(1, 1_000_000, S));
    assert_eq!(
        (0..1_000).filter(|us| million.passes(*us, 1)).count(),
        1_000
    );
}

#[test]
fn f5_the_seconds_a_client_sees_are_whole_and_rounded_up() {
    let mut gcra = One::new(bucket(1, 5, S));
    assert!(gcra.passes(0, 1));
    let fit = gcra.take(50 * MS, 1).fit;
    assert_eq!(fit.retry_after().unwrap().as_micros(), 150 * MS);
    assert_eq!(fit.retry_after().unwrap().as_secs_ceil(), 1);
}

#[test]
fn f6_a_window_of_a_year_holds_for_a_year() {
    let start = 1_700_006_400 * S; // any whole second will do
    for quota in [first(5, 365 * DAY), log(5, 365 * DAY)] {
        let mut one = One::new(quota);
        assert_eq!(one.passed(start, 5), 5);
        assert!(!one.passes(start + 25 * DAY, 1));
        assert!(!one.passes(start + 50 * DAY, 1));
        assert!(one.passes(start + 366 * DAY, 1));
    }
}

#[test]
fn windows_of_ten_years_hold() {
    for quota in all(5, 3_650 * DAY) {
        let mut one = One::new(quota);
        let start = 1_700_000_000 * S;
        assert_eq!(one.passed(start, 5), 5, "{quota:?}");
        let wait = one.wait(start + S, 1);
        assert!(!one.passes(start + S + wait - 1, 1), "{quota:?}");
        assert!(one.passes(start + S + wait, 1), "{quota:?}");
    }
}
