//! Finding each op its place before anything is decided, so that a plan never learns half way that
//! one of its states does not fit.

use jeton_core::{Act, Edit, Entry, Kind, Micros, Op, Quota, RuleId, TailEdit, View};

use crate::budget::Budget;
use crate::fate::{Fate, UNKNOWN_WAIT, entries_needed, opens};
use crate::overflow::{inherit, shared_quota};
use crate::region::{Region, SEARCH, Spot};
use crate::{Journal, Overflow, Place, Table};

/// One op's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// Its own state, whether there is one or not.
    pub(crate) spot: Spot,
    /// Which of the plan's regions it stands in.
    pub(crate) region: usize,
    /// Whether its own slot was claimed.
    claimed: bool,
    /// Where its answer comes from.
    pub(crate) fate: Fate,
}

impl Seat {
    /// A seat that nobody has taken.
    pub(crate) const VACANT: Self = Self::new(
        Place {
            rule: RuleId::new(0),
            kind: Kind::Bucket,
            hash: 0,
        },
        0,
    );

    /// A seat in the region of this number, for which nothing has been found yet.
    pub(crate) const fn new(place: Place, region: usize) -> Self {
        Self {
            spot: Spot::new(place),
            region,
            claimed: false,
            fate: Fate::Own,
        }
    }

    /// The state that the op's stand-in is decided on.
    #[inline]
    pub(crate) fn view<'a>(&self, region: &'a Region, now: Micros) -> View<'a> {
        match &self.fate {
            Fate::Own => region.view(&self.spot, now),
            Fate::Shared(place) => View {
                cell: region.shared.as_ref().and_then(|s| s.cell(*place, now)),
                tail: &[],
            },
            other => View {
                cell: other.window(now),
                tail: &[],
            },
        }
    }

    /// Carries out a change.
    #[inline]
    pub(crate) fn apply<J: Journal>(
        &self,
        region: &mut Region,
        edit: &Edit,
        budget: &Budget,
        journal: &mut J,
    ) {
        match (&self.fate, edit) {
            (Fate::Own, Edit::Put { cell, until, tail }) => {
                tell(region, &self.spot, journal);
                let crowded = self.crowd(region, tail);
                let tail = crowded.as_ref().unwrap_or(tail);
                region.put(&self.spot, cell, *until, tail, budget);
            }
            (Fate::Own, Edit::Erase) => {
                if J::HEARS && region.standing(&self.spot).is_some() {
                    tell(region, &self.spot, journal);
                }
                region.erase(&self.spot, budget);
            }
            (Fate::Shared(place), edit) => {
                if let Some(shared) = &mut region.shared {
                    shared.apply(*place, edit);
                }
            }
            _ => {}
        }
    }

    /// What is done in the place of `tail` if a log has no memory for one entry more.
    #[inline]
    fn crowd(&self, region: &Region, tail: &TailEdit) -> Option<TailEdit> {
        if self.spot.place.kind != Kind::Log || region.fits(&self.spot, tail) {
            return None;
        }
        crowd(region.entries(&self.spot), tail)
    }

    /// Gives up what was claimed and has not been written.
    #[inline]
    pub(crate) fn release(&self, region: &mut Region, budget: &Budget) {
        match &self.fate {
            Fate::Own if self.claimed => region.release(&self.spot, budget),
            Fate::Shared(place) => {
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
        seat: &mut Seat,
        region: &mut Region,
        op: &Op<'_>,
        now: Micros,
        journal: &mut impl Journal,
    ) {
        seat.spot = region.spot(seat.spot.place);
        let known = region.is_alive(&seat.spot, now);
        match entries_needed(op.quota, &op.act) {
            0 if known => {}
            more if known => seat.fate = self.seat_tail(region, op, &seat.spot, now, more),
            _ if opens(op.quota, &op.act) => self.seat_new(seat, region, op, now, journal),
            _ => seat.fate = self.seat_look(region, op, &seat.spot, now),
        }
    }

    /// An op that may write a new state.
    fn seat_new(
        &self,
        seat: &mut Seat,
        region: &mut Region,
        op: &Op<'_>,
        now: Micros,
        journal: &mut impl Journal,
    ) {
        let budget = &self.budget;
        // What is over is found while there is still room, for soon there may be none.
        if budget.is_short() {
            self.clean(region, now);
        }
        seat.claimed = region.claim(&mut seat.spot, now, budget)
            || (self.clean(region, now) && region.claim(&mut seat.spot, now, budget));
        if seat.claimed {
            self.start_from_shared(region, op, &seat.spot, now, journal);
        } else {
            seat.fate = self.overflow(region, op, now);
        }
    }

    /// Looks for dead states here and in another region; whether it buried any.
    #[cold]
    fn clean(&self, region: &mut Region, now: Micros) -> bool {
        let here = region.clean(SEARCH, now, &self.budget);
        let when = region.reading(now);
        let there = self.elsewhere(when, |other| other.clean(SEARCH, now, &self.budget));
        here + there.unwrap_or(0) > 0
    }

    /// A log or a concurrency that may need `more` entries. Without memory for them it still takes
    /// what replaces entries that have left. A log notes a charge in its latest entry then; what cannot
    /// be noted down is not allowed.
    fn seat_tail(
        &self,
        region: &mut Region,
        op: &Op<'_>,
        spot: &Spot,
        now: Micros,
        more: usize,
    ) -> Fate {
        let budget = &self.budget;
        if region.reserve(spot, more, budget) {
            return Fate::Own;
        }
        if self.clean(region, now) && region.reserve(spot, more, budget) {
            return Fate::Own;
        }
        let held = op.quota.kind().is_held();
        let settles = matches!(op.act, Act::Settle { .. });
        if !held && !settles {
            return Fate::Own;
        }
        let act = match op.act {
            Act::Peek { cost } => Act::Hold { cost },
            act => act,
        };
        let outcome = op.quota.decide(region.view(spot, now), &act, now);
        match outcome.edit {
            Edit::Put { tail, .. } if !region.fits(spot, &tail) => {}
            _ => return Fate::Own,
        }
        if settles {
            region.dropped += 1;
            return Fate::Dropped;
        }
        region.overflowed += u64::from(!op.act.is_look());
        Fate::Denied(UNKNOWN_WAIT)
    }

    /// An op without a state that writes none. A look still answers as a take would.
    fn seat_look(&self, region: &mut Region, op: &Op<'_>, spot: &Spot, now: Micros) -> Fate {
        let shared = self.shared_place(region, op, now);
        match op.act {
            // What a ticket is asked is whether there is one.
            Act::Peek { .. } if op.quota.kind() == Kind::Ticket => Fate::Own,
            Act::Peek { cost } if opens(op.quota, &Act::Hold { cost }) => {
                if shared.is_some() {
                    self.share(region, op, now)
                } else if region.has_room(spot.place, now, &self.budget) {
                    Fate::Own
                } else {
                    self.overflow(region, op, now)
                }
            }
            // What the key has used stands in a cell that is not its own.
            _ => match shared {
                None => Fate::Own,
                Some((place, _)) => Self::seat_shared_look(region, op, place),
            },
        }
    }

    /// An op that would give back, or only asks, and whose key is counted with others.
    fn seat_shared_look(region: &mut Region, op: &Op<'_>, place: Place) -> Fate {
        let gives_back = matches!(op.act, Act::Settle { .. } | Act::Give { .. } | Act::Reset);
        region.dropped += u64::from(gives_back);
        match op.act {
            Act::Settle { .. } => Fate::Dropped,
            _ => Fate::Shared(place),
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
            hash: self.hashing.shared(op.rule, op.quota),
        }
    }

    /// A key that found room may have been charged while it had none.
    fn start_from_shared(
        &self,
        region: &mut Region,
        op: &Op<'_>,
        spot: &Spot,
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
            tell(region, spot, journal);
            region.put(spot, &cell, until, &tail, &self.budget);
        }
    }

    /// An op that would open a state, and there is no room for one.
    fn overflow(&self, region: &mut Region, op: &Op<'_>, now: Micros) -> Fate {
        match op.act {
            Act::Settle { .. } => {
                region.dropped += 1;
                return Fate::Dropped;
            }
            Act::Peek { .. } => {}
            _ => region.overflowed += 1,
        }
        match self.overflow {
            _ if op.quota.kind().is_held() => Fate::Denied(UNKNOWN_WAIT),
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
            Fate::Shared(place)
        } else {
            Fate::Denied(UNKNOWN_WAIT)
        }
    }
}

