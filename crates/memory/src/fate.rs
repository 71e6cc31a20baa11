//! How one op of a plan is going to be decided, settled before anything is decided: on its own
//! state, or, where there is no room for one, as the overflow rule says.

use jeton_core::{Act, Cell, Cost, Decision, Fit, Kind, Micros, Op, Quota, Receipt, Span};

use crate::Place;
use crate::overflow::shared_quota;

/// The wait that is stated where no true one is known.
pub(crate) const UNKNOWN_WAIT: Span = Span::SECOND;

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
    /// No room for a block, which must not be lost: the plan fails.
    Refused,
}

impl Fate {
    /// The quota under which the stand-in for an op under `quota` is decided.
    ///
    /// What has no state is put as a question to a block: set, it denies for as long as it lasts;
    /// absent, it passes.
    #[inline]
    pub(crate) fn quota(&self, quota: &Quota) -> Quota {
        match self {
            Self::Own => *quota,
            Self::Shared(_) => shared_quota(quota).unwrap_or(Quota::Block),
            _ => Quota::Block,
        }
    }

    /// What the stand-in for an op asks.
    #[inline]
    pub(crate) fn act(&self, act: Act) -> Act {
        match self {
            Self::Dropped => Act::Give { units: Cost::ZERO },
            _ => act,
        }
    }

    /// The state of the block that stands in.
    pub(crate) fn block(&self, now: Micros) -> Option<Cell> {
        let Self::Denied(wait) = self else {
            return None;
        };
        let set = Act::Block {
            until: now.saturating_add(*wait),
        };
        let outcome = Quota::Block.decide(jeton_core::View::ABSENT, &set, now);
        match outcome.edit {
            jeton_core::Edit::Put { cell, .. } => Some(cell),
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
            Self::Own | Self::Refused => return,
            Self::Shared(place) => {
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

/// How many more entries a log may need for `act` under `quota`.
#[inline]
pub(crate) fn entries_needed(quota: &Quota, act: &Act) -> usize {
    if quota.kind() != Kind::Log {
        return 0;
    }
    match *act {
        // A look must answer as the take would, so it asks for the same.
        Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost } => {
            usize::from(cost != Cost::ZERO)
        }
        Act::Settle {
            receipt: Receipt { cost, .. },
            actual,
        } if actual.get() > cost => 2,
        _ => 0,
    }
}

/// Whether `act` writes a state where there is none.
#[inline]
pub(crate) fn opens(quota: &Quota, act: &Act, now: Micros) -> bool {
    match *act {
        Act::Take { cost } | Act::Hold { cost } => {
            cost != Cost::ZERO && cost.get() <= quota.limit() && quota.kind() != Kind::Block
        }
        Act::Settle { receipt, actual } => {
            actual.get() > receipt.cost && quota.kind() != Kind::Block
        }
        Act::Block { until } => quota.kind() == Kind::Block && until > now,
        _ => false,
    }
}
