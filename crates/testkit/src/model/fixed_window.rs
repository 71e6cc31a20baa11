//! `fixed-window`: at most L units in each window.
//!
//! Definition: with the anchor *epoch* the windows are [kW, (k+1)W); with *first-request* a window
//! opens with its first charge and lasts W. What was used beyond the limit (a settle can do that)
//! is debt, which the next windows bear, L each, until nothing is left.

use super::drive::{Anchored, Law};
use super::{Mark, Receipt};
use crate::exact::Ratio;

/// The algorithm under one quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct FixedWindow {
    pub(super) limit: u64,
    pub(super) window_us: u64,
    pub(super) epoch: bool,
}

/// What the present window and the later ones bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    end_us: u64,
    count: u64,
    debt: u64,
}

impl FixedWindow {
    /// The end of the window of the epoch that holds `now`.
    fn epoch_end(&self, now: u64) -> u64 {
        (now / self.window_us + 1) * self.window_us
    }
}

impl FixedWindow {
    /// Follows the windows, one after the other, to the one that ends after `now`.
    fn roll(&self, state: State, now: u64) -> State {
        if state.end_us > now {
            return state;
        }
        let passed = (now - state.end_us) / self.window_us + 1;
        State {
            end_us: state.end_us + passed * self.window_us,
            count: share_of_debt(state.debt, self.limit, passed),
            debt: debt_after(state.debt, self.limit, passed),
        }
    }

    /// The end of the present window, given the one that the state says.
    fn possible_end(&self, end_us: u64, now: u64) -> u64 {
        if self.epoch {
            self.epoch_end(now)
        } else {
            end_us.min(now + self.window_us)
        }
    }
}

/// What the `nth` window from now on (1 is the next) bears of a debt, at most `limit` each.
pub(super) fn share_of_debt(debt: u64, limit: u64, nth: u64) -> u64 {
    let borne_before = u128::from(limit) * u128::from(nth - 1);
    let left = u128::from(debt).saturating_sub(borne_before);
    u64::try_from(left).expect("not above the debt").min(limit)
}

/// What is left of a debt for the windows after the `nth` from now on.
pub(super) fn debt_after(debt: u64, limit: u64, nth: u64) -> u64 {
    let borne = u128::from(limit) * u128::from(nth);
    u64::try_from(u128::from(debt).saturating_sub(borne)).expect("not above the debt")
}

impl Law for FixedWindow {
    type State = State;

    fn limit(&self) -> u64 {
        self.limit
    }

    /// A window that cannot be the present one, because the clock went back or the quota changed,
    /// counts as the present one, with all that is in it. Written even on a denial: the wait that
    /// the denial states goes by the present window's end.
    fn anchor(&self, state: State, now: u64) -> Anchored<State> {
        let rolled = self.roll(state, now);
        let end_us = self.possible_end(rolled.end_us, now);
        if end_us == rolled.end_us || rolled.count + rolled.debt == 0 {
            return Anchored {
                state,
                moved: false,
            };
        }
        Anchored {
            state: State { end_us, ..rolled },
            moved: true,
        }
    }

    fn advance(&self, state: State, now: u64) -> Option<State> {
        let rolled = self.roll(state, now);
        (rolled.count + rolled.debt > 0).then_some(rolled)
    }

    fn used(&self, state: &State, _now: u64) -> Ratio {
        Ratio::from(state.count + state.debt)
    }

    fn debt(&self, state: &State) -> u64 {
        state.debt
    }

    fn charge(&self, state: Option<State>, units: u64, now: u64) -> (State, Mark) {
        let end_us = if self.epoch {
            self.epoch_end(now)
        } else {
            now + self.window_us
        };
        let mut state = state.unwrap_or(State {
            end_us,
            count: 0,
            debt: 0,
        });
        state.count += units;
        (state, Mark::WindowEnd(state.end_us))
    }

    fn defer(&self, state: Option<State>, units: u64, now: u64) -> State {
        let (mut state, _) = self.charge(state, 0, now);
        state.debt += units;
        state
    }

    fn give(&self, state: State, units: u64) -> State {
        let of_debt = units.min(state.debt);
        let of_count = (units - of_debt).min(state.count);
        State {
            debt: state.debt - of_debt,
            count: state.count - of_count,
            ..state
        }
    }

    fn give_back(&self, state: State, receipt: &Receipt, units: u64, _now: u64) -> (State, u64) {
        if receipt.mark != Some(Mark::WindowEnd(state.end_us)) {
            return (state, 0);
        }
        let after = self.give(state, units);
        (after, state.count + state.debt - after.count - after.debt)
    }

    /// Until the window ends.
    fn reset_us(&self, state: &State, now: u64) -> Option<u64> {
        Some(state.end_us - now)
    }
}
