//! Finding each op its place before anything is decided, so that a plan never learns half way that
//! one of its states does not fit.

use jeton_core::{Act, Cost, Edit, Fit, Kind, Micros, OnDeny, Op, Quota, RuleId, View};

use crate::budget::Budget;
use crate::fate::{Fate, UNKNOWN_WAIT, entries_needed, opens};
use crate::overflow::{inherit, shared_quota};
use crate::region::{Region, SEARCH};
use crate::{Journal, Overflow, Place, Table};

/// One op's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// Its own state, whether there is one or not.
    pub(crate) place: Place,
    /// Which of the plan's regions it stands in.
    pub(crate) region: usize,
    /// Where its answer comes from.
    pub(crate) fate: Fate,
}

impl Seat {
    /// A seat that nothing has been found for yet.
    pub(crate) const VACANT: Self = Self {
        place: Place {
            rule: RuleId::new(0),
            kind: Kind::Block,
            hash: 0,
        },
        region: 0,
        fate: Fate::Own,
    };

    /// The state that the op's stand-in is decided on.
    #[inline]
    pub(crate) fn view<'a>(&self, region: &'a Region, now: Micros) -> View<'a> {
        match &self.fate {
            Fate::Own => region.view(self.place, now),
            Fate::Shared(place, _) => View {
                cell: region.shared.as_ref().and_then(|s| s.cell(*place, now)),
                tail: &[],
            },
            other => View {
                cell: other.block(now),
                tail: &[],
            },
        }
    }

    /// Carries out a change.
    #[inline]
    pub(crate) fn apply(
        &self,
        region: &mut Region,
        edit: &Edit,
        now: Micros,
        budget: &Budget,
        journal: &mut impl Journal,
    ) {
        match (&self.fate, edit) {
            (Fate::Own, Edit::Put { cell, until, tail }) => {
                region.put(self.place, cell, *until, tail, budget);
                journal.wrote(self.place, region.view(self.place, now), *until, tail);
            }
            (Fate::Own, Edit::Erase) => {
                region.erase(self.place, budget);
                journal.erased(self.place);
            }
            (Fate::Shared(place, _), edit) => {
                if let Some(shared) = &mut region.shared {
                    shared.apply(*place, edit);
                }
            }
            _ => {}
        }
    }

    /// Gives up what was claimed and has not been written.
    #[inline]
    pub(crate) fn release(&self, region: &mut Region, budget: &Budget) {
        match &self.fate {
            Fate::Own => region.release(self.place, budget),
            Fate::Shared(place, _) => {
                if let Some(shared) = &mut region.shared {
                    shared.release(*place);
                }
            }
            _ => {}
        }
    }
}

impl Table {
    /// Finds `op` its place in its region, and claims it if the op may write a new state.
    #[inline]
    pub(crate) fn seat(
        &self,
        region: &mut Region,
        op: &Op<'_>,
        place: Place,
        now: Micros,
        journal: &mut impl Journal,
    ) -> Fate {
        let known = region.find(place).is_some_and(|slot| slot.is_alive(now));
        if known {
            return match entries_needed(op.quota, &op.act) {
                0 => Fate::Own,
                more => self.seat_log(region, op, place, now, more),
            };
        }
        if !opens(op.quota, &op.act, now) {
            return self.seat_look(region, op, place, now);
        }
        // What is over is found while there is still room, for soon there may be none.
        if self.budget.is_short() {
            self.clean(region, now);
        }
        let claimed = region.claim(place, now, &self.budget)
            || (self.clean(region, now) && region.claim(place, now, &self.budget));
        if claimed {
            self.start_from_shared(region, op, place, now, journal);
            return Fate::Own;
        }
        self.overflow(region, op, now)
    }

    /// Looks for dead states here and in another region; whether it buried any.
    #[cold]
    fn clean(&self, region: &mut Region, now: Micros) -> bool {
        let here = region.clean(SEARCH, now, &self.budget);
        let there = self.elsewhere(|other| other.clean(SEARCH, now, &self.budget));
        here + there.unwrap_or(0) > 0
    }

    /// A log that may need `more` entries. Without memory for them it still takes what replaces
    /// entries that have left; what it cannot note down, it must not allow.
    fn seat_log(
        &self,
        region: &mut Region,
        op: &Op<'_>,
        place: Place,
        now: Micros,
        more: usize,
    ) -> Fate {
        let budget = &self.budget;
        if region.reserve(place, more, budget) {
            return Fate::Own;
        }
        if self.clean(region, now) && region.reserve(place, more, budget) {
            return Fate::Own;
        }
        let outcome = op.quota.decide(region.view(place, now), &op.act, now);
        match (outcome.edit, outcome.decision.fit) {
            (Edit::Put { tail, .. }, _) if !region.fits(place, &tail) => {}
            (_, Fit::Denied { retry_after }) if op.on_deny == OnDeny::Charge => {
                return Fate::Denied(retry_after);
            }
            _ => return Fate::Own,
        }
        if let Act::Settle { .. } = op.act {
            region.dropped += 1;
            return Fate::Dropped;
        }
        region.overflowed += 1;
        if self.overflow == Overflow::Allow {
            return Fate::Uncounted;
        }
        // When the oldest entry leaves, a new one can take its place.
        let look = Act::Peek { cost: Cost::ZERO };
        let present = op.quota.decide(region.view(place, now), &look, now);
        Fate::Denied(present.decision.reset_after)
    }

