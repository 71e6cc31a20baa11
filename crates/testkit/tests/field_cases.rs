//! The models against cases computed by hand, so that they are trusted for reasons of their own:
//! faults met in the field under their numbers, and the rules that decide them.

#![allow(clippy::expect_used)]

use jeton_testkit::model::{Act, Answer, Model, ModelQuota, Verdict};

const MS: u64 = 1000;
const SECOND: u64 = 1000 * MS;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Noon of a day in 2026, so that "at 0 s" is an edge of every window used here but a year's.
const NOON: u64 = 20_454 * DAY + 12 * HOUR;

/// One key under one quota, its clock counted from [`NOON`].
struct Key {
    model: Model,
    quota: ModelQuota,
}

impl Key {
    fn new(quota: ModelQuota) -> Self {
        Self {
            model: Model::default(),
            quota,
        }
    }

    fn act(&mut self, act: Act, at_us: u64) -> Answer {
        self.model.act(&self.quota, &act, NOON + at_us)
    }

    fn take(&mut self, cost: u64, at_us: u64) -> Answer {
        self.act(Act::Take { cost }, at_us)
    }

    /// How many of `asked` single units pass at one instant.
    fn passing(&mut self, asked: u64, at_us: u64) -> u64 {
        (0..asked)
            .map(|_| u64::from(self.take(1, at_us).allowed()))
            .sum()
    }

    fn settle(&mut self, of: &Answer, actual: u64, at_us: u64) -> Answer {
        let receipt = of.receipt.expect("only what was allowed is settled");
        self.act(
            Act::Settle {
                receipt,
                actual,
                max_debt: u64::MAX,
            },
            at_us,
        )
    }
}

fn bucket(burst: u64, units: u64, per_us: u64) -> Key {
    Key::new(ModelQuota::Bucket {
        units,
        per_us,
        burst,
    })
}

fn fixed(limit: u64, window_us: u64) -> Key {
    Key::new(ModelQuota::FixedWindow {
        limit,
        window_us,
        epoch: true,
    })
}

fn from_first(limit: u64, window_us: u64) -> Key {
    Key::new(ModelQuota::FixedWindow {
        limit,
        window_us,
        epoch: false,
    })
}

fn counter(limit: u64, window_us: u64) -> Key {
    Key::new(ModelQuota::SlidingCounter { limit, window_us })
}

fn log(limit: u64, window_us: u64) -> Key {
    Key::new(ModelQuota::SlidingLog { limit, window_us })
}

/// Every algorithm with the same limit and window.
fn all(limit: u64, window_us: u64) -> [Key; 5] {
    [
        bucket(limit, limit, window_us),
        fixed(limit, window_us),
        from_first(limit, window_us),
        counter(limit, window_us),
        log(limit, window_us),
    ]
}

#[track_caller]
fn assert_told(answer: Answer, remaining: u64, reset_us: u64, next_us: u64) {
    let told = (answer.remaining, answer.reset_us, answer.next_us);
    assert_eq!(told, (remaining, reset_us, next_us), "{answer:?}");
}

#[test]
fn f1_a_backward_step_costs_a_client_nothing() {
    let mut key = bucket(5, 1, SECOND);
    for at_us in [10_000, 4000, 4000, 4000, 4000].map(|ms| ms * MS) {
        assert!(key.take(1, at_us).allowed());
    }
    assert_eq!(key.take(1, 4000 * MS).retry_us(), Some(SECOND));
    assert!(!key.take(1, 5000 * MS - 1).allowed());
    assert!(key.take(1, 5000 * MS).allowed());
}

#[test]
fn f2_an_impossible_cost_leaves_the_state_alone() {
    let mut key = bucket(1, 1, DAY);
    let never = key.take(200_000_000, 0);
    assert_eq!(never.verdict, Verdict::Impossible);
    assert_told(never, 1, 0, 0);
    assert!(key.take(1, 0).allowed());
}

#[test]
fn f3_high_rates_are_exact() {
    let mut key = bucket(65_535, 65_535, SECOND);
    for step in 0..20 {
        assert_eq!(key.take(1, step * 100 * MS).remaining, 65_534);
    }
    let mut key = bucket(1, 2000, SECOND);
    let passed: u64 = (0..4000).map(|step| key.passing(1, step * 250)).sum();
    assert_eq!(passed, 2000, "one every 500 µs, from 0 to 999.5 ms");
}

