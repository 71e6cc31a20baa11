//! What is held and what records it: F19 and F25 where verbs grew, and the edges of both.

use jeton_core::{
    Act, Cost, Edit, Entry, Fit, Kind, Micros, Quota, QuotaError, Span, TailEdit, View,
};

use crate::driver::{MIN, One, S, concurrency, ticket};

#[test]
fn f4_f20_no_limit_and_no_time_are_refused() {
    assert_eq!(Quota::concurrency(0, Span::SECOND), Err(QuotaError::Zero));
    assert_eq!(Quota::concurrency(1, Span::ZERO), Err(QuotaError::Zero));
    assert_eq!(Quota::ticket(Span::ZERO), Err(QuotaError::Zero));
    let max = 1_000_000_000;
    let too_many = Quota::concurrency(u64::from(max) + 1, Span::SECOND);
    assert_eq!(too_many, Err(QuotaError::LimitTooLarge { max }));
    let quota = concurrency(5, 30 * S);
    assert_eq!((quota.limit(), quota.kind()), (5, Kind::Concurrency));
    assert_eq!((quota.window(), quota.rate()), (None, None));
    assert_eq!(quota.lease().map(Span::as_micros), Some(30 * S));
    assert_eq!(ticket(MIN).lease().map(Span::as_micros), Some(MIN));
    assert_eq!((ticket(MIN).kind(), ticket(MIN).limit()), (Kind::Ticket, 1));
}

#[test]
fn f19_looks_at_what_is_held_create_and_change_nothing() {
    let mut one = One::new(concurrency(2, MIN));
    assert_eq!(one.peek(0, 2).fit, Fit::Allowed);
    assert_eq!(one.peek(0, 3).fit, Fit::Impossible);
    assert_eq!(one.hold(0, 0).fit, Fit::Allowed);
    assert_eq!(one.take(0, 0).fit, Fit::Allowed);
    assert_eq!(one.cell, None, "a look creates nothing");
    let held = one.hold(0, 2);
    let before = (one.cell, one.tail.clone());
    let look = one.peek(S, 1);
    assert_eq!(look.fit.retry_after(), Some(Span::SECOND), "advice");
    assert_eq!((look.remaining, look.reset_after.as_micros()), (0, 59 * S));
    assert_eq!(one.hold(S, 1).fit, look.fit);
    assert_eq!(one.take(S, 1).fit, Fit::Impossible);
    assert_eq!(one.give(S, 2).fit, Fit::Settled { actual: 0 });
    assert_eq!(
        (one.cell, one.tail.clone()),
        before,
        "and neither does a denial"
    );
    assert_eq!(one.settle(S, held.receipt, 0).remaining, 2);
    assert_eq!((one.cell, one.tail.len()), (None, 0), "nobody is left");

    let mut record = One::new(ticket(MIN));
    assert_eq!(record.peek(0, 1).fit, Fit::Unknown);
    assert_eq!(record.renew(0, held.receipt).fit, Fit::Unknown);
    assert_eq!(record.settle(0, held.receipt, 1).fit, Fit::Unknown);
    assert_eq!(record.hold(0, 0).fit, Fit::Allowed);
    assert_eq!(record.cell, None);
}

#[test]
fn f25_a_receipt_of_nothing_gives_nothing_back() {
    let mut one = One::new(concurrency(9, MIN));
    // A holder whose id is the 0 that a refused one's receipt shows.
    let held = one.hold(1 << 32, 2);
    assert_eq!((held.receipt.part, held.receipt.cost), (0, 2));
    let refused = one.hold(1 << 32, 8);
    assert_eq!((refused.receipt.part, refused.receipt.cost), (0, 0));
    let nothing = one.settle(1 << 32, refused.receipt, 0);
    assert_eq!(
        (nothing.fit, nothing.remaining),
        (Fit::Settled { actual: 0 }, 7)
    );
    assert_eq!(one.renew(1 << 32, refused.receipt).fit, Fit::Unknown);
}

#[test]
fn who_comes_at_one_instant_is_told_apart() {
    let mut one = One::new(concurrency(100, MIN));
    let at = (1 << 40) + u64::from(u32::MAX) - 1;
    let held: Vec<_> = (0..5).map(|_| one.hold(at, 1).receipt).collect();
    let ids: Vec<u32> = held.iter().map(|receipt| receipt.part).collect();
    assert_eq!(ids, [u32::MAX - 1, u32::MAX, 0, 1, 2], "they go round");
    // One that comes at an instant whose number somebody has been given goes after the furthest.
    assert_eq!(one.hold(at + 2, 1).receipt.part, 3);
    one.settle(at + 2, held[1], 0);
    assert_eq!(one.tail.len(), 5, "who leaves takes its entry along");
    assert_eq!(one.hold(at + 3, 1).receipt.part, 4);
    assert_eq!(one.hold(at, 1).receipt.part, 5, "the clock went back");
}

