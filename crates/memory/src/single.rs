//! Plans of one op, which most are: decided on the spot if the state is there.

use jeton_core::{
    Act, Answers, Decision, Edit, Micros, Mode, OnDeny, Op, Outcome, Quota, Reading, Verdict,
};

use crate::budget::Budget;
use crate::fate::{Fate, entries_needed};
use crate::region::Region;
use crate::seat::Seat;
use crate::{Journal, Place, Table};

/// One act on one state.
#[derive(Clone, Copy)]
pub(crate) struct Single<'a> {
    pub(crate) place: Place,
    pub(crate) quota: &'a Quota,
    pub(crate) act: Act,
    pub(crate) on_deny: OnDeny,
}

impl Single<'_> {
    /// A copy field by field: one as a whole would be made beforehand, for every take.
    #[inline]
    const fn rebuilt(&self) -> Self {
        let Place { rule, kind, hash } = self.place;
        Self {
            place: Place { rule, kind, hash },
            ..*self
        }
    }
}

impl Table {
    /// Decides one op whose denial costs nothing.
    #[inline]
    pub(crate) fn decide_one(
        &self,
        op: &Op<'_>,
        place: Place,
        when: Reading,
        journal: &mut impl Journal,
        out: &mut Answers,
    ) {
        let one = Single {
            place,
            quota: op.quota,
            act: op.act,
            on_deny: op.on_deny,
        };
        let decision = self.single(&one, when, journal);
        let verdict = Verdict::of([(op.mode, decision.fit)]);
        out.push(verdict, core::slice::from_ref(&decision));
    }

    /// Takes from a bucket that is there, and leaves the rest to others.
    ///
    /// It becomes part of the caller, so that what the caller does not look at is not worked out. For
    /// that the others must not write into the place of the decision: they return a larger value.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn single(
        &self,
        one: &Single<'_>,
        reading: Reading,
        journal: &mut impl Journal,
    ) -> Decision {
        let mut region = self.visit(self.region_of(one.place), reading);
        let now = region.not_before(reading);
        if reading.is_steady() {
            region.reached(now);
        }
        if let (Quota::Bucket(bucket), Act::Take { cost }) = (one.quota, one.act)
            && let Some(decision) = region.take_quickly(one.place, bucket, cost, now, journal)
        {
            return decision;
        }
        self.single_known(one.rebuilt(), &mut region, now, journal)
            .decision
    }

    /// The outcome, carried out.
    #[inline(never)]
    fn single_known(
        &self,
        one: Single<'_>,
        region: &mut Region,
        now: Micros,
        journal: &mut impl Journal,
    ) -> Outcome {
        let one = &one;
        let more = entries_needed(one.quota, &one.act);
        // A look must answer as the charge would; a charge that is denied needs no more memory.
        let look = if one.act.is_look() { more } else { 0 };
        let Some(known) = region.known(one.place, look, now, &self.budget) else {
            return self.single_unknown(one, region, now, journal);
        };
        let outcome = one.quota.decide(region.view_at(known), &one.act, now);
        match &outcome.edit {
            Edit::Keep => {}
            Edit::Put { .. } if !region.reserve_at(known.at, more, &self.budget) => {
                return self.single_unknown(one, region, now, journal);
            }
            Edit::Put { cell, until, tail } => {
                region.tell_at(known.at, one.place, journal);
                region.put_at(known.at, cell, *until, tail, &self.budget);
            }
            Edit::Erase => {
                region.tell_at(known.at, one.place, journal);
                region.bury(known.at, &self.budget);
            }
        }
        outcome
    }

    /// The state is not there, or has to be looked for, or its entries need more memory.
    #[cold]
    fn single_unknown(
        &self,
        one: &Single<'_>,
        region: &mut Region,
        now: Micros,
        journal: &mut impl Journal,
    ) -> Outcome {
        let op = Op {
            rule: one.place.rule,
            key: &[],
            quota: one.quota,
            act: one.act,
            mode: Mode::Enforce,
            on_deny: one.on_deny,
        };
        let mut seated = Seated {
            seat: Seat::new(one.place, 0),
            region,
            budget: &self.budget,
        };
        let Seated { seat, region, .. } = &mut seated;
        self.seat(seat, region, &op, now, journal);
        let quota = seat.fate.quota(one.quota);
        let act = match seat.fate {
            Fate::Own => one.act,
            _ => seat.fate.stand_in(&op, &quota, 0).act,
        };
        let mut outcome = quota.decide(seat.view(region, now), &act, now);
        seat.apply(region, &outcome.edit, &self.budget, journal);
        seated.seat.fate.translate(&op, &mut outcome.decision);
        outcome
    }
}

/// A seat that gives up what it claimed and has not been written, however the step ends: a journal
/// may panic.
struct Seated<'a> {
    seat: Seat,
    region: &'a mut Region,
    budget: &'a Budget,
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        self.seat.release(self.region, self.budget);
    }
}
