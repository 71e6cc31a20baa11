//! What all algorithms have in common: how an answer is found once an algorithm has said what its
//! state is at an instant and how much of the limit that state uses.

use super::{Act, Answer, LAST_TOLD_US, Mark, Receipt, Verdict};
use crate::exact::{Ratio, earliest, largest};

/// A state after the clock law, and whether that law changed it.
pub(super) struct Anchored<S> {
    pub(super) state: S,
    /// The clock went back behind the state: to be written even when the answer is a denial.
    pub(super) moved: bool,
}

/// One algorithm under one quota.
pub(super) trait Law {
    type State: Clone;

    fn limit(&self) -> u64;

    /// The state as this quota and a clock at `now` read it, before any elapsed time counts.
    fn anchor(&self, state: Self::State, now: u64) -> Anchored<Self::State>;

    /// What time has made of an anchored state; `None` when nothing of it is left.
    fn advance(&self, state: Self::State, now: u64) -> Option<Self::State>;

    /// How much of the limit is in use, exactly.
    fn used(&self, state: &Self::State, now: u64) -> Ratio;

    /// The part of the used units that is above what fits.
    fn debt(&self, state: &Self::State) -> u64;

    /// Adds units that fit, and names where they went.
    fn charge(&self, state: Option<Self::State>, units: u64, now: u64) -> (Self::State, Mark);

    /// Adds units that do not fit.
    fn defer(&self, state: Option<Self::State>, units: u64, now: u64) -> Self::State;

    /// Gives back up to `units` of whatever is in use.
    fn give(&self, state: Self::State, units: u64) -> Self::State;

    /// The state without what has left by `now`. A take, a refund or an excess drops it for good;
    /// until then, a quota with a longer window brings it back.
    fn tidied(&self, state: Self::State, _now: u64) -> Self::State {
        state
    }

    /// What being written at `now` leaves in the state.
    fn seen(&self, state: Self::State, _now: u64) -> Self::State {
        state
    }

    /// Gives back up to `units` of what the receipt stands for, and says how many.
    fn give_back(
        &self,
        state: Self::State,
        receipt: &Receipt,
        units: u64,
        now: u64,
    ) -> (Self::State, u64);

    /// Time to the algorithm's reset instant, for a state with something in use; `None` when it
    /// lies beyond all time.
    fn reset_us(&self, state: &Self::State, now: u64) -> Option<u64>;

    /// Time until something comes back, for a state with something in use.
    fn next_us(&self, state: &Self::State, now: u64) -> Option<u64> {
        self.reset_us(state, now)
    }
}

/// The state as it is at `now`; `None` when nothing of it is left.
fn read<L: Law>(law: &L, state: Option<&L::State>, now: u64) -> Option<L::State> {
    law.advance(law.anchor(state?.clone(), now).state, now)
}

/// Whether `cost` more units fit at `now`. A cost of 0 fits unless more than the limit is used.
pub(super) fn fits<L: Law>(law: &L, state: Option<&L::State>, cost: u64, now: u64) -> bool {
    let used = read(law, state, now).map_or(Ratio::from(0), |present| law.used(&present, now));
    used + Ratio::from(cost) <= Ratio::from(law.limit())
}

pub(super) fn act<L: Law>(law: &L, slot: &mut Option<L::State>, act: &Act, now: u64) -> Answer {
    let mut receipt = None;
    let verdict = match *act {
        Act::Take { cost } | Act::Hold { cost } => {
            let verdict = judge(law, slot.as_ref(), cost, now);
            match verdict {
                Verdict::Allowed => receipt = Some(take(law, slot, cost, now)),
                Verdict::Denied { .. } if cost > 0 => write_clock_law(law, slot, now),
                _ => {}
            }
            verdict
        }
        Act::Peek { cost } => judge(law, slot.as_ref(), cost, now),
        Act::Give { units } => {
            let present = read(law, slot.as_ref(), now).map(|state| law.give(state, units));
            write(law, slot, present, now);
            Verdict::Done
        }
        Act::Settle {
            receipt,
            actual,
            max_debt,
        } => {
            write_clock_law(law, slot, now);
            let most_debt = max_debt.min(law.limit());
            Verdict::Settled {
                actual: settle(law, slot, &receipt, actual, most_debt, now),
            }
        }
        Act::Notice => {
            write_clock_law(law, slot, now);
            Verdict::Done
        }
        Act::Renew { receipt } => Verdict::Settled {
            actual: receipt.cost,
        },
        Act::Reset => {
            *slot = None;
            Verdict::Done
        }
    };
    Answer {
        receipt,
        ..present(law, slot.as_ref(), verdict, now)
    }
}