    /// An op without a state that writes none. A look still answers as a take would.
    fn seat_look(&self, region: &mut Region, op: &Op<'_>, place: Place, now: Micros) -> Fate {
        let shared = self.shared_place(region, op, now);
        match op.act {
            Act::Peek { cost } if opens(op.quota, &Act::Take { cost }, now) => {
                if shared.is_some() {
                    self.share(region, op, now)
                } else if region.has_room(place, now, &self.budget) {
                    Fate::Own
                } else {
                    self.overflow(region, op, now)
                }
            }
            Act::Settle { .. } | Act::Give { .. } => {
                region.dropped += u64::from(shared.is_some());
                Fate::Own
            }
            _ => Fate::Own,
        }
    }

    /// The shared cell that counts for `op`, if there is one that counts anything.
    fn shared_place(&self, region: &Region, op: &Op<'_>, now: Micros) -> Option<(Place, Quota)> {
        let shared = region.shared.as_ref()?;
        let quota = shared_quota(op.quota)?;
        let place = self.place_of_shared(op, &quota);
        shared.cell(place, now).map(|_| (place, quota))
    }

    fn place_of_shared(&self, op: &Op<'_>, quota: &Quota) -> Place {
        Place {
            rule: op.rule,
            kind: quota.kind(),
            hash: self.seed.shared(op.rule, op.quota),
        }
    }

    /// A key that found room may have been charged while it had none.
    fn start_from_shared(
        &self,
        region: &mut Region,
        op: &Op<'_>,
        place: Place,
        now: Micros,
        journal: &mut impl Journal,
    ) {
        let Some((shared_place, quota)) = self.shared_place(region, op, now) else {
            return;
        };
        let cell = region
            .shared
            .as_ref()
            .and_then(|s| s.cell(shared_place, now));
        let edit = cell.map(|cell| inherit(op.quota, &quota, cell, now));
        if let Some(Edit::Put { cell, until, tail }) = edit {
            region.put(place, &cell, until, &tail, &self.budget);
            journal.wrote(place, region.view(place, now), until, &tail);
        }
    }

    /// An op that would open a state, and there is no room for one.
    fn overflow(&self, region: &mut Region, op: &Op<'_>, now: Micros) -> Fate {
        match op.act {
            Act::Settle { .. } => {
                region.dropped += 1;
                return Fate::Dropped;
            }
            Act::Block { .. } => return Fate::Refused,
            Act::Peek { .. } => {}
            _ => region.overflowed += 1,
        }
        match self.overflow {
            Overflow::Deny => Fate::Denied(UNKNOWN_WAIT),
            Overflow::Allow => Fate::Uncounted,
            Overflow::Share => self.share(region, op, now),
        }
    }

    fn share(&self, region: &mut Region, op: &Op<'_>, now: Micros) -> Fate {
        let (Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost }) = op.act else {
            return Fate::Denied(UNKNOWN_WAIT);
        };
        let fits = |quota: &Quota| cost.get() <= quota.limit();
        let Some(quota) = shared_quota(op.quota).filter(fits) else {
            return Fate::Denied(UNKNOWN_WAIT);
        };
        let place = self.place_of_shared(op, &quota);
        let room = match (&mut region.shared, op.act) {
            (Some(shared), Act::Peek { .. }) => shared.has_room(place, now),
            (None, Act::Peek { .. }) => true,
            (shared, _) => shared.get_or_insert_default().claim(place, now),
        };
        if room {
            Fate::Shared(place, quota)
        } else {
            Fate::Denied(UNKNOWN_WAIT)
        }
    }
}

/// Two keys of one plan must not both be decided on one cell: the second is denied.
pub(crate) fn part_twins(seats: &mut [Seat]) {
    for second in 1..seats.len() {
        let (before, rest) = seats.split_at_mut(second);
        let Some(seat) = rest.first_mut() else {
            continue;
        };
        let Fate::Shared(place, _) = seat.fate else {
            continue;
        };
        let twin = |other: &Seat| {
            other.region == seat.region
                && matches!(other.fate, Fate::Shared(taken, _) if taken == place)
        };
        if before.iter().any(twin) {
            seat.fate = Fate::Denied(UNKNOWN_WAIT);
        }
    }
}
