//! A full table: keys in use keep their limits, memory stays flat, and new keys are answered as
//! the settings say (field case F28).

use std::collections::VecDeque;

use jeton_core::{Act, Answers, Cost, Fit, Micros, Op, Plan, RuleId};
use jeton_memory::{LEAST_MEMORY_BYTES, Overflow};

use crate::{Random, SECOND, allowed, bucket, counter, first, fixed, log, one, table, take};

const POLICIES: [Overflow; 3] = [Overflow::Share, Overflow::Deny, Overflow::Allow];

#[test]
fn f28_a_blocked_key_stays_blocked_through_a_flood_of_new_ones() {
    for policy in POLICIES {
        let table = table(1_000, 1 << 20, policy);
        let quota = log(5, 60 * SECOND);
        while allowed(&take(&table, "x", &quota, 0)) {}
        for n in 0..5_000 {
            let decision = take(&table, &format!("new {n}"), &quota, SECOND + n);
            if n < 999 {
                assert!(allowed(&decision) && !decision.approximate);
            } else {
                assert!(decision.approximate);
                match policy {
                    Overflow::Deny => {
                        assert_eq!(decision.fit.retry_after().unwrap().as_micros(), SECOND);
                    }
                    Overflow::Allow => assert!(allowed(&decision)),
                    Overflow::Share => {}
                }
            }
            assert!(!allowed(&take(&table, "x", &quota, SECOND + n)));
        }
        assert!(!allowed(&take(&table, "x", &quota, 60 * SECOND - 1)));
        assert!(allowed(&take(&table, "x", &quota, 60 * SECOND)));
        let stats = table.stats();
        assert!(stats.keys <= 1_000);
        assert_eq!(stats.overflowed, 4_001);
    }
}

#[test]
fn f28_a_flood_keeps_memory_flat_and_honest_keys_counted() {
    for quota in [log(100, 3_600 * SECOND), bucket(1, 36 * SECOND, 100)] {
        let table = table(1_000, 1 << 20, Overflow::Share);
        let honest: Vec<String> = (0..100).map(|n| format!("honest {n}")).collect();
        let mut flat = 0;
        for round in 0..100 {
            for key in &honest {
                let decision = take(&table, key, &quota, round);
                assert!(allowed(&decision) && !decision.approximate);
                assert_eq!(u64::from(decision.remaining), 99 - round);
            }
            for n in 0..1_000 {
                take(&table, &format!("flood {round} {n}"), &quota, round);
            }
            let stats = table.stats();
            assert!(stats.keys <= 1_000);
            if round == 2 {
                flat = stats.bytes;
            }
            // The honest logs grow by what they note down, and nothing else does.
            assert!(
                round < 2 || stats.bytes <= flat + 100 * (100 * 24 + 100),
                "{stats:?}"
            );
        }
    }
}

#[test]
fn bytes_bound_what_keys_do_not() {
    let table = table(1_000_000, LEAST_MEMORY_BYTES, Overflow::Deny);
    for quota in [bucket(1, 36 * SECOND, 100), log(100, 3_600 * SECOND)] {
        for n in 0..10_000 {
            take(&table, &format!("{n}"), &quota, 5);
            assert!(table.stats().bytes <= LEAST_MEMORY_BYTES);
        }
    }
    let stats = table.stats();
    assert!(stats.overflowed > 0 && stats.keys > 500, "{stats:?}");
}

/// A log that has no memory for another entry goes on, and looks answer as takes do.
#[test]
fn a_look_answers_as_the_take_would_when_a_log_has_no_bytes_left() {
    for overflow in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        let table = table(1_000_000, LEAST_MEMORY_BYTES, overflow);
        let quota = log(1_000_000_000, 3_600 * SECOND);
        for us in 0..10_000 {
            let op = Op::new(RuleId::new(1), b"k", &quota, Act::Peek { cost: Cost::ONE });
            let mut answers = Answers::new();
            table.decide(Plan::one(&op), Micros::new(us), &mut (), &mut answers);
            let look = answers.plan(0).1[0];
            let taken = take(&table, "k", &quota, us);
            assert_eq!(
                (look.fit, look.approximate),
                (taken.fit, taken.approximate),
                "{us} us"
            );
            assert!(!taken.approximate);
        }
        // It could not have noted each of them down by itself.
        let bytes = table.stats().bytes;
        assert!(bytes <= LEAST_MEMORY_BYTES, "{bytes}");
    }
}

