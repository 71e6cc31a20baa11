//! `sliding-counter`: two counts and a weight.
//!
//! Definition: with e elapsed in the present window of length W, what counts is
//! prev · (W − e) / W + cur, an exact fraction that must not pass L. Debt counts whole until the
//! windows that follow bear it, L each.

use super::drive::{Anchored, Law};
use super::fixed_window::{debt_after, share_of_debt};
use super::{Mark, Receipt};
use crate::exact::{Ratio, earliest};

/// The algorithm under one quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlidingCounter {
    pub(super) limit: u64,
    pub(super) window_us: u64,
}

/// The counts of the present window and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    start_us: u64,
    prev: u64,
    cur: u64,
    debt: u64,
}

impl SlidingCounter {
    /// What still counts of the previous window.
    fn weighted(&self, state: &State, now: u64) -> Ratio {
        let elapsed = now - state.start_us;
        let ahead = i128::from(self.window_us - elapsed);
        Ratio::from(state.prev) * Ratio::new(ahead, self.window_us.into())
    }
}

impl Law for SlidingCounter {
    type State = State;

    fn limit(&self) -> u64 {
        self.limit
    }

    /// A window that starts ahead of now starts now instead.
    fn anchor(&self, state: State, now: u64) -> Anchored<State> {
        let start_us = state.start_us.min(now);
        Anchored {
            state: State { start_us, ..state },
            moved: start_us != state.start_us,
        }
    }

    fn advance(&self, state: State, now: u64) -> Option<State> {
        let passed = (now - state.start_us) / self.window_us;
        let borne_by = |nth| match nth {
            0 => state.cur,
            nth => share_of_debt(state.debt, self.limit, nth),
        };
        let state = match passed {
            0 => state,
            _ => State {
                start_us: state.start_us + passed * self.window_us,
                prev: borne_by(passed - 1),
                cur: borne_by(passed),
                debt: debt_after(state.debt, self.limit, passed),
            },
        };
        (state.prev + state.cur + state.debt > 0).then_some(state)
    }

    fn used(&self, state: &State, now: u64) -> Ratio {
        self.weighted(state, now) + Ratio::from(state.cur + state.debt)
    }

    fn debt(&self, state: &State) -> u64 {
        state.debt
    }

    fn charge(&self, state: Option<State>, units: u64, now: u64) -> (State, Mark) {
        let start_us = now / self.window_us * self.window_us;
        let mut state = state.unwrap_or(State {
            start_us,
            prev: 0,
            cur: 0,
            debt: 0,
        });
        state.cur += units;
        (state, Mark::WindowStart(state.start_us))
    }

    fn defer(&self, state: Option<State>, units: u64, now: u64) -> State {
        let (mut state, _) = self.charge(state, 0, now);
        state.debt += units;
        state
    }

    fn give(&self, state: State, units: u64) -> State {
        let of_debt = units.min(state.debt);
        let of_cur = (units - of_debt).min(state.cur);
        let of_prev = (units - of_debt - of_cur).min(state.prev);
        State {
            debt: state.debt - of_debt,
            cur: state.cur - of_cur,
            prev: state.prev - of_prev,
            ..state
        }
    }

    /// The charge is in the present window, or in the one before, or nowhere any more.
    fn give_back(&self, state: State, receipt: &Receipt, units: u64, _now: u64) -> (State, u64) {
        let Some(Mark::WindowStart(start_us)) = receipt.mark else {
            return (state, 0);
        };
        if start_us == state.start_us {
            let of_debt = units.min(state.debt);
            let of_cur = (units - of_debt).min(state.cur);
            let after = State {
                debt: state.debt - of_debt,
                cur: state.cur - of_cur,
                ..state
            };
            (after, of_debt + of_cur)
        } else if start_us + self.window_us == state.start_us {
            let given = units.min(state.prev);
            (
                State {
                    prev: state.prev - given,
                    ..state
                },
                given,
            )
        } else {
            (state, 0)
        }
    }

    /// Until what counts has fallen by one.
    fn reset_us(&self, state: &State, now: u64) -> Option<u64> {
        let counts = |state: &State, at: u64| self.used(state, at).ceil();
        let fallen = |wait| {
            let later = self.advance(*state, now + wait);
            later.map_or(0, |later| counts(&later, now + wait)) < counts(state, now)
        };
        earliest(fallen)
    }
}