#[test]
fn f6_a_year_is_a_year() {
    for mut key in [log(5, 365 * DAY), from_first(5, 365 * DAY)] {
        assert_eq!(key.passing(6, 0), 5);
        assert_eq!(
            key.take(1, 25 * DAY).retry_us(),
            Some(340 * DAY),
            "{:?}",
            key.quota
        );
        assert_eq!(
            key.take(1, 50 * DAY).retry_us(),
            Some(315 * DAY),
            "{:?}",
            key.quota
        );
        assert!(key.take(1, 366 * DAY).allowed());
    }
}

#[test]
fn f9_a_burst_of_n_is_n_after_any_rest() {
    let mut key = bucket(5, 5, SECOND);
    assert_eq!(key.passing(7, 0), 5);
    assert_eq!(key.passing(7, 2 * SECOND), 5);
    let mut key = bucket(1, 1, SECOND);
    assert_eq!(key.passing(2, 0), 1);
    assert_eq!(key.passing(2, HOUR), 1);
}

#[test]
fn f10_a_bucket_passes_burst_and_rate_and_a_log_the_limit() {
    let every_half_second =
        |mut key: Key| -> u64 { (0..60).map(|step| key.passing(1, step * 500 * MS)).sum() };
    // 17 at first; then one per 30/17 s: 16 more are back by 29.5 s.
    assert_eq!(every_half_second(bucket(17, 17, 30 * SECOND)), 33);
    assert_eq!(every_half_second(log(17, 30 * SECOND)), 17);
}

#[test]
fn f11_parts_of_a_unit_are_neither_lost_nor_invented() {
    let mut key = bucket(10, 10, 30 * SECOND);
    let passed: Vec<u64> = (0..=18)
        .map(|second| key.passing(1, second * SECOND))
        .collect();
    let denied: Vec<usize> = (0..=18).filter(|&second| passed[second] == 0).collect();
    assert_eq!(denied, [14, 16, 17]);

    let mut key = bucket(3, 3, SECOND);
    let mut remaining = vec![];
    let mut passed = 0;
    for step in 0..100 {
        let answer = key.take(1, step * 100 * MS);
        passed += u64::from(answer.allowed());
        remaining.push(answer.remaining);
    }
    // 3 at first, and 29 of the 29.7 units of 9.9 s.
    assert_eq!(passed, 32);
    assert!(remaining.windows(2).all(|two| two[1] <= two[0] + 1));
}

#[test]
fn f12_limit_one_works_in_a_sliding_counter() {
    let mut key = counter(1, 10 * SECOND);
    assert!(key.take(1, 0).allowed());
    let denied = key.take(1, 5 * SECOND);
    // It fits once nothing at all of the unit counts: at the end of the next window.
    assert_eq!(denied.retry_us(), Some(15 * SECOND));
    assert!(key.take(1, 20 * SECOND).allowed());
}

#[test]
fn f13_each_hit_leaves_one_window_after_it_came() {
    let mut key = log(10, HOUR);
    assert_eq!(key.passing(1, 0), 1);
    assert_eq!(key.passing(8, 59 * MINUTE), 8);
    assert_eq!(key.passing(3, 61 * MINUTE), 2);

    let mut key = log(5, 10 * SECOND);
    assert_eq!(key.passing(5, 0), 5);
    assert!(!key.take(1, 10 * SECOND - 1).allowed());
    assert_told(key.take(1, 10_001 * MS), 4, 10 * SECOND, 10 * SECOND);
}

#[test]
fn f14_only_the_fixed_window_lets_twice_the_limit_pass_at_an_edge() {
    for (mut key, passing) in [
        (fixed(10, MINUTE), 10),
        (log(10, MINUTE), 0),
        (counter(10, MINUTE), 0),
    ] {
        assert_eq!(key.passing(10, 59 * SECOND), 10);
        assert_eq!(key.passing(10, 61 * SECOND), passing, "{:?}", key.quota);
    }
}

