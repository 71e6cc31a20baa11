//! What is held, and the records of reservations, where there is no room left.

use jeton_core::{Act, Answers, Cost, Decision, Fit, Micros, Op, Plan, Receipt, RuleId, Span};
use jeton_memory::Overflow;

use crate::{SECOND, allowed, concurrency, fixed, log, one, table, take, ticket};

const POLICIES: [Overflow; 3] = [Overflow::Share, Overflow::Deny, Overflow::Allow];

const fn hold(units: u64) -> Act {
    Act::Hold {
        cost: Cost::new(units),
    }
}

const fn settle(receipt: Receipt, actual: u64) -> Act {
    Act::Settle {
        receipt,
        actual: Cost::new(actual),
        max_debt: Cost::MAX,
    }
}

/// A second, for no true wait is known.
fn has_no_room(decision: &Decision) -> bool {
    let wait = decision.fit.retry_after().map(Span::as_micros);
    wait == Some(SECOND) && decision.approximate && decision.remaining == 0
}

#[test]
fn what_is_held_is_never_let_in_uncounted() {
    for policy in POLICIES {
        let table = table(1, 1 << 20, policy);
        let quota = concurrency(4, 60 * SECOND);
        let record = ticket(60 * SECOND);
        let first = one(&table, "first", &quota, hold(2), 5);
        assert!(allowed(&first) && !first.approximate);
        for (quota, look) in [(&quota, true), (&record, false)] {
            let held = one(&table, "new", quota, hold(1), 5);
            assert!(has_no_room(&held), "{policy:?}: {held:?}");
            let looked = one(&table, "new", quota, Act::Peek { cost: Cost::ONE }, 5);
            if look {
                assert_eq!((looked.fit, looked.approximate), (held.fit, true));
            } else {
                assert_eq!(looked.fit, Fit::Unknown);
            }
            // Nothing is there to be settled or kept, and nothing comes into being.
            let receipt = first.receipt;
            let renewed = one(&table, "new", quota, Act::Renew { receipt }, 5);
            assert_eq!(renewed.fit, Fit::Unknown);
        }
        let gone = one(&table, "new", &quota, settle(first.receipt, 9), 5);
        assert_eq!(gone.fit, Fit::Settled { actual: 0 });
        let gone = one(&table, "new", &record, settle(first.receipt, 9), 5);
        assert_eq!(gone.fit, Fit::Unknown);
        let stats = table.stats();
        assert_eq!((stats.keys, stats.overflowed, stats.dropped), (1, 2, 0));

        // Who is in goes on as before.
        assert!(allowed(&one(&table, "first", &quota, hold(1), 6)));
        let renew = Act::Renew {
            receipt: first.receipt,
        };
        let renewed = one(&table, "first", &quota, renew, 7);
        assert_eq!(renewed.fit, Fit::Settled { actual: 2 });
        let back = one(&table, "first", &quota, settle(first.receipt, 0), 8);
        assert_eq!(back.remaining, 3);
    }
}

/// A charge on an estimate is not made beside a ticket that finds no room.
#[test]
fn a_reservation_without_room_for_its_ticket_is_denied_whole() {
    for policy in POLICIES {
        let table = table(1, 1 << 20, policy);
        let (quota, record) = (fixed(4, 60 * SECOND), ticket(60 * SECOND));
        assert!(allowed(&take(&table, "key", &quota, 5)));
        let ops = [
            Op::new(RuleId::new(1), b"key", &quota, hold(2)),
            Op::new(RuleId::new(2), b"id", &record, hold(1)),
        ];
        let mut answers = Answers::new();
        let plan = Plan::new(&ops).unwrap();
        table.decide(plan, Micros::new(6), &mut (), &mut answers);
        let (verdict, decisions) = answers.plan(0);
        assert!(!verdict.unwrap().allowed, "{policy:?}");
        assert_eq!(
            (decisions[0].fit, decisions[0].remaining),
            (Fit::Allowed, 3)
        );
        assert!(has_no_room(&decisions[1]));
        assert_eq!(take(&table, "key", &quota, 7).remaining, 2);
    }
}

/// Holders that find no memory are denied, until one leaves, or a lease is over: then the next one
/// stands in its place.
#[test]
fn without_memory_only_as_many_hold_as_before() {
    let lease = 60 * SECOND;
    let (quota, big) = (
        concurrency(1_000_000, lease),
        log(1_000_000, 3_600 * SECOND),
    );
    for policy in POLICIES {
        let table = table(1_000, 64 << 10, policy);
        let mut held = Vec::new();
        // A log takes what memory is left.
        for us in 0.. {
            let decision = one(&table, "holders", &quota, hold(1), us);
            if !allowed(&decision) {
                assert!(has_no_room(&decision), "{decision:?}");
                break;
            }
            held.push(decision.receipt);
        }
        assert!(held.len() > 100, "{}", held.len());
        let us = 120_000;
        for before in 100_000..us {
            take(&table, "log", &big, before);
        }
        let bytes = table.stats().bytes;
        let hold_one = |us| one(&table, "holders", &quota, hold(1), us);
        assert!(!allowed(&hold_one(us)));
        let back = one(&table, "holders", &quota, settle(held[7], 0), us);
        assert_eq!(back.fit, Fit::Settled { actual: 0 });
        assert!(allowed(&hold_one(us)) && !allowed(&hold_one(us)));
        // Each lease that ends lets one in.
        for at in [0, 1, 2, 3] {
            let now = lease + at;
            let decision = hold_one(now);
            assert!(allowed(&decision) && !decision.approximate);
            assert!(!allowed(&hold_one(now)));
        }
        assert_eq!(table.stats().bytes, bytes, "{policy:?}");
        one(&table, "holders", &quota, Act::Reset, lease + 9);
        assert!(table.stats().bytes < bytes / 2);
    }
}