/// Notes a charge in the latest entry of a log: what that one holds then leaves with the charge, later
/// than it would have, never sooner.
fn crowd(entries: &[Entry], tail: &TailEdit) -> Option<TailEdit> {
    let TailEdit::Splice {
        drop_front,
        keep,
        append: [Some(charge), debt],
    } = *tail
    else {
        return None;
    };
    let latest = keep.checked_sub(1).filter(|latest| *latest >= drop_front)?;
    let before = entries.get(latest as usize)?;
    let charge = Entry {
        cost: charge.cost.saturating_add(before.cost),
        ..charge
    };
    Some(TailEdit::Splice {
        drop_front,
        keep: latest,
        append: [Some(charge), debt],
    })
}

/// Tells `journal` that a state is about to change, and marks it as it says.
#[inline]
fn tell<J: Journal>(region: &mut Region, spot: &Spot, journal: &mut J) {
    if J::HEARS {
        let before = region.standing(spot);
        let marked = before.map_or(0, |before| before.mark);
        let mark = journal.changes(spot.place, before);
        if mark != marked {
            region.mark(spot, mark);
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
        let Fate::Shared(place) = seat.fate else {
            continue;
        };
        let twin = |other: &Seat| {
            other.region == seat.region
                && matches!(other.fate, Fate::Shared(taken) if taken == place)
        };
        if before.iter().any(twin) {
            seat.fate = Fate::Denied(UNKNOWN_WAIT);
        }
    }
}
