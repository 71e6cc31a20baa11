//! `sliding-log`: every charge is remembered until exactly one window after it.
//!
//! Definition: a charge stamped s counts while s + W > now. The sum of what counts must not pass
//! L. Debt is stamped one window ahead, all of it one window ahead of the latest excess.

use super::drive::{Anchored, Law};
use super::{Mark, Receipt};
use crate::exact::Ratio;

/// The algorithm under one quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlidingLog {
    pub(super) limit: u64,
    pub(super) window_us: u64,
}

/// Units with the instant they are counted at, which a clock step can move below 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    stamp: i128,
    units: u64,
}

/// All charges that may still count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    entries: Vec<Entry>,
    debt: Entry,
    /// The newest time the log was written at.
    seen_us: u64,
    /// How far the stamps have been moved back by clock steps in all: what an entry is called by
    /// its receipts is the stamp it would have without them.
    shifted: i128,
}

impl SlidingLog {
    fn in_force(&self, entry: &Entry, now: u64) -> bool {
        entry.units > 0 && entry.stamp + i128::from(self.window_us) > i128::from(now)
    }

    fn or_empty(state: Option<State>, now: u64) -> State {
        let nothing = Entry { stamp: 0, units: 0 };
        let empty = State {
            entries: Vec::new(),
            debt: nothing,
            seen_us: now,
            shifted: 0,
        };
        state.unwrap_or(empty)
    }
}

impl Law for SlidingLog {
    type State = State;

    fn limit(&self) -> u64 {
        self.limit
    }

    /// A clock behind the newest write moves all stamps back by the difference.
    fn anchor(&self, state: State, now: u64) -> Anchored<State> {
        let back = i128::from(state.seen_us.saturating_sub(now));
        let earlier = |entry: Entry| Entry {
            stamp: entry.stamp - back,
            ..entry
        };
        let moved = State {
            entries: state.entries.into_iter().map(earlier).collect(),
            debt: earlier(state.debt),
            seen_us: state.seen_us.min(now),
            shifted: state.shifted + back,
        };
        Anchored {
            state: moved,
            moved: back > 0,
        }
    }

    /// Debt is debt while its stamp lies ahead; from then on it is a charge like any other.
    fn advance(&self, state: State, now: u64) -> Option<State> {
        let mut state = state;
        if state.debt.units > 0 && state.debt.stamp <= i128::from(now) {
            state.entries.push(state.debt);
            state.debt.units = 0;
        }
        let something = self.used(&state, now) > Ratio::from(0);
        something.then_some(state)
    }

    fn used(&self, state: &State, now: u64) -> Ratio {
        let counts = state
            .entries
            .iter()
            .filter(|entry| self.in_force(entry, now));
        let units: u64 = counts.map(|entry| entry.units).sum();
        Ratio::from(units + state.debt.units)
    }

    fn debt(&self, state: &State) -> u64 {
        state.debt.units
    }

    fn charge(&self, state: Option<State>, units: u64, now: u64) -> (State, Mark) {
        let mut state = Self::or_empty(state, now);
        let stamp = i128::from(now);
        match state.entries.iter_mut().find(|entry| entry.stamp == stamp) {
            Some(entry) => entry.units += units,
            None => state.entries.push(Entry { stamp, units }),
        }
        let name = stamp + state.shifted;
        (state, Mark::Entry(name))
    }

    fn defer(&self, state: Option<State>, units: u64, now: u64) -> State {
        let mut state = Self::or_empty(state, now);
        state.debt.units += units;
        state.debt.stamp = i128::from(now + self.window_us);
        state
    }

    fn give(&self, state: State, units: u64) -> State {
        let mut state = state;
        let mut left = units;
        // What has left comes last, where it can take nothing from what counts: all of that is gone
        // by then.
        let newest_first = state.entries.iter_mut().rev();
        for entry in std::iter::once(&mut state.debt).chain(newest_first) {
            let given = left.min(entry.units);
            entry.units -= given;
            left -= given;
        }
        state
    }

    fn tidied(&self, state: State, now: u64) -> State {
        let mut state = state;
        state.entries.retain(|entry| self.in_force(entry, now));
        state
    }

    fn seen(&self, state: State, now: u64) -> State {
        State {
            seen_us: now,
            ..state
        }
    }

    /// Lowers the very entry the receipt names, as long as it still counts.
    fn give_back(&self, state: State, receipt: &Receipt, units: u64, now: u64) -> (State, u64) {
        let mut state = state;
        let mut given = 0;
        for entry in state
            .entries
            .iter_mut()
            .filter(|entry| self.in_force(entry, now))
        {
            if receipt.mark == Some(Mark::Entry(entry.stamp + state.shifted)) {
                given = units.min(entry.units);
                entry.units -= given;
            }
        }
        (state, given)
    }

    /// Until the oldest charge that counts leaves.
    fn reset_us(&self, state: &State, now: u64) -> Option<u64> {
        let charges = state
            .entries
            .iter()
            .filter(|entry| self.in_force(entry, now));
        let oldest = charges
            .map(|entry| entry.stamp)
            .min()
            .unwrap_or(state.debt.stamp);
        u64::try_from(oldest + i128::from(self.window_us) - i128::from(now)).ok()
    }
}
