//! Reservations: a charge and its ticket, opened in one step and settled in one step.

use jeton_core::{Act, Cost, Decision, Fit, Quota, Receipt, Verdict};

use super::Make;
use super::desk::{
    DAY, Desk, HOUR, Key, SECOND, concurrency, denied, hold, kinds, settle, span, ticket,
};

/// The rule under which the laws keep their tickets.
const TICKETS: u64 = 77;
const TTL: u64 = 600 * SECOND;

/// What a reservation is made of.
pub(super) struct Reservation<'a> {
    pub(super) key: Key<'a>,
    pub(super) ticket: Key<'a>,
}

impl<'a> Reservation<'a> {
    pub(super) fn new(key: Key<'a>, id: &'a [u8], ticket: &'a Quota) -> Self {
        Self {
            key,
            ticket: Key::new(TICKETS, id, ticket),
        }
    }

    pub(super) fn reserve(&self, desk: &Desk, units: u64) -> (Verdict, Vec<Decision>) {
        desk.plan(&[self.key.op(hold(units)), self.ticket.op(hold(1))])
    }

    /// Commits `actual` units; none cancels.
    pub(super) fn commit(
        &self,
        desk: &Desk,
        receipt: Receipt,
        actual: u64,
    ) -> (Verdict, Vec<Decision>) {
        let act = settle(receipt, actual);
        desk.plan(&[self.key.op(act), self.ticket.op(act)])
    }

    pub(super) fn extend(&self, desk: &Desk, receipt: Receipt) -> (Verdict, Vec<Decision>) {
        let act = Act::Renew { receipt };
        desk.plan(&[self.key.op(act), self.ticket.op(act)])
    }
}

/// Nothing was done, and there is nothing to wait for.
pub(super) fn moot(verdict: &Verdict) -> bool {
    !verdict.allowed && !verdict.impossible && verdict.retry_after.is_none()
}

/// Every algorithm of a limit, and what is held.
fn quotas(limit: u64) -> Vec<Quota> {
    let mut all = kinds(limit, DAY).to_vec();
    all.push(concurrency(limit, DAY));
    all
}

/// Settling twice is answered with what was settled first, and changes nothing, whatever the second
/// one says.
pub fn a_reservation_is_settled_once(make: Make<'_>) {
    let desk = Desk::new(make);
    let record = ticket(TTL);
    for quota in &quotas(10) {
        for (id, actual) in [(b"a", 4), (b"b", 0), (b"c", 6)] {
            let booking = Reservation::new(Key::new(1, b"key", quota), id, &record);
            let (verdict, decisions) = booking.reserve(&desk, 6);
            assert!(verdict.allowed && decisions[0].remaining == 4, "{quota:?}");
            let receipt = decisions[0].receipt;
            let (verdict, decisions) = booking.commit(&desk, receipt, actual);
            assert!(verdict.allowed, "{quota:?}");
            let settled = Fit::Settled {
                actual: u32::try_from(actual).expect("few"),
            };
            assert_eq!((decisions[0].fit, decisions[1].fit), (settled, settled));
            let left = 10 - actual;
            assert_eq!(u64::from(decisions[0].remaining), left, "{quota:?}");
            for again in [0, 1, 6, 9] {
                let (verdict, decisions) = booking.commit(&desk, receipt, again);
                let first = u32::try_from(actual).expect("few");
                assert!(moot(&verdict), "{quota:?}");
                assert_eq!(decisions[1].fit, Fit::Repeated { actual: first });
                assert_eq!(u64::from(decisions[0].remaining), left, "{quota:?}");
            }
            let (verdict, _) = booking.extend(&desk, receipt);
            assert!(moot(&verdict));
            assert_eq!(u64::from(desk.remaining(&booking.key)), left, "{quota:?}");
            desk.act(&booking.key, Act::Reset);
            assert!(desk.act(&booking.ticket, Act::Reset).fit.passes());
        }
    }
}

/// F25: what is refused leaves no ticket and no charge; a cancelled reservation leaves what would be
/// there without it.
pub fn f25_a_cancelled_reservation_leaves_no_trace(make: Make<'_>) {
    let desk = Desk::new(make);
    let record = ticket(TTL);
    for quota in &quotas(20) {
        let key = Key::new(1, b"key", quota);
        let reserved = Reservation::new(key, b"first", &record);
        let (verdict, decisions) = reserved.reserve(&desk, 15);
        assert!(verdict.allowed, "{quota:?}");
        let receipt = decisions[0].receipt;
        let before = desk.peek(&key);

        let refused = Reservation::new(key, b"second", &record);
        let (verdict, decisions) = refused.reserve(&desk, 10);
        assert!(!verdict.allowed && denied(&decisions[0]), "{quota:?}");
        assert_eq!(decisions[1].fit, Fit::Allowed);
        let (verdict, decisions) = refused.commit(&desk, decisions[0].receipt, 0);
        assert!(moot(&verdict) && decisions[1].fit == Fit::Unknown);
        assert_eq!(desk.peek(&key), before, "{quota:?}: 5 are left");

        let third = Reservation::new(key, b"third", &record);
        let (_, held) = third.reserve(&desk, 5);
        assert!(third.commit(&desk, held[0].receipt, 0).0.allowed);
        assert_eq!(desk.remaining(&key), 5, "{quota:?}");
        assert!(reserved.commit(&desk, receipt, 0).0.allowed);
        let unknown = Key::new(1, b"unknown", quota);
        let (left, never) = (desk.peek(&key), desk.peek(&unknown));
        let seen = (left.remaining, left.reset_after, left.next_after);
        let fresh = (never.remaining, never.reset_after, never.next_after);
        assert_eq!(seen, fresh, "{quota:?}");
        for booking in [&reserved, &third] {
            desk.act(&booking.ticket, Act::Reset);
        }
    }
}

