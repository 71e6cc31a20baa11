//! What every algorithm supplies, and the one place that turns an act into an answer.
//!
//! An algorithm is a pure function of state, act and now. It is written as a few small questions
//! ([`Algorithm`]); the rules that hold for all of them stand once, in [`decide`]: a cost above
//! the limit is impossible, a cost of 0 looks, a denial writes nothing but the clock law, a look
//! writes nothing at all.

mod bucket;
mod concurrency;
mod fixed_window;
pub(crate) mod quick;
mod sliding_counter;
mod sliding_log;
mod ticket;

use crate::{Act, Cost, Decision, Edit, Fit, Micros, Outcome, Quota, Receipt, Span, View};

/// When things change, and where a charge made now would stand.
#[derive(Clone, Copy)]
struct Levels {
    reset_after: Span,
    next_after: Span,
    mark: Micros,
    part: u32,
}

/// One algorithm over its own state, brought up to `now` by [`Algorithm::load`].
trait Algorithm {
    /// The state at one instant, with the edit that it has gathered.
    type State<'a>;

    /// Limit or burst.
    fn limit(&self) -> u32;
    /// The state as it stands at `now`.
    fn load<'a>(&self, view: View<'a>, now: Micros) -> Self::State<'a>;
    /// Whether the clock went back behind the state, so that even a denial writes it.
    fn rewound(state: &Self::State<'_>) -> bool;
    /// The largest cost that fits; none in debt.
    fn room(&self, state: &Self::State<'_>) -> Option<u32>;
    /// The shortest wait until `cost` fits. Asked only when it does not, and never above the limit.
    fn wait_for(&self, state: &Self::State<'_>, cost: u32) -> Span;
    /// Charges what fits.
    fn charge(&self, state: &mut Self::State<'_>, cost: u32);
    /// Gives back without a receipt; how many units it was.
    fn give(&self, state: &mut Self::State<'_>, units: u32) -> u32;
    /// Gives back up to `units` of one charge as far as it still counts; how many it was.
    fn lower(&self, state: &mut Self::State<'_>, receipt: &Receipt, units: u32) -> u32;
    /// Charges now, into debt if need be, as long as there is no more than `most_debt` of it; how
    /// many units it was.
    fn raise(&self, state: &mut Self::State<'_>, units: u32, most_debt: u32) -> u32;
    /// When things change.
    fn levels(&self, state: &Self::State<'_>) -> Levels;
    /// The write that makes the stored state this one.
    fn edit(&self, state: &Self::State<'_>) -> Edit;
}

/// What of `units` charged now fits into the room that is left, and what of the rest becomes debt,
/// of which there is `debt` already.
const fn room_and_debt(units: u32, room: Option<u32>, debt: u32, most_debt: u32) -> (u32, u32) {
    let room = match room {
        Some(room) if room < units => room,
        Some(_) => units,
        None => 0,
    };
    let most = most_debt.saturating_sub(debt);
    let rest = units - room;
    (room, if rest < most { rest } else { most })
}

impl Quota {
    /// Decides one act on one state at `now`. Pure: the caller carries out [`Outcome::edit`].
    ///
    /// ```
    /// use jeton_core::{Act, Cost, Fit, Micros, Quota, Rate, Span, View};
    /// let quota = Quota::bucket(Rate::new(1, Span::SECOND)?, 1)?;
    /// let outcome = quota.decide(View::ABSENT, &Act::Take { cost: Cost::ONE }, Micros::new(0));
    /// assert_eq!(outcome.decision.fit, Fit::Allowed);
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    #[inline]
    pub fn decide(&self, view: View<'_>, act: &Act, now: Micros) -> Outcome {
        match self {
            Self::Bucket(a) => decide(a, view, act, now),
            Self::FixedWindow(a) => decide(a, view, act, now),
            Self::SlidingCounter(a) => decide(a, view, act, now),
            Self::SlidingLog(a) => decide(a, view, act, now),
            Self::Concurrency(a) => concurrency::decide(*a, view, act, now),
            Self::Ticket(a) => ticket::decide(*a, view, act, now),
        }
    }

    /// The write that the clock law demands of a plan that charges nothing: the state re-anchored
    /// if the clock went back behind it.
    pub fn reanchor(&self, view: View<'_>, now: Micros) -> Edit {
        match self {
            Self::Bucket(a) => reanchor(a, view, now),
            Self::FixedWindow(a) => reanchor(a, view, now),
            Self::SlidingCounter(a) => reanchor(a, view, now),
            Self::SlidingLog(a) => reanchor(a, view, now),
            Self::Concurrency(_) => concurrency::reanchor(view, now),
            Self::Ticket(_) => Edit::Keep,
        }
    }
}

fn reanchor<A: Algorithm>(algorithm: &A, view: View<'_>, now: Micros) -> Edit {
    let state = algorithm.load(view, now);
    if A::rewound(&state) {
        algorithm.edit(&state)
    } else {
        Edit::Keep
    }
}

#[inline]
fn decide<A: Algorithm>(algorithm: &A, view: View<'_>, act: &Act, now: Micros) -> Outcome {
    let mut state = algorithm.load(view, now);
    match *act {
        Act::Take { cost } | Act::Hold { cost } => take(algorithm, &mut state, cost, now),
        _ => other(algorithm, &mut state, act, now),
    }
}

/// What is rarer than a charge; apart, so that charging stays short.
fn other<A: Algorithm>(algorithm: &A, state: &mut A::State<'_>, act: &Act, now: Micros) -> Outcome {
    match *act {
        Act::Take { cost } | Act::Hold { cost } => take(algorithm, state, cost, now),
        Act::Peek { cost } => kept(algorithm, state, fit(algorithm, state, cost.get()), now),
        Act::Settle {
            receipt,
            actual,
            max_debt,
        } => {
            let most_debt = max_debt.get().min(algorithm.limit());
            let actual = settle(algorithm, state, &receipt, actual.get(), most_debt);
            written(algorithm, state, actual, now)
        }
        Act::Renew { receipt } => {
            let actual = receipt.cost;
            kept(algorithm, state, Fit::Settled { actual }, now)
        }
        Act::Give { units } => {
            let given = algorithm.give(state, units.get());
            written(algorithm, state, given, now)
        }
        Act::Reset => {
            let absent = algorithm.load(View::ABSENT, now);
            Outcome {
                edit: Edit::Erase,
                ..kept(algorithm, &absent, Fit::Settled { actual: 0 }, now)
            }
        }
    }
}

#[inline]
fn take<A: Algorithm>(a: &A, state: &mut A::State<'_>, cost: Cost, now: Micros) -> Outcome {
    let fit = fit(a, state, cost.get());
    let edit = match fit {
        Fit::Allowed if cost != Cost::ZERO => {
            a.charge(state, cost.get());
            let decision = answer(a, state, fit, cost.get(), now);
            return Outcome {
                decision,
                edit: a.edit(state),
            };
        }
        Fit::Denied { .. } if cost != Cost::ZERO && A::rewound(state) => a.edit(state),
        _ => Edit::Keep,
    };
    Outcome {
        decision: answer(a, state, fit, 0, now),
        edit,
    }
}

#[inline]
fn fit<A: Algorithm>(algorithm: &A, state: &A::State<'_>, cost: u32) -> Fit {
    if cost > algorithm.limit() {
        return Fit::Impossible;
    }
    match algorithm.room(state) {
        Some(room) if cost <= room => Fit::Allowed,
        _ => Fit::Denied {
            retry_after: algorithm.wait_for(state, cost),
        },
    }
}

fn settle<A: Algorithm>(
    a: &A,
    state: &mut A::State<'_>,
    receipt: &Receipt,
    actual: u32,
    most_debt: u32,
) -> u32 {
    match receipt.cost.checked_sub(actual) {
        Some(0) => actual,
        Some(less) => receipt.cost - a.lower(state, receipt, less),
        None => receipt.cost + a.raise(state, actual - receipt.cost, most_debt),
    }
}

fn kept<A: Algorithm>(a: &A, state: &A::State<'_>, fit: Fit, now: Micros) -> Outcome {
    Outcome {
        decision: answer(a, state, fit, 0, now),
        edit: Edit::Keep,
    }
}

fn written<A: Algorithm>(a: &A, state: &A::State<'_>, actual: u32, now: Micros) -> Outcome {
    Outcome {
        decision: answer(a, state, Fit::Settled { actual }, 0, now),
        edit: a.edit(state),
    }
}

#[inline]
fn answer<A: Algorithm>(
    a: &A,
    state: &A::State<'_>,
    fit: Fit,
    charged: u32,
    now: Micros,
) -> Decision {
    let Levels {
        reset_after,
        next_after,
        mark,
        part,
    } = a.levels(state);
    Decision {
        fit,
        limit: a.limit(),
        remaining: a.room(state).unwrap_or(0),
        reset_after,
        next_after,
        at: now,
        receipt: Receipt {
            cost: charged,
            part,
            at: now,
            mark,
        },
        approximate: false,
    }
}
