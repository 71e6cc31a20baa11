//! Settling, debt and cancelled reservations: F25 and the worked example of the arithmetic.

use crate::driver::{MIN, One, S, all, bucket, counter, first, fixed, log};
use jeton_core::Fit;

#[test]
fn f25_a_cancelled_hold_leaves_what_would_be_there_without_it() {
    let mut one = One::new(bucket(20, 10, S));
    assert!(one.passes(0, 15));
    assert_eq!(
        one.take(0, 10).fit.retry_after().unwrap().as_micros(),
        S / 2
    );
    assert_eq!(one.peek(0, 0).remaining, 5);
    for quota in all(20, 2 * S) {
        let mut one = One::new(quota);
        assert!(one.passes(0, 5));
        let held = one.take(0, 10).receipt;
        assert_eq!(one.settle(0, held, 0).remaining, 15, "{quota:?}");
    }
}

#[test]
fn take_wait_cancel_does_not_let_a_burst_pass_twice() {
    let mut one = One::new(bucket(20, 10, S));
    let held = one.take(0, 15).receipt;
    assert!(one.passes(S / 2, 10));
    one.settle(S, held, 0);
    // 15 + 10 have passed, of which 15 were given up late: 25 is the bound of any second.
    assert!(one.peek(S, 0).remaining <= 10, "{:?}", one.peek(S, 0));
}

#[test]
fn a_charge_settles_down_only_while_its_window_lasts() {
    for quota in [fixed(10, MIN), first(10, MIN), log(10, MIN)] {
        let mut one = One::new(quota);
        let held = one.take(0, 10).receipt;
        assert_eq!(one.settle(30 * S, held, 4).remaining, 6, "{quota:?}");
        let mut late = One::new(quota);
        let held = late.take(0, 10).receipt;
        assert!(late.passes(61 * S, 10), "{quota:?}");
        assert_eq!(late.settle(62 * S, held, 0).remaining, 0, "{quota:?}");
    }
    // A counter's charge still weighs in the next window, and can be given back there.
    let mut one = One::new(counter(10, MIN));
    let held = one.take(0, 10).receipt;
    assert_eq!(one.peek(60 * S, 0).remaining, 0);
    assert_eq!(one.settle(60 * S, held, 0).remaining, 10);
}

#[test]
fn a_settle_above_the_hold_goes_into_debt_by_one_limit_at_most() {
    for quota in all(10, MIN) {
        let mut one = One::new(quota);
        let held = one.take(0, 4).receipt;
        let settled = one.settle(0, held, 13);
        assert_eq!(
            (settled.fit, settled.remaining),
            (Fit::Settled { actual: 13 }, 0),
            "{quota:?}"
        );
        assert!(
            one.take(0, 0).fit.retry_after().is_some(),
            "a look in debt is denied: {quota:?}"
        );
        let nothing = one.peek(0, 0).receipt;
        let clipped = one.settle(0, nothing, 100);
        assert_eq!(clipped.fit, Fit::Settled { actual: 7 }, "{quota:?}");
    }
}

#[test]
fn a_windows_debt_is_charged_to_the_windows_that_follow() {
    let mut one = One::new(fixed(10, MIN));
    let held = one.take(0, 10).receipt;
    one.settle(0, held, 17);
    assert_eq!(one.wait(0, 1), 60 * S);
    assert_eq!(one.wait(0, 4), 120 * S);
    assert_eq!(one.take(60 * S, 3).remaining, 0);
    assert_eq!(one.take(120 * S, 1).remaining, 9);
}

#[test]
fn a_logs_debt_is_stamped_one_window_later() {
    let mut one = One::new(log(10, MIN));
    let held = one.take(0, 10).receipt;
    one.settle(10 * S, held, 14);
    assert_eq!(one.peek(60 * S, 0).remaining, 6);
    assert!(one.passes(60 * S, 6));
    assert_eq!(one.wait(60 * S, 1), 60 * S);
    // Stamped at 70 s, it leaves at 130 s.
    assert_eq!(one.take(120 * S, 1).remaining, 5);
    assert_eq!(one.peek(130 * S, 0).remaining, 9);
}

#[test]
fn a_receipt_keeps_naming_its_log_entry_when_the_clock_steps_back() {
    let mut one = One::new(log(10, MIN));
    let held = one.take(1_000 * S, 4).receipt;
    assert!(one.passes(900 * S, 3));
    assert_eq!(one.settle(901 * S, held, 0).remaining, 7);
}