/// An id is given once: as long as its ticket is there, open or settled, it is not given again, and
/// the charge beside it is not made.
pub fn a_ticket_is_given_once(make: Make<'_>) {
    let desk = Desk::new(make);
    let (quota, record) = (kinds(10, DAY)[1], ticket(TTL));
    let booking = Reservation::new(Key::new(1, b"key", &quota), b"id", &record);
    let (_, first) = booking.reserve(&desk, 2);
    let (verdict, twice) = booking.reserve(&desk, 2);
    assert!(!verdict.allowed && denied(&twice[1]) && twice[0].remaining == 8);
    assert_eq!(verdict.retry_after, Some(span(TTL)), "when it is over");
    let cost = Cost::ONE;
    assert_eq!(
        desk.act(&booking.ticket, Act::Peek { cost }).fit,
        Fit::Allowed
    );
    assert!(booking.commit(&desk, first[0].receipt, 2).0.allowed);
    assert!(!booking.reserve(&desk, 2).0.allowed);
    let look = desk.act(&booking.ticket, Act::Peek { cost }).fit;
    assert_eq!(look, Fit::Repeated { actual: 2 });
    assert_eq!(
        desk.act(&booking.ticket, Act::Take { cost }).fit,
        Fit::Impossible
    );
    let after = desk.at(desk.now_us + TTL);
    assert_eq!(
        after.act(&booking.ticket, Act::Peek { cost }).fit,
        Fit::Unknown
    );
    assert!(booking.reserve(&after, 2).0.allowed);
}

/// A ticket that nobody settles is over after its time; what was charged stays charged, and what
/// was held stays held until its lease is over.
pub fn an_unsettled_reservation_stays_charged(make: Make<'_>) {
    let desk = Desk::new(make);
    let record = ticket(TTL);
    for quota in &quotas(10) {
        let key = Key::new(1, b"key", quota);
        let booking = Reservation::new(key, b"id", &record);
        let receipt = booking.reserve(&desk, 6).1[0].receipt;
        let just_before = desk.at(desk.now_us + TTL - 1);
        let alive = just_before.act(&booking.ticket, Act::Peek { cost: Cost::ONE });
        assert_eq!((alive.fit, alive.reset_after), (Fit::Allowed, span(1)));
        let over = desk.at(desk.now_us + TTL);
        let before = over.peek(&key);
        let (verdict, decisions) = booking.commit(&over, receipt, 0);
        assert!(
            moot(&verdict) && decisions[1].fit == Fit::Unknown,
            "{quota:?}"
        );
        assert!(moot(&booking.extend(&over, receipt).0), "{quota:?}");
        assert_eq!(over.peek(&key), before, "{quota:?}");
        assert!(
            denied(&desk.at(desk.now_us + HOUR / 2).hold(&key, 5)),
            "{quota:?}"
        );
        desk.act(&booking.ticket, Act::Reset);
        desk.act(&key, Act::Reset);
    }
}

/// Renewing keeps a reservation for as long again, and with it the holder that it stands for.
pub fn a_reservation_lives_as_long_as_it_is_renewed(make: Make<'_>) {
    let desk = Desk::new(make);
    let (quota, record) = (concurrency(4, TTL), ticket(TTL));
    let booking = Reservation::new(Key::new(1, b"key", &quota), b"id", &record);
    let receipt = booking.reserve(&desk, 3).1[0].receipt;
    let mut now = desk.clone();
    for _ in 0..20 {
        now = now.at(now.now_us + TTL / 3);
        let (verdict, decisions) = booking.extend(&now, receipt);
        assert!(verdict.allowed);
        assert_eq!(decisions[0].fit, Fit::Settled { actual: 3 });
        assert_eq!(decisions[1].fit, Fit::Settled { actual: 0 });
    }
    now = now.at(now.now_us + TTL - 1);
    assert_eq!(now.remaining(&booking.key), 1);
    let (verdict, decisions) = booking.commit(&now, receipt, 0);
    assert!(verdict.allowed && decisions[0].remaining == 4);
    assert!(moot(&booking.extend(&now, receipt).0));

    // Other charges keep themselves.
    for quota in &kinds(4, DAY) {
        let key = Key::new(2, b"key", quota);
        let receipt = desk.hold(&key, 3).receipt;
        let renewed = desk.renew(&key, receipt);
        assert_eq!(
            (renewed.fit, renewed.remaining),
            (Fit::Settled { actual: 3 }, 1),
            "{quota:?}"
        );
    }
}

/// A clock that steps back does not end a reservation.
pub fn a_reservation_outlasts_a_clock_that_steps_back(make: Make<'_>) {
    let desk = Desk::new(make);
    let record = ticket(TTL);
    for quota in &quotas(10) {
        let booking = Reservation::new(Key::new(1, b"key", quota), b"id", &record);
        let receipt = booking.reserve(&desk, 6).1[0].receipt;
        let back = desk.at(desk.now_us - 2 * DAY);
        assert!(!booking.reserve(&back, 1).0.allowed);
        let (verdict, decisions) = booking.commit(&back, receipt, 0);
        assert!(verdict.allowed, "{quota:?}");
        assert_eq!(decisions[1].fit, Fit::Settled { actual: 0 }, "{quota:?}");
        assert!(moot(&booking.commit(&desk, receipt, 6).0), "{quota:?}");
        desk.act(&booking.ticket, Act::Reset);
    }
}
