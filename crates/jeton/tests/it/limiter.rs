//! One quota over any key, under many threads and beside another limiter.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use jeton::{Anchor, Clock, Cost, Fit, Limiter, Micros, Quota, Settings, Span};

fn limiter(quota: Quota) -> Limiter {
    Limiter::with(quota, &Settings::default(), Clock::fixed(Micros::new(1))).unwrap()
}

fn hour() -> Span {
    Span::from_micros(3_600_000_000).unwrap()
}

#[test]
fn eight_threads_admit_exactly_the_limit() {
    let takes: u32 = if std::env::var_os("JETON_FULL").is_some() {
        100_000
    } else {
        5_000
    };
    let limit = u64::from(takes) * 3;
    for quota in [
        Quota::fixed_window(limit, hour(), Anchor::FirstRequest).unwrap(),
        Quota::sliding_log(limit, hour()).unwrap(),
        Quota::sliding_counter(limit, hour()).unwrap(),
    ] {
        let (limiter, admitted, start) = (limiter(quota), AtomicU32::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let passed = (0..takes)
                        .filter(|_| limiter.take("one").fit.passes())
                        .count();
                    admitted.fetch_add(u32::try_from(passed).unwrap(), Relaxed);
                });
            }
        });
        assert_eq!(u64::from(admitted.into_inner()), limit, "{quota:?}");
    }
}

#[test]
fn keys_of_any_kind_have_counters_of_their_own() {
    let limiter = limiter(Quota::fixed_window(1, hour(), Anchor::Epoch).unwrap());
    assert!(limiter.take("1").fit.passes());
    assert!(limiter.take(&1_u64).fit.passes());
    assert!(limiter.take(&("a", "bc")).fit.passes());
    assert!(limiter.take(&("ab", "c")).fit.passes());
    assert!(!limiter.take(&("ab", "c")).fit.passes());
}

#[test]
fn a_charge_can_be_settled_refunded_and_forgotten() {
    let limiter = limiter(Quota::sliding_log(10, hour()).unwrap());
    let held = limiter.take_units("k", Cost::new(8)).receipt;
    assert_eq!(limiter.settle("k", held, Cost::new(3)).remaining, 7);
    assert_eq!(limiter.refund("k", Cost::ONE).remaining, 8);
    assert_eq!(
        limiter.check("k", Cost::new(9)).fit.retry_after().unwrap(),
        hour()
    );
    assert_eq!(limiter.reset("k").remaining, 10);
    assert_eq!(limiter.check("k", Cost::new(10)).fit, Fit::Allowed);
}

#[test]
fn a_bad_rate_names_the_fix() {
    let error = Limiter::bucket("20", 5).unwrap_err().to_string();
    assert!(error.contains("20/s"), "{error}");
    assert!(
        Limiter::bucket("5/s", 0)
            .unwrap_err()
            .to_string()
            .contains("unlimited")
    );
}

#[test]
fn clones_share_their_counters() {
    let limiter = limiter(Quota::fixed_window(1, hour(), Anchor::Epoch).unwrap());
    assert!(limiter.clone().take("k").fit.passes());
    assert!(!limiter.take("k").fit.passes());
}

#[test]
fn out_of_main_an_error_prints_one_line() {
    let error = Limiter::bucket("20 per minute", 5).unwrap_err();
    let shown = format!("{error:?}");
    assert_eq!(shown, error.to_string());
    assert!(
        shown.contains("20/min") && shown.lines().count() == 1,
        "{shown}"
    );
}