#[test]
fn the_next_holder_takes_the_place_of_one_whose_lease_is_over() {
    let mut one = One::new(concurrency(1_000, MIN));
    for n in 0..100 {
        one.hold(n, 1);
    }
    let long = one.hold(MIN - 1, 1);
    for n in 0..100 {
        assert_eq!(one.hold(MIN + 200, 1).remaining, 998 - n);
        assert_eq!(one.tail.len(), 101, "no more than there were at once");
    }
    one.hold(MIN + 200, 1);
    assert_eq!(one.tail.len(), 102);
    // With nobody left it starts over.
    assert_eq!(one.hold(9 * MIN, 3).remaining, 997);
    assert_eq!(one.tail.len(), 1);
    assert_eq!(one.renew(9 * MIN, long.receipt).fit, Fit::Unknown);
    // A lease is over at its very end.
    one.hold(9 * MIN + 1, 1);
    one.hold(10 * MIN, 1);
    assert_eq!(one.tail.len(), 2);
}

#[test]
fn raw_time_is_real_time_again_when_all_leases_are_over() {
    let mut one = One::new(concurrency(3, MIN));
    one.hold(100 * S, 1);
    one.hold(50 * S, 1);
    let raw = |one: &One| one.cell.map(|cell| u64::from(cell.words[0]));
    assert_eq!(raw(&one), Some(100 * S));
    one.hold(500 * S, 1);
    assert_eq!(raw(&one), Some(500 * S));
}

#[test]
fn a_step_back_of_the_clock_moves_all_leases_with_one_write() {
    let quota = concurrency(3, MIN);
    let mut one = One::new(quota);
    one.hold(100 * S, 1);
    let second = one.hold(110 * S, 1).receipt;
    let view = View {
        cell: one.cell,
        tail: &one.tail,
    };
    let back = Micros::new(50 * S);
    let Edit::Put { until, tail, .. } = quota.reanchor(view, back) else {
        panic!("the clock went back");
    };
    assert_eq!((until.get(), tail), (110 * S, TailEdit::None));
    assert_eq!(quota.reanchor(view, Micros::new(111 * S)), Edit::Keep);
    assert_eq!(one.hold(50 * S, 1).reset_after.as_micros(), 50 * S);
    // It cannot be told which came first: all have what they had left at the newest write.
    assert_eq!(one.peek(100 * S, 1).remaining, 1);
    assert_eq!(one.renew(100 * S, second).fit, Fit::Settled { actual: 1 });
    assert_eq!(one.peek(110 * S, 0).remaining, 2);
    assert_eq!(one.peek(160 * S, 0).remaining, 3);
}

#[test]
fn more_held_than_a_lowered_limit_is_no_debt_that_lasts() {
    let mut one = One::new(concurrency(10, MIN));
    let held = one.hold(0, 9).receipt;
    one.quota = concurrency(4, MIN);
    let look = one.peek(0, 0);
    assert_eq!((look.remaining, look.fit.passes()), (0, false));
    assert_eq!(one.settle(0, held, 3).remaining, 1);
    assert_eq!(one.peek(0, 0).fit, Fit::Allowed);
}

#[test]
fn a_settled_ticket_is_kept_until_its_end_and_not_longer() {
    let mut one = One::new(ticket(MIN));
    let open = one.hold(0, 7);
    assert_eq!((open.fit, open.receipt.cost), (Fit::Allowed, 7));
    assert_eq!(
        one.renew(30 * S, open.receipt).fit,
        Fit::Settled { actual: 0 }
    );
    assert_eq!(
        one.hold(60 * S, 1).fit.retry_after().map(Span::as_micros),
        Some(30 * S)
    );
    let settled = one.settle(80 * S, open.receipt, 4_000_000_000);
    let actual = 4_000_000_000;
    assert_eq!(settled.fit, Fit::Settled { actual });
    assert_eq!(
        settled.reset_after.as_micros(),
        10 * S,
        "settling keeps the end"
    );
    for act in [
        Act::Renew {
            receipt: open.receipt,
        },
        Act::Peek { cost: Cost::ONE },
    ] {
        assert_eq!(one.act(89 * S, &act).fit, Fit::Repeated { actual });
    }
    assert_eq!(one.settle(90 * S, open.receipt, 1).fit, Fit::Unknown);
    assert_eq!(one.hold(90 * S, 1).fit, Fit::Allowed);
}

#[test]
fn an_edit_of_an_entry_that_is_not_there_does_nothing() {
    let entry = Entry::default();
    let mut tail = vec![Entry { cost: 1, ..entry }];
    TailEdit::Set { index: 1, entry }.apply(&mut tail);
    TailEdit::Remove { index: 1 }.apply(&mut tail);
    assert_eq!(tail, [Entry { cost: 1, ..entry }]);
    TailEdit::Set { index: 0, entry }.apply(&mut tail);
    assert_eq!(tail, [entry]);
    TailEdit::Remove { index: 0 }.apply(&mut tail);
    assert_eq!(tail, []);
}