/// Charges of one key in the order of their instants, held to a limit in every window.
struct Watch {
    limit: u64,
    window: u64,
    charges: VecDeque<(u64, u64)>,
}

impl Watch {
    fn charge(&mut self, at: u64, cost: u64) {
        self.charges.push_back((at, cost));
        while self
            .charges
            .front()
            .is_some_and(|(then, _)| then + self.window <= at)
        {
            self.charges.pop_front();
        }
        let used: u64 = self.charges.iter().map(|(_, cost)| cost).sum();
        assert!(
            used <= self.limit,
            "{used} in {} us, limit {}",
            self.window,
            self.limit
        );
    }
}

/// However keys come by and lose their places, none ever gets more than its limit allows in a
/// window: from its own state, from a shared cell, or from both in turn.
#[test]
fn sharing_errs_towards_denying() {
    let window = 1_000;
    for seed in 0..30 {
        let mut random = Random(seed);
        let limit = 1 + random.below(12);
        let table = table(2 + random.below(6), 1 << 20, Overflow::Share);
        // A log's promise holds for every window; a fixed window's for each of its own, hence
        // twice in any; a counter's for fewer than twice; a bucket's is burst and rate.
        let promises = [
            (log(limit, window), limit),
            (fixed(limit, window), 2 * limit),
            (first(limit, window), 2 * limit),
            (counter(limit, window), 2 * limit - 1),
            (bucket(limit, window, limit), 2 * limit),
        ];
        for (rule, (quota, most)) in (0..).zip(promises) {
            let mut watches: Vec<_> = (0..10)
                .map(|_| Watch {
                    limit: most,
                    window,
                    charges: VecDeque::new(),
                })
                .collect();
            let (mut now, mut shared) = (seed * 1_000_000, 0);
            for _ in 0..20_000 {
                now += random.below(window / 5);
                let n = random.below(10);
                let key = [u8::try_from(n).unwrap()];
                let cost = Cost::new(1 + random.below(limit));
                let decision = table.take(RuleId::new(rule), &key, &quota, cost, Micros::new(now));
                if allowed(&decision) {
                    let cost = u64::from(cost.get());
                    watches[usize::try_from(n).unwrap()].charge(now, cost);
                    shared += u64::from(decision.approximate);
                }
                assert!(u64::from(decision.remaining) <= limit);
                assert_eq!(u64::from(decision.limit), limit);
            }
            assert!(
                limit == 1 || shared > 100,
                "limit {limit}, {quota:?}: {shared}"
            );
        }
    }
}

#[test]
fn a_key_that_finds_room_starts_from_what_it_shared() {
    for quota in [
        bucket(1, SECOND, 4),
        fixed(4, SECOND),
        log(4, SECOND),
        counter(4, SECOND),
    ] {
        let table = table(1, 1 << 20, Overflow::Share);
        let lock = log(1, 1_000);
        assert!(allowed(&take(&table, "in the way", &lock, 0)));
        let shared = take(&table, "k", &quota, 999);
        assert!(allowed(&shared) && shared.approximate);
        let own = take(&table, "k", &quota, 1_000);
        assert!(allowed(&own) && !own.approximate);
        assert_eq!(own.remaining, 2, "{quota:?}");
    }
}

#[test]
fn looks_at_a_full_table_answer_as_a_take_would_and_count_nothing() {
    for policy in POLICIES {
        for quota in [
            bucket(1, 60 * SECOND, 4),
            fixed(4, 60 * SECOND),
            log(4, 60 * SECOND),
        ] {
            let table = table(1, 1 << 20, policy);
            assert!(allowed(&take(&table, "in the way", &quota, 5)));
            let peek = |cost| one(&table, "k", &quota, Act::Peek { cost }, 5);
            for _ in 0..6 {
                let before = table.stats();
                let looked = peek(Cost::ONE);
                assert_eq!(looked, peek(Cost::ONE));
                assert_eq!(table.stats(), before);
                let taken = take(&table, "k", &quota, 5);
                assert_eq!(
                    (looked.fit, looked.approximate),
                    (taken.fit, taken.approximate)
                );
                assert_eq!(peek(Cost::new(5)).fit, Fit::Impossible);
            }
        }
    }
}

