//! `token-bucket` and `gcra`: units owed, which come back one after the other.
//!
//! Definition: a bucket of capacity B that gets n units per d microseconds. What has been taken is
//! owed; the first owed unit comes back d/n after the anchor, the next d/n after that, until
//! nothing is owed. A take fits while no more than B are owed after it. With no unit ever arriving
//! while the bucket is full, this is Turner's token bucket, and the instant at which the last owed
//! unit is back is the "theoretical arrival time" of GCRA (ITU-T I.371, annex A).

use super::drive::{Anchored, Law};
use super::{Mark, Receipt};
use crate::exact::{Ratio, earliest, largest};

/// The algorithm under one quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub(super) units: u64,
    pub(super) per_us: u64,
    pub(super) burst: u64,
}

/// What is owed, and from when on it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    anchor: Ratio,
    /// The `units` of the rate in whose fractions of a microsecond the anchor is held.
    parts: u64,
    owed: u64,
}

impl Bucket {
    fn unit_time(&self) -> Ratio {
        Ratio::new(self.per_us.into(), self.units.into())
    }

    fn parts(&self) -> u64 {
        u64::try_from(self.unit_time().denominator()).expect("not above the rate's own units")
    }

    /// An instant held in fractions of another rate: the number of parts stays, and counts as one
    /// whole microsecond where this rate has fewer of them.
    fn translate(&self, instant: Ratio, parts: u64) -> Ratio {
        let whole = Ratio::from(instant.floor());
        let held = ((instant - whole) * Ratio::from(parts)).floor();
        whole + Ratio::new(held, self.parts().into()).min(Ratio::from(1))
    }

    /// The instant at which the last owed unit is back.
    fn due(&self, state: &State) -> Ratio {
        state.anchor + Ratio::from(state.owed) * self.unit_time()
    }
}

impl Law for Bucket {
    type State = State;

    fn limit(&self) -> u64 {
        self.burst
    }

    fn anchor(&self, state: State, now: u64) -> Anchored<State> {
        let anchor = self.translate(state.anchor, state.parts);
        let moved = i128::from(now) < anchor.floor();
        let anchor = if moved { Ratio::from(now) } else { anchor };
        Anchored {
            state: State {
                anchor,
                parts: self.parts(),
                ..state
            },
            moved,
        }
    }

    fn advance(&self, state: State, now: u64) -> Option<State> {
        let back_at = |unit: u64| state.anchor + Ratio::from(unit) * self.unit_time();
        let back = largest(state.owed, |unit| {
            unit == 0 || back_at(unit) <= Ratio::from(now)
        })?;
        let left = state.owed - back;
        (left > 0).then(|| State {
            anchor: back_at(back),
            owed: left,
            ..state
        })
    }

    fn used(&self, state: &State, _now: u64) -> Ratio {
        Ratio::from(state.owed)
    }

    fn debt(&self, state: &State) -> u64 {
        state.owed.saturating_sub(self.burst)
    }

    fn charge(&self, state: Option<State>, units: u64, now: u64) -> (State, Mark) {
        let full = State {
            anchor: Ratio::from(now),
            parts: self.parts(),
            owed: 0,
        };
        let mut state = state.unwrap_or(full);
        state.owed += units;
        (state, Mark::Due(self.due(&state), self.parts()))
    }

    fn defer(&self, state: Option<State>, units: u64, now: u64) -> State {
        self.charge(state, units, now).0
    }

    fn give(&self, state: State, units: u64) -> State {
        State {
            owed: state.owed.saturating_sub(units),
            ..state
        }
    }

    /// Only units of this very charge that have not come back yet can be given back: otherwise
    /// take, wait, refund would let a burst pass twice.
    fn give_back(&self, state: State, receipt: &Receipt, units: u64, now: u64) -> (State, u64) {
        let Some(Mark::Due(due, parts)) = receipt.mark else {
            return (state, 0);
        };
        let due = self.translate(due, parts);
        let now = Ratio::from(now.max(receipt.at_us));
        let comes_back = |nth_last: u64| due - Ratio::from(nth_last - 1) * self.unit_time();
        let out = largest(receipt.cost, |unit| unit == 0 || comes_back(unit) > now).unwrap_or(0);
        let given = units.min(out).min(state.owed);
        let owed = state.owed - given;
        (State { owed, ..state }, given)
    }

    /// Until the bucket is full again.
    fn reset_us(&self, state: &State, now: u64) -> Option<u64> {
        earliest(|wait| self.advance(*state, now + wait).is_none())
    }

    /// Until one more unit can be taken.
    fn next_us(&self, state: &State, now: u64) -> Option<u64> {
        let left = |owed: u64| self.burst.saturating_sub(owed);
        let more = |wait| {
            left(
                self.advance(*state, now + wait)
                    .map_or(0, |later| later.owed),
            ) > left(state.owed)
        };
        earliest(more)
    }
}