#[test]
fn f15_a_wait_counts_from_now() {
    let mut key = fixed(2, 20 * SECOND);
    assert_eq!(key.passing(2, 0), 2);
    assert_eq!(key.take(1, 19 * SECOND).retry_us(), Some(SECOND));
    let mut key = bucket(1, 1, SECOND);
    assert!(key.take(1, 0).allowed());
    assert_eq!(key.take(1, 200 * MS).retry_us(), Some(800 * MS));
}

#[test]
fn f16_a_wait_follows_the_entry_that_frees_room_first() {
    let mut key = log(3, MINUTE);
    for at_us in [0, 20 * SECOND, 40 * SECOND] {
        assert!(key.take(1, at_us).allowed());
    }
    let denied = key.take(1, 45 * SECOND);
    assert_eq!(denied.retry_us(), Some(15 * SECOND));
    assert_told(denied, 0, 15 * SECOND, 15 * SECOND);
    assert_eq!(key.take(2, 45 * SECOND).retry_us(), Some(35 * SECOND));
}

#[test]
fn f17_a_cost_above_the_limit_never_passes() {
    for mut key in all(10, MINUTE) {
        assert!(key.take(5, 0).allowed());
        let never = key.take(100, 0);
        assert_eq!(
            (never.verdict, never.remaining),
            (Verdict::Impossible, 5),
            "{:?}",
            key.quota
        );
    }
}

#[test]
fn f18_a_refused_request_consumes_nothing() {
    for mut key in all(10, MINUTE) {
        assert!(key.take(8, 0).allowed());
        assert!(key.take(5, 0).retry_us().is_some());
        let fits = key.take(1, 0);
        assert_eq!(
            (fits.verdict, fits.remaining),
            (Verdict::Allowed, 1),
            "{:?}",
            key.quota
        );
    }
}

#[test]
fn f19_looks_and_refunds_have_rules_of_their_own() {
    for mut key in all(10, MINUTE) {
        assert!(key.take(10, 0).allowed());
        assert!(key.act(Act::Peek { cost: 1 }, 0).retry_us() > Some(0));
        assert!(key.act(Act::Peek { cost: 0 }, 0).allowed());
        assert_eq!(key.act(Act::Give { units: 1 }, 0).remaining, 1);
        assert!(key.take(1, 0).allowed());
        assert_eq!(
            key.act(Act::Give { units: 100 }, 0).remaining,
            10,
            "{:?}",
            key.quota
        );
    }
}

#[test]
fn f25_a_refused_hold_changes_nothing_and_a_settled_one_gives_back_its_own() {
    let mut key = bucket(20, 10, SECOND);
    let held = key.act(Act::Hold { cost: 15 }, 0);
    assert!(held.allowed());
    assert!(!key.act(Act::Hold { cost: 10 }, 0).allowed());
    assert_eq!(key.act(Act::Peek { cost: 0 }, 0).remaining, 5);
    // Cancelled after a second: 10 of the 15 are back by themselves already.
    let settled = key.settle(&held, 0, SECOND);
    assert_eq!(
        (settled.verdict, settled.remaining),
        (Verdict::Settled { actual: 10 }, 20)
    );
}

/// Take, wait, cancel must not let a burst through twice.
#[test]
fn a_late_cancel_gives_back_only_what_is_still_out() {
    let mut key = bucket(20, 10, SECOND);
    let held = key.act(Act::Hold { cost: 15 }, 0);
    assert!(key.take(10, 500 * MS).allowed(), "15 − 5 + 10 owed");
    // At 1 s 15 are owed; of the 15 held, whose last comes back at 1.5 s, 5 are still out.
    let cancelled = key.settle(&held, 0, SECOND);
    assert_eq!(
        (cancelled.verdict, cancelled.remaining),
        (Verdict::Settled { actual: 10 }, 10)
    );
}

#[test]
fn f48_denials_do_not_count_when_the_limit_is_raised() {
    let mut key = fixed(10, HOUR);
    assert_eq!(key.passing(50, 0), 10);
    key.quota = ModelQuota::FixedWindow {
        limit: 20,
        window_us: HOUR,
        epoch: true,
    };
    assert_eq!(key.passing(50, MINUTE), 10);
}

