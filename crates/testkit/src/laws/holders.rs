//! Concurrency: units in somebody's hands.

use jeton_core::{Act, Cost, Fit};

use super::Make;
use super::desk::{DAY, Desk, HOUR, Key, SECOND, YEAR, concurrency, denied, take, wait_us};

/// What one holder has, no other gets, until it is given back; and nobody can do without holding.
pub fn holders_share_one_limit(make: Make<'_>) {
    let desk = Desk::new(make);
    let quota = concurrency(3, HOUR);
    let key = Key::new(1, b"key", &quota);
    let first = desk.hold(&key, 2);
    assert_eq!(
        (first.fit, first.remaining, first.receipt.cost),
        (Fit::Allowed, 1, 2)
    );
    let refused = desk.hold(&key, 2);
    assert!(denied(&refused) && refused.remaining == 1);
    assert_eq!(wait_us(&refused), SECOND, "advice");
    let look = |units| {
        let cost = Cost::new(units);
        desk.act(&key, Act::Peek { cost }).fit
    };
    assert_eq!(look(2), refused.fit);
    assert_eq!((look(1), look(4)), (Fit::Allowed, Fit::Impossible));
    assert_eq!(desk.hold(&key, 4).fit, Fit::Impossible);
    assert_eq!(desk.act(&key, take(1)).fit, Fit::Impossible);
    assert_eq!(desk.hold(&key, 0).fit, Fit::Allowed, "a look");

    let second = desk.hold(&key, 1);
    assert_eq!((second.fit, second.remaining), (Fit::Allowed, 0));
    let back = desk.settle(&key, first.receipt, 0);
    assert_eq!(
        (back.fit, back.remaining),
        (Fit::Settled { actual: 0 }, 2),
        "its own, and no more"
    );
    let again = desk.settle(&key, first.receipt, 0);
    assert_eq!(
        (again.fit, again.remaining),
        (Fit::Settled { actual: 0 }, 2)
    );
    let cost = Cost::new(9);
    assert_eq!(desk.act(&key, Act::Give { units: cost }).remaining, 2);
    assert!(desk.hold(&key, 2).fit.passes() && denied(&desk.hold(&key, 1)));
    assert_eq!(desk.act(&key, Act::Reset).remaining, 3);
    assert_eq!(desk.renew(&key, second.receipt).fit, Fit::Unknown);
}

/// A settle lowers its own holder, whoever came at the same instant, and never raises one.
pub fn a_holder_gives_back_its_own_units(make: Make<'_>) {
    let desk = Desk::new(make);
    let quota = concurrency(30, HOUR);
    let key = Key::new(1, b"key", &quota);
    let held: Vec<_> = (1..=6)
        .map(|units| desk.hold(&key, units).receipt)
        .collect();
    assert_eq!(desk.remaining(&key), 9);
    let lowered = desk.settle(&key, held[4], 2);
    assert_eq!(
        (lowered.fit, lowered.remaining),
        (Fit::Settled { actual: 2 }, 12)
    );
    let raised = desk.settle(&key, held[5], 20);
    assert_eq!(
        (raised.fit, raised.remaining),
        (Fit::Settled { actual: 6 }, 12)
    );
    for (receipt, left) in held.iter().zip([13, 15, 18, 22, 24, 30]) {
        assert_eq!(desk.settle(&key, *receipt, 0).remaining, left);
    }
}

/// Whoever neither gives back nor renews loses its units when the lease is over, and not before.
pub fn units_come_back_when_a_lease_is_over(make: Make<'_>) {
    let desk = Desk::new(make);
    let quota = concurrency(2, 30 * SECOND);
    let key = Key::new(1, b"key", &quota);
    let at = |seconds| desk.at(desk.now_us + seconds * SECOND);
    let gone = at(0).hold(&key, 1).receipt;
    let kept = at(10).hold(&key, 1).receipt;
    assert_eq!(at(10).peek(&key).reset_after.as_micros(), 20 * SECOND);
    assert_eq!(at(20).renew(&key, kept).fit, Fit::Settled { actual: 1 });
    let just_before = desk.at(desk.now_us + 30 * SECOND - 1);
    assert!(denied(&just_before.hold(&key, 1)));
    assert_eq!(at(30).renew(&key, gone).fit, Fit::Unknown);
    let late = at(30).settle(&key, gone, 0);
    assert_eq!((late.fit, late.remaining), (Fit::Settled { actual: 0 }, 1));
    for seconds in (40..400).step_by(10) {
        let now = at(seconds);
        assert_eq!(now.renew(&key, kept).fit, Fit::Settled { actual: 1 });
        assert_eq!(now.remaining(&key), 1, "{seconds} s");
    }
    assert_eq!(at(420).remaining(&key), 2);
}

/// A clock that steps back takes no time from a lease and adds none.
pub fn a_lease_outlasts_a_clock_that_steps_back(make: Make<'_>) {
    let desk = Desk::new(make);
    let quota = concurrency(2, HOUR);
    for step_us in [1, SECOND, 2 * DAY, 10 * YEAR] {
        let name = step_us.to_be_bytes();
        let key = Key::new(1, &name, &quota);
        let held = desk.hold(&key, 1).receipt;
        let back = desk.at(desk.now_us - step_us);
        assert!(back.hold(&key, 1).fit.passes());
        assert!(denied(&back.hold(&key, 1)), "{step_us}");
        assert_eq!(back.renew(&key, held).fit, Fit::Settled { actual: 1 });
        let end = back.at(back.now_us + HOUR);
        assert!(denied(&end.at(end.now_us - 1).hold(&key, 1)), "{step_us}");
        assert!(end.hold(&key, 2).fit.passes(), "{step_us}");
    }
}

/// Holders stay holders under another limit, and leases run as they were given.
pub fn holders_stay_under_another_quota(make: Make<'_>) {
    let desk = Desk::new(make);
    let (five, two, short) = (
        concurrency(5, HOUR),
        concurrency(2, HOUR),
        concurrency(5, SECOND),
    );
    let under = |quota| Key::new(1, b"key", quota);
    let held: Vec<_> = (0..4)
        .map(|_| desk.hold(&under(&five), 1).receipt)
        .collect();
    assert!(denied(&desk.hold(&under(&two), 1)) && denied(&desk.hold(&under(&two), 0)));
    assert_eq!(desk.remaining(&under(&two)), 0);
    assert!(desk.hold(&under(&short), 1).fit.passes());
    assert_eq!(desk.remaining(&under(&five)), 0);
    let soon = desk.at(desk.now_us + SECOND);
    assert_eq!(soon.remaining(&under(&five)), 1);
    for receipt in held {
        soon.settle(&under(&two), receipt, 0);
    }
    assert_eq!(soon.remaining(&under(&two)), 2);
}