fn judge<L: Law>(law: &L, state: Option<&L::State>, cost: u64, now: u64) -> Verdict {
    if cost > law.limit() {
        return Verdict::Impossible;
    }
    if fits(law, state, cost, now) {
        return Verdict::Allowed;
    }
    // The state that waits is the re-anchored one: a denied take writes it, a peek only thinks it.
    let waiting = state.map(|state| law.anchor(state.clone(), now).state);
    let retry = earliest(|wait| fits(law, waiting.as_ref(), cost, now + wait));
    Verdict::Denied {
        retry_us: told(retry, now),
    }
}

/// A wait as it is told: none ends later than the last instant there is.
fn told(wait: Option<u64>, now: u64) -> u64 {
    let longest = LAST_TOLD_US - now;
    wait.map_or(longest, |wait| wait.min(longest))
}

fn take<L: Law>(law: &L, slot: &mut Option<L::State>, cost: u64, now: u64) -> Receipt {
    if cost == 0 {
        return Receipt {
            cost,
            at_us: now,
            mark: None,
        };
    }
    let (state, mark) = law.charge(read(law, slot.as_ref(), now), cost, now);
    write(law, slot, Some(state), now);
    Receipt {
        cost,
        at_us: now,
        mark: Some(mark),
    }
}

fn write_clock_law<L: Law>(law: &L, slot: &mut Option<L::State>, now: u64) {
    if let Some(state) = slot.take() {
        let anchored = law.anchor(state.clone(), now);
        *slot = Some(if anchored.moved {
            anchored.state
        } else {
            state
        });
    }
}

/// Settles and returns what has really been charged for the receipt. Like every act that is not a
/// look or a denial, it writes the state as it is now, even where it finds nothing to change.
fn settle<L: Law>(
    law: &L,
    slot: &mut Option<L::State>,
    receipt: &Receipt,
    actual: u64,
    most_debt: u64,
    now: u64,
) -> u64 {
    let mut present = read(law, slot.as_ref(), now);
    if actual <= receipt.cost {
        let mut given = 0;
        let lowered = present.map(|state| {
            let (state, units) = law.give_back(state, receipt, receipt.cost - actual, now);
            given = units;
            state
        });
        *slot = lowered.map(|state| law.seen(state, now));
        return receipt.cost - given;
    }
    let excess = actual - receipt.cost;
    let used = present
        .as_ref()
        .map_or(0, |state| law.used(state, now).ceil());
    let room = u64::try_from(i128::from(law.limit()) - used).unwrap_or(0);
    let at_once = excess.min(room);
    if at_once > 0 {
        present = Some(law.charge(present, at_once, now).0);
    }
    let owed = present.as_ref().map_or(0, |state| law.debt(state));
    let later = (excess - at_once).min(most_debt.saturating_sub(owed));
    if later > 0 {
        present = Some(law.defer(present, later, now));
    }
    write(law, slot, present, now);
    receipt.cost + at_once + later
}

fn write<L: Law>(law: &L, slot: &mut Option<L::State>, state: Option<L::State>, now: u64) {
    *slot = state.map(|state| law.seen(law.tidied(state, now), now));
}

/// The answer that describes the state as it is after the act.
fn present<L: Law>(law: &L, state: Option<&L::State>, verdict: Verdict, now: u64) -> Answer {
    let present = read(law, state, now);
    let limit = law.limit();
    let remaining = largest(limit, |units| fits(law, present.as_ref(), units, now));
    let in_use = present.filter(|state| law.used(state, now) > Ratio::from(0));
    Answer {
        verdict,
        limit,
        remaining: remaining.unwrap_or(0),
        reset_us: in_use
            .as_ref()
            .map_or(0, |state| told(law.reset_us(state, now), now)),
        next_us: in_use
            .as_ref()
            .map_or(0, |state| told(law.next_us(state, now), now)),
        receipt: None,
    }
}

pub(super) fn fresh_at_us<L: Law>(law: &L, slot: Option<L::State>, now: u64) -> Option<u64> {
    let state = law.anchor(slot?, now).state;
    if law.advance(state.clone(), now).is_none() {
        return Some(now);
    }
    let wait = earliest(|wait| law.advance(state.clone(), now + wait).is_none());
    Some(now + told(wait, now))
}
