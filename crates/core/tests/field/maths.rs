//! Burst and cost maths: F9 to F11, F17 to F19, F48, F49.

use crate::driver::{H, MIN, MS, One, S, all, bucket, fixed, log};
use jeton_core::Fit;

#[test]
fn f9_burst_n_never_admits_one_more() {
    let mut five = One::new(bucket(5, 5, S));
    assert_eq!(five.passed(0, 6), 5);
    assert_eq!(five.passed(2 * S, 6), 5);
    let mut one = One::new(bucket(1, 5, S));
    assert_eq!(one.passed(0, 2), 1);
    assert_eq!(one.passed(1_000 * S, 2), 1);
}

#[test]
fn f10_a_bucket_passes_burst_and_refill_a_log_only_the_limit() {
    let tries = |mut one: One| (0..60).filter(|i| one.passes(i * 500 * MS, 1)).count();
    let bucket_passed = tries(One::new(bucket(17, 17, 30 * S)));
    assert!((30..=34).contains(&bucket_passed), "{bucket_passed}");
    assert_eq!(tries(One::new(log(17, 30 * S))), 17);
}

#[test]
fn f11_no_fraction_of_a_token_is_lost_or_invented() {
    let mut one = One::new(bucket(10, 10, 30 * S));
    let passed: Vec<bool> = (0..=18).map(|s| one.passes(s * S, 1)).collect();
    let denied: Vec<usize> = (0..=18).filter(|&s| !passed[s]).collect();
    assert_eq!(denied, [14, 16, 17]);

    let mut three = One::new(bucket(3, 3, S));
    let (mut last, mut passed) = (3, 0);
    for i in 0..100 {
        let decision = three.take(i * 100 * MS, 1);
        passed += usize::from(decision.fit == Fit::Allowed);
        assert!(decision.remaining <= last + 1);
        last = decision.remaining;
    }
    assert!((31..=33).contains(&passed), "{passed}");
}

#[test]
fn f17_a_cost_above_the_limit_is_always_refused() {
    for quota in all(10, MIN) {
        let mut one = One::new(quota);
        assert!(one.passes(0, 5));
        let decision = one.take(0, 100);
        assert_eq!(
            (decision.fit, decision.remaining),
            (Fit::Impossible, 5),
            "{quota:?}"
        );
    }
}

#[test]
fn f18_a_refused_request_consumes_nothing() {
    for quota in all(10, MIN) {
        let mut one = One::new(quota);
        assert!(one.passes(0, 8));
        assert!(!one.passes(0, 5));
        let decision = one.take(0, 1);
        assert_eq!(
            (decision.fit, decision.remaining),
            (Fit::Allowed, 1),
            "{quota:?}"
        );
    }
}

#[test]
fn f19_looking_and_giving_back_have_rules_of_their_own() {
    for quota in all(10, MIN) {
        let mut one = One::new(quota);
        one.peek(0, 1);
        assert_eq!(one.cell, None, "a look creates nothing");
        assert!(one.passes(0, 10));
        let look = one.peek(0, 1);
        assert!(
            look.fit.retry_after().is_some_and(|wait| !wait.is_zero()),
            "{quota:?}"
        );
        assert_eq!(one.give(0, 1).remaining, 1, "{quota:?}");
        assert!(one.passes(0, 1));
        let given = one.give(0, 100);
        assert_eq!(
            (given.fit, given.remaining),
            (Fit::Settled { actual: 10 }, 10),
            "{quota:?}"
        );
    }
}

#[test]
fn a_cost_of_zero_looks() {
    for quota in all(1, MIN) {
        let mut one = One::new(quota);
        assert!(one.passes(0, 0));
        assert_eq!(one.cell, None);
        assert!(one.passes(0, 1));
        assert!(one.passes(0, 0), "allowed though nothing is left");
        assert_eq!(one.give(0, 1).remaining, 1);
    }
}

#[test]
fn f48_denials_do_not_count_so_a_raise_helps_at_once() {
    let mut one = One::new(fixed(10, H));
    assert_eq!(one.passed(0, 50), 10);
    one.quota = fixed(20, H);
    assert_eq!(one.passed(0, 50), 10);
}

#[test]
fn f49_raising_a_limit_never_turns_an_allow_into_a_deny() {
    let mut one = One::new(bucket(16, 10, 20 * S));
    assert!(one.passes(0, 3));
    one.quota = bucket(16, 1_000, 20 * S);
    assert!(one.passes(0, 1));
}
