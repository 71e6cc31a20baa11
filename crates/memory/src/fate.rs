//! How one op of a plan is going to be decided, settled before anything is decided: on its own
//! state, or, where there is no room for one, as the overflow rule says.

use jeton_core::{
    Act, Anchor, Cell, Cost, Decision, Fit, Kind, Micros, OnDeny, Op, Quota, Receipt, RuleId, Span,
};

use crate::Place;
use crate::overflow::shared_quota;

/// The wait that is stated where no true one is known.
pub(crate) const UNKNOWN_WAIT: Span = Span::SECOND;

/// What has no state is asked of a window of one unit: used up, it denies until its end; absent, it
/// lets everything pass.
#[allow(clippy::panic)] // while compiling
const STAND_IN: Quota = match Quota::fixed_window(1, Span::LONGEST, Anchor::FirstRequest) {
    Ok(quota) => quota,
    Err(_) => panic!("one unit in the longest span is a quota"),
};

/// Where the answer to an op comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// Its own state, which is there, or need not be, or has been claimed.
    Own,
    /// A cell that it shares, under that cell's quota.
    Shared(Place),
    /// No room: denied.
    Denied(Span),
    /// No room: passes uncounted.
    Uncounted,
    /// No room to settle: stays as it was charged.
    Dropped,
}

impl Fate {
    /// The quota under which the stand-in for an op under `quota` is decided.
    #[inline]
    pub(crate) fn quota(&self, quota: &Quota) -> Quota {
        match self {
            Self::Own => *quota,
            Self::Shared(_) => shared_quota(quota).unwrap_or(STAND_IN),
            _ => STAND_IN,
        }
    }

    /// The op that is decided in the place of `op`, under the stand-in's quota. It is numbered, so
    /// that no two of a plan are on one state.
    #[inline]
    pub(crate) fn stand_in<'a>(&self, op: &Op<'a>, quota: &'a Quota, number: u64) -> Op<'a> {
        let (act, on_deny) = match self {
            // Nothing is given back to others: only asked.
            Self::Shared(_)
                if !matches!(
                    op.act,
                    Act::Take { .. } | Act::Hold { .. } | Act::Peek { .. }
                ) =>
            {
                (Act::Peek { cost: Cost::ZERO }, OnDeny::Keep)
            }
            Self::Own | Self::Shared(_) => (op.act, op.on_deny),
            Self::Denied(_) | Self::Uncounted => (Act::Peek { cost: Cost::ONE }, OnDeny::Keep),
            Self::Dropped => (Act::Give { units: Cost::ZERO }, OnDeny::Keep),
        };
        Op {
            rule: RuleId::new(number),
            quota,
            act,
            on_deny,
            ..*op
        }
    }

    /// The state of the window that stands in.
    pub(crate) fn window(&self, now: Micros) -> Option<Cell> {
        match self {
            Self::Denied(wait) => Some(Cell {
                at: now.saturating_add(*wait),
                words: [1, 0, 0],
            }),
            _ => None,
        }
    }

    /// Turns the stand-in's answer into one for `op`.
    pub(crate) fn translate(&self, op: &Op<'_>, decision: &mut Decision) {
        let limit = op.quota.limit();
        let charged = match op.act {
            Act::Take { cost } | Act::Hold { cost } if decision.fit == Fit::Allowed => cost.get(),
            _ => 0,
        };
        match self {
            Self::Own => return,
            Self::Shared(place) => {
                if let Act::Give { .. } = op.act {
                    decision.fit = Fit::Settled { actual: 0 };
                }
                decision.remaining = decision.remaining.min(limit);
                if place.kind != op.quota.kind() || matches!(op.quota.kind(), Kind::Counter) {
                    decision.receipt.mark = Micros::ZERO;
                }
            }
            Self::Denied(_) => decision.remaining = 0,
            Self::Uncounted => decision.remaining = limit.saturating_sub(charged),
            Self::Dropped => {
                decision.remaining = 0;
                if let Act::Settle { receipt, .. } = op.act {
                    decision.fit = Fit::Settled {
                        actual: receipt.cost,
                    };
                }
            }
        }
        decision.limit = limit;
        decision.approximate = true;
    }
}

/// How many more entries `act` may need under `quota`.
#[inline]
pub(crate) fn entries_needed(quota: &Quota, act: &Act) -> usize {
    let kind = quota.kind();
    if !kind.has_tail() {
        return 0;
    }
    match *act {
        // A look must answer as the charge would, so it asks for the same.
        Act::Hold { cost } | Act::Peek { cost } => usize::from(cost != Cost::ZERO),
        Act::Take { cost } => usize::from(cost != Cost::ZERO && kind == Kind::Log),
        Act::Settle {
            receipt: Receipt { cost, .. },
            actual,
            ..
        } if actual.get() > cost && kind == Kind::Log => 2,
        _ => 0,
    }
}

/// Whether `act` writes a state where there is none.
#[inline]
pub(crate) fn opens(quota: &Quota, act: &Act) -> bool {
    match *act {
        Act::Take { cost } => {
            cost != Cost::ZERO && cost.get() <= quota.limit() && !quota.kind().is_held()
        }
        Act::Hold { cost } if quota.kind() == Kind::Ticket => cost != Cost::ZERO,
        Act::Hold { cost } => cost != Cost::ZERO && cost.get() <= quota.limit(),
        Act::Settle {
            receipt, actual, ..
        } => actual.get() > receipt.cost && !quota.kind().is_held(),
        _ => false,
    }
}