#[test]
fn refunds_and_settles_of_keys_without_a_state_are_dropped_and_counted() {
    let table = table(1, 1 << 20, Overflow::Share);
    let quota = fixed(4, 60 * SECOND);
    assert!(allowed(&take(&table, "in the way", &quota, 5)));
    let charge = take(&table, "k", &quota, 5);
    assert_eq!((charge.receipt.cost, charge.remaining), (1, 3));
    let settle = |actual| {
        let act = Act::Settle {
            receipt: charge.receipt,
            actual: Cost::new(actual),
            max_debt: Cost::MAX,
        };
        one(&table, "k", &quota, act, 5).fit
    };
    assert_eq!(settle(0), Fit::Settled { actual: 1 });
    assert_eq!(settle(3), Fit::Settled { actual: 1 });
    let give = Act::Give { units: Cost::ONE };
    assert_eq!(
        one(&table, "k", &quota, give, 5).fit,
        Fit::Settled { actual: 0 }
    );
    // Nor does what only asks, or would start over, speak of a state that is not there.
    for act in [
        Act::Reset,
        give,
        Act::Take { cost: Cost::ZERO },
        Act::Peek { cost: Cost::ZERO },
    ] {
        let decision = one(&table, "k", &quota, act, 5);
        assert!(decision.approximate, "{act:?}");
        assert_eq!(decision.remaining, 3, "{act:?}");
    }
    assert_eq!(take(&table, "k", &quota, 5).remaining, 2);
    let too_much = Act::Take { cost: Cost::new(5) };
    assert_eq!(one(&table, "k", &quota, too_much, 5).fit, Fit::Impossible);
    // Three before, a reset, and a refund.
    assert_eq!(table.stats().dropped, 5);
}

#[test]
fn a_plan_that_lacks_room_for_one_key_is_still_all_or_nothing() {
    let quota = fixed(3, 60 * SECOND);
    for policy in [Overflow::Share, Overflow::Deny] {
        let table = table(1, 1 << 20, policy);
        assert!(allowed(&take(&table, "known", &quota, 5)));
        let mut answers = Answers::new();
        let keys: [&[u8]; 3] = [b"known", b"new", b"newer"];
        let plan = |keys: &[&[u8]], answers: &mut Answers| {
            let ops: Vec<_> = keys
                .iter()
                .map(|key| Op::take(RuleId::new(1), key, &quota, Cost::ONE))
                .collect();
            answers.clear();
            table.decide(Plan::new(&ops).unwrap(), Micros::new(5), &mut (), answers);
            answers.plan(0).0.unwrap()
        };
        let verdict = plan(&keys[..2], &mut answers);
        let decisions = answers.plan(0).1;
        assert!(!decisions[0].approximate && decisions[1].approximate);
        if policy == Overflow::Deny {
            assert!(!verdict.allowed && verdict.retry_after.is_some() && !verdict.impossible);
            assert_eq!(decisions[0].remaining, 2);
        } else {
            assert!(verdict.allowed);
            assert_eq!([decisions[0].remaining, decisions[1].remaining], [1, 2]);
        }
        // Two new keys of one rule would be decided on one cell: the second is denied.
        let verdict = plan(&keys[1..], &mut answers);
        assert!(!verdict.allowed);
    }
}

#[test]
fn a_log_without_memory_notes_charges_in_its_latest_entry() {
    const LIMIT: usize = 20_000;
    for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        let table = table(1_000, LEAST_MEMORY_BYTES, policy);
        let quota = log(LIMIT as u64, SECOND);
        let mut admitted = std::collections::VecDeque::new();
        let (mut most, mut all) = (0, 0);
        for step in 0..100_000 {
            let now = step * 31;
            while admitted.front().is_some_and(|at| at + SECOND <= now) {
                admitted.pop_front();
            }
            let decision = take(&table, "k", &quota, now);
            assert!(!decision.approximate);
            if allowed(&decision) {
                admitted.push_back(now);
                all += 1;
            } else {
                let wait = decision.fit.retry_after().unwrap().as_micros();
                assert!(wait <= SECOND, "{wait}");
            }
            assert!(admitted.len() <= LIMIT, "{policy:?}: {}", admitted.len());
            assert!(table.stats().bytes <= LEAST_MEMORY_BYTES);
            most = most.max(admitted.len());
        }
        // A window's worth at once; and what memory there is holds a part of each later window.
        assert_eq!(most, LIMIT, "{policy:?}");
        assert!(all > LIMIT + LIMIT / 2, "{policy:?}: {all}");
    }
}