#[test]
fn f49_a_raise_never_turns_an_allow_into_a_deny() {
    let mut key = bucket(16, 10, 20 * SECOND);
    assert_eq!(key.passing(3, 0), 3);
    key.quota = ModelQuota::Bucket {
        units: 1000,
        per_us: 20 * SECOND,
        burst: 16,
    };
    assert_told(key.take(1, 0), 12, 80 * MS, 20 * MS);
}

#[test]
fn debt_delays_a_bucket() {
    let mut key = bucket(10, 1, SECOND);
    let held = key.act(Act::Hold { cost: 4 }, 0);
    let settled = key.settle(&held, 13, 0);
    assert_eq!(settled.verdict, Verdict::Settled { actual: 13 });
    assert_told(settled, 0, 13 * SECOND, 4 * SECOND);
    assert_eq!(
        key.take(0, 0).retry_us(),
        Some(3 * SECOND),
        "a look is refused in debt"
    );
    assert_eq!(key.take(2, 0).retry_us(), Some(5 * SECOND));
    let held = key.act(Act::Hold { cost: 1 }, 4 * SECOND);
    let clipped = key.settle(&held, 100, 4 * SECOND);
    assert_eq!(
        clipped.verdict,
        Verdict::Settled { actual: 11 },
        "one burst of debt at most"
    );
    assert_told(clipped, 0, 20 * SECOND, 11 * SECOND);
}

#[test]
fn debt_of_a_window_is_borne_by_the_next_ones() {
    for mut key in [fixed(10, MINUTE), from_first(10, MINUTE)] {
        let held = key.act(Act::Hold { cost: 4 }, 0);
        let settled = key.settle(&held, 19, 0);
        assert_eq!(settled.verdict, Verdict::Settled { actual: 19 });
        assert_told(settled, 0, MINUTE, MINUTE);
        assert_eq!(
            key.take(1, 0).retry_us(),
            Some(MINUTE),
            "the next window bears 9"
        );
        assert_eq!(key.take(2, 0).retry_us(), Some(2 * MINUTE));
        assert_told(key.take(1, MINUTE), 0, MINUTE, MINUTE);
        assert_told(key.act(Act::Peek { cost: 1 }, 2 * MINUTE), 10, 0, 0);
    }
}

#[test]
fn debt_of_a_counter_becomes_the_next_windows_count() {
    let mut key = counter(10, 10 * SECOND);
    let held = key.act(Act::Hold { cost: 10 }, 0);
    assert_eq!(
        key.settle(&held, 15, 0).verdict,
        Verdict::Settled { actual: 15 }
    );
    // At 10 s: prev 10, cur 5; at 10 + e seconds 10 − e + 5 + 1 ≤ 10 from e = 6 on, and e = 7
    // makes room for one more.
    assert_eq!(key.take(1, 0).retry_us(), Some(16 * SECOND));
    assert_told(
        key.act(Act::Peek { cost: 0 }, 16 * SECOND),
        1,
        SECOND,
        SECOND,
    );
}

#[test]
fn debt_of_a_log_leaves_two_windows_after_its_charge() {
    let mut key = log(10, MINUTE);
    let held = key.act(Act::Hold { cost: 8 }, 0);
    let settled = key.settle(&held, 15, SECOND);
    assert_eq!(settled.verdict, Verdict::Settled { actual: 15 });
    assert_told(settled, 0, MINUTE - SECOND, MINUTE - SECOND);
    // 8 leave at 60 s, 2 at 61 s, the debt of 5 at 121 s.
    assert_eq!(key.take(3, SECOND).retry_us(), Some(MINUTE - SECOND));
    assert_eq!(key.take(4, SECOND).retry_us(), Some(MINUTE));
    assert_eq!(key.take(6, SECOND).retry_us(), Some(2 * MINUTE));
    assert_told(
        key.act(Act::Peek { cost: 0 }, MINUTE + SECOND),
        5,
        MINUTE,
        MINUTE,
    );
}

