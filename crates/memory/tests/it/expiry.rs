//! States end by their time stamps alone, each at its own end (field case F31).

use jeton_core::{Act, Answers, Cost, Fit, Micros, Op, Plan, RuleId};
use jeton_memory::Overflow;

use crate::{SECOND, allowed, bucket, first, fixed, log, table, take};

#[test]
fn f31_short_and_long_windows_on_one_table_keep_their_own_ends() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let (short, long) = (first(10, SECOND), first(30, 3_600 * SECOND));
    let start = 1_800_000_000 * SECOND;
    for hit in 0..10 {
        let now = Micros::new(start + hit * SECOND);
        let one = |rule, quota| table.take(RuleId::new(rule), b"k", quota, Cost::ONE, now);
        assert!(allowed(&one(1, &short)));
        let hourly = one(2, &long);
        assert_eq!(u64::from(hourly.remaining), 29 - hit);
    }
}

#[test]
fn f31_a_log_key_outlives_the_first_keys_window() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let quota = log(5, 180 * SECOND);
    assert!(allowed(&take(&table, "a", &quota, 0)));
    for _ in 0..5 {
        assert!(allowed(&take(&table, "b", &quota, 179 * SECOND)));
    }
    assert!(!allowed(&take(&table, "b", &quota, 181 * SECOND)));
    assert!(allowed(&take(&table, "b", &quota, 359 * SECOND)));
}

#[test]
fn f31_a_fixed_window_goes_on_after_its_first_interval() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let quota = fixed(60, 60 * SECOND);
    for minute in 0..5 {
        let at = |n| (minute * 60 * SECOND) + n * SECOND * 60 / 92;
        let passed = (0..92)
            .filter(|&n| allowed(&take(&table, "k", &quota, at(n))))
            .count();
        assert_eq!(passed, 60);
    }
}

#[test]
fn what_is_over_leaves_room_for_new_keys() {
    for quota in [bucket(1, SECOND, 5), log(5, SECOND), fixed(5, SECOND)] {
        let table = table(1_000, 1 << 20, Overflow::Deny);
        let mut missed = 0;
        for generation in 0..50 {
            let now = generation * SECOND;
            for n in 0..1_000 {
                let key = format!("{generation}-{n}");
                let found = !take(&table, &key, &quota, now).approximate;
                // The last few places that the generation before left may be overlooked.
                assert!(found || n > 950, "{generation} {n}");
                missed += u64::from(!found);
            }
            assert!(table.stats().keys <= 1_000);
        }
        assert!(missed <= 50, "{missed} of 50000");
    }
}

#[test]
fn a_frozen_process_is_right_at_once() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let quota = log(1, 5 * SECOND);
    assert!(allowed(&take(&table, "k", &quota, SECOND)));
    assert!(!allowed(&take(&table, "k", &quota, SECOND)));
    // Nothing ran meanwhile.
    assert!(allowed(&take(&table, "k", &quota, 8 * SECOND)));
}

#[test]
fn a_state_ahead_of_a_clock_that_went_back_is_alive() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    for (n, quota) in [bucket(1, SECOND, 1), log(1, SECOND), fixed(1, SECOND)]
        .iter()
        .enumerate()
    {
        let key = format!("{n}");
        assert!(allowed(&take(&table, &key, quota, 100 * SECOND)));
        let denied = take(&table, &key, quota, 10 * SECOND);
        assert!(
            denied
                .fit
                .retry_after()
                .is_some_and(|wait| wait.as_micros() <= SECOND)
        );
        assert!(allowed(&take(&table, &key, quota, 11 * SECOND)));
    }
}

#[test]
fn a_look_at_an_unknown_key_creates_nothing() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let empty = table.stats();
    let mut answers = Answers::new();
    for quota in [bucket(1, SECOND, 1), log(1, SECOND), fixed(1, SECOND)] {
        for n in 0..1_000_u32 {
            for act in [
                Act::Peek { cost: Cost::ONE },
                Act::Take { cost: Cost::ZERO },
                Act::Take { cost: Cost::new(2) },
                Act::Give { units: Cost::ONE },
                Act::Reset,
            ] {
                let key = n.to_le_bytes();
                let op = Op::new(RuleId::new(1), &key, &quota, act);
                answers.clear();
                table.decide(Plan::one(&op), Micros::new(5), &mut (), &mut answers);
                let (_, decisions) = answers.plan(0);
                assert_eq!(
                    decisions[0].fit == Fit::Impossible,
                    act == Act::Take { cost: Cost::new(2) }
                );
            }
        }
    }
    assert_eq!(table.stats(), empty);
}

#[test]
fn memory_of_old_logs_is_given_back_as_others_go_on() {
    let table = table(100_000, 64 << 20, Overflow::Share);
    let quota = log(1_000, SECOND);
    let empty = table.stats().bytes;
    for n in 0..200_000_u64 {
        take(&table, &format!("{}", n % 1_000), &quota, n);
    }
    let full = table.stats().bytes;
    assert!(full > empty + 200_000 * 16);
    for n in 0..200_000_u64 {
        take(
            &table,
            &format!("later {}", n % 100),
            &bucket(1, SECOND, 5),
            10 * SECOND + n,
        );
    }
    let left = table.stats();
    assert!(
        left.bytes - empty < (full - empty) / 20,
        "{left:?} of {full}"
    );
    assert_eq!(left.keys, 100);
}
