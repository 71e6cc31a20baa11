//! Expiry, waits and clocks that do not only go on.

use jeton_core::{Act, Cost, Fit};

use super::desk::{DAY, Desk, HOUR, Key, SECOND, START, YEAR, denied, kinds, wait_us};
use super::{Make, repeats};
use crate::random::Random;

/// A state that is over answers like one that never was, without any timer: the store is only ever
/// asked at the instants named.
pub fn a_state_vanishes_after_its_time(make: Make<'_>) {
    let desk = Desk::new(make);
    for (window_us, rounds) in [(1000, 5), (SECOND, 5), (HOUR, 5), (10 * YEAR, 2)] {
        for quota in &kinds(1, window_us) {
            let key = Key::new(window_us, b"key", quota);
            let unknown = desk.peek(&Key {
                name: b"unknown",
                ..key
            });
            let mut now = desk.clone();
            for _ in 0..rounds {
                assert!(now.take(&key, 1).fit.passes(), "{quota:?}");
                assert!(denied(&now.take(&key, 1)), "{quota:?}");
                now = now.at(now.now_us + 2 * window_us);
                let over = now.peek(&key);
                let seen = (over.remaining, over.reset_after, over.next_after);
                let never = (unknown.remaining, unknown.reset_after, unknown.next_after);
                assert_eq!(seen, never, "{quota:?}");
            }
        }
    }
}

/// Waiting exactly as long as a denial says suffices when nobody else asks; a microsecond less does
/// not.
pub fn a_stated_wait_suffices_and_a_microsecond_less_does_not(make: Make<'_>) {
    let desk = Desk::new(make);
    let mut random = Random::new(4);
    let mut waits = 0;
    let rounds = repeats(make, 120, 120);
    for round in 0..rounds {
        let limit = random.scaled(1, 50);
        let window_us = random.scaled(1000, 30 * DAY).max(limit);
        for quota in &kinds(limit, window_us) {
            let name = round.to_be_bytes();
            let key = Key::new(1, &name, quota);
            let mut now_us = START + random.below(window_us);
            for _ in 0..12 {
                let now = desk.at(now_us);
                let cost = random.between(1, limit);
                let decision = now.take(&key, cost);
                let Some(wait) = decision.fit.retry_after() else {
                    now_us += random.below(window_us / 2);
                    continue;
                };
                let due_us = now_us + wait.as_micros();
                assert!(denied(&desk.at(due_us - 1).take(&key, cost)), "{quota:?}");
                assert!(desk.at(due_us).take(&key, cost).fit.passes(), "{quota:?}");
                now_us = due_us;
                waits += 1;
            }
        }
    }
    assert!(waits > 4 * rounds, "only {waits} waits were tried");
}

/// F1: a clock that steps back costs a client nothing beyond what it has used, and the wait counts
/// from the new clock; the step is written even when the answer is a denial.
pub fn f1_a_clock_that_steps_back_costs_nothing(make: Make<'_>) {
    let desk = Desk::new(make);
    for step_us in [1, SECOND, HOUR, 2 * DAY, 10 * YEAR] {
        for quota in &kinds(5, HOUR) {
            let name = step_us.to_be_bytes();
            let key = Key::new(1, &name, quota);
            assert!(desk.take(&key, 1).fit.passes());
            let back = desk.at(desk.now_us - step_us);
            assert!((0..4).all(|_| back.take(&key, 1).fit.passes()), "{quota:?}");
            let wait_us = wait_us(&back.take(&key, 5));
            // A counter's unit may count through this window and the next one.
            assert!((1..=2 * HOUR).contains(&wait_us), "{quota:?}: {wait_us}");
            assert!(
                back.at(back.now_us + wait_us).take(&key, 5).fit.passes(),
                "{quota:?}"
            );

            let fresh = Key::new(2, &name, quota);
            assert!(desk.take(&fresh, 5).fit.passes());
            assert!(denied(&back.take(&fresh, 5)));
            assert!(
                back.at(back.now_us + 2 * HOUR).take(&fresh, 5).fit.passes(),
                "{quota:?}"
            );
        }
    }
}

/// Idling for years neither adds to a limit nor takes from it.
pub fn years_of_idling_change_nothing(make: Make<'_>) {
    let desk = Desk::new(make);
    for quota in &kinds(5, HOUR) {
        let key = Key::new(1, b"key", quota);
        let mut now = desk.clone();
        for years in [1, 9, 13, 20] {
            let passing = (0..7)
                .filter(|_| now.take(&key, 1).fit == Fit::Allowed)
                .count();
            assert_eq!(passing, 5, "{quota:?}, before {years} years");
            now = now.at(now.now_us + years * YEAR);
        }
        assert_eq!(
            now.act(&key, Act::Peek { cost: Cost::new(5) }).fit,
            Fit::Allowed
        );
    }
}

/// A thread that is held up between reading a clock and deciding comes with an old reading. It must
/// not look like a clock that went back, or its key would be given the same time twice.
pub fn an_old_reading_of_a_steady_clock_gains_no_time(make: Make<'_>) {
    let desk = Desk::new(make).steady();
    for quota in &kinds(2, SECOND) {
        let key = Key::new(1, b"key", quota);
        let now = desk.at(desk.now_us + 10 * SECOND);
        assert!(now.take(&key, 2).fit.passes(), "{quota:?}");
        let held_up = desk.at(now.now_us - SECOND).take(&key, 1);
        assert!(denied(&held_up), "{quota:?}");
        assert_eq!(held_up.fit, now.take(&key, 1).fit, "{quota:?}");
        let soon = desk.at(now.now_us + 400_000);
        assert!(denied(&soon.take(&key, 1)), "{quota:?}");
    }
}