#[test]
fn a_receipt_is_worth_nothing_once_its_window_is_over() {
    for mut key in [fixed(10, MINUTE), from_first(10, MINUTE), log(10, MINUTE)] {
        let held = key.act(Act::Hold { cost: 4 }, 0);
        assert!(key.take(3, MINUTE).allowed());
        let late = key.settle(&held, 0, MINUTE);
        assert_eq!(
            (late.verdict, late.remaining),
            (Verdict::Settled { actual: 4 }, 7)
        );
        let held = key.act(Act::Hold { cost: 4 }, MINUTE);
        let in_time = key.settle(&held, 1, MINUTE + SECOND);
        assert_eq!(
            (in_time.verdict, in_time.remaining),
            (Verdict::Settled { actual: 1 }, 6)
        );
    }
}

#[test]
fn a_window_ahead_of_the_clock_counts_as_the_present_one() {
    let mut key = fixed(10, MINUTE);
    assert!(key.take(10, 5 * MINUTE).allowed());
    assert_told(key.take(1, 90 * SECOND), 0, 30 * SECOND, 30 * SECOND);
    assert!(key.take(1, 2 * MINUTE).allowed());

    let mut key = from_first(10, MINUTE);
    assert!(key.take(10, 5 * MINUTE).allowed());
    assert_eq!(key.take(1, 90 * SECOND).retry_us(), Some(MINUTE));
    assert!(
        key.take(1, 150 * SECOND).allowed(),
        "written although it was denied"
    );

    let mut key = counter(10, MINUTE);
    assert!(key.take(10, 5 * MINUTE).allowed());
    assert_eq!(
        key.take(1, 90 * SECOND).retry_us(),
        Some(MINUTE + 6 * SECOND)
    );

    let mut key = log(10, MINUTE);
    assert!(key.take(4, 5 * MINUTE).allowed());
    assert!(key.take(6, 6 * MINUTE - SECOND).allowed());
    assert_eq!(key.take(1, 90 * SECOND).retry_us(), Some(SECOND));
    assert_eq!(key.take(5, 90 * SECOND).retry_us(), Some(MINUTE));
}

#[test]
fn a_look_never_writes_the_clock_law() {
    let mut key = bucket(1, 1, MINUTE);
    assert!(key.take(1, HOUR).allowed());
    assert_eq!(key.act(Act::Peek { cost: 1 }, 0).retry_us(), Some(MINUTE));
    assert_eq!(
        key.act(Act::Peek { cost: 1 }, HOUR).retry_us(),
        Some(MINUTE)
    );
    assert_eq!(key.take(1, 0).retry_us(), Some(MINUTE), "a denial does");
    assert!(key.act(Act::Peek { cost: 1 }, MINUTE).allowed());
}

#[test]
fn f25_holders_give_back_their_own_and_a_ticket_is_settled_once() {
    let mut key = Key::new(ModelQuota::Concurrency {
        limit: 3,
        lease_us: MINUTE,
    });
    let first = key.act(Act::Hold { cost: 2 }, 0);
    assert!(!key.act(Act::Hold { cost: 2 }, 0).allowed());
    assert_eq!(key.take(1, 0).verdict, Verdict::Impossible);
    let second = key.act(Act::Hold { cost: 1 }, 0);
    assert_eq!(key.settle(&first, 0, 0).remaining, 2);
    assert_eq!(key.settle(&first, 0, 0).remaining, 2);
    let receipt = second.receipt.expect("it was let in");
    let renewed = key.act(Act::Renew { receipt }, 59 * SECOND);
    assert_eq!(renewed.verdict, Verdict::Settled { actual: 1 });
    let at_us = 59 * SECOND + MINUTE;
    assert_eq!(key.act(Act::Peek { cost: 3 }, at_us - 1).remaining, 2);
    assert_eq!(
        key.act(Act::Renew { receipt }, at_us).verdict,
        Verdict::Unknown
    );

    let mut ticket = Key::new(ModelQuota::Ticket { ttl_us: MINUTE });
    let opened = ticket.act(Act::Hold { cost: 1 }, 0);
    assert!(!ticket.act(Act::Hold { cost: 1 }, 0).allowed());
    let settled = ticket.settle(&opened, 4, SECOND);
    assert_eq!(settled.verdict, Verdict::Settled { actual: 4 });
    let again = ticket.settle(&opened, 0, 59 * SECOND);
    assert_eq!(again.verdict, Verdict::Repeated { actual: 4 });
    assert_eq!(ticket.settle(&opened, 0, MINUTE).verdict, Verdict::Unknown);
}
