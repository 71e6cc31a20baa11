//! What a rule allows, in the terms it was written in.

use jeton_core::{Anchor, Quota, QuotaError, Span};

use crate::units::Pace;

/// What a rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// Everything, as far as this rule goes: `limit = "unlimited"`. Other rules still apply, unless
    /// this one replaces them.
    Unlimited,
    /// Nothing, whatever other rules say: `limit = "deny"`.
    Deny,
    /// As much as a quota does.
    Quota(Terms),
}

/// A quota in the terms it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// `fixed-window`.
    FixedWindow {
        /// Units in each window.
        limit: u64,
        /// Its length.
        window: Span,
        /// Where windows begin.
        anchor: Anchor,
    },
    /// `sliding-log`.
    SlidingLog {
        /// Units in every window.
        limit: u64,
        /// Its length.
        window: Span,
    },
    /// `sliding-counter`.
    SlidingCounter {
        /// Units by the weighted count of two windows.
        limit: u64,
        /// The length of one.
        window: Span,
    },
    /// `token-bucket` and `gcra`: the same decisions.
    Bucket {
        /// What comes back, as it was written.
        pace: Pace,
        /// Units in all from a full state.
        burst: u64,
    },
    /// `concurrency`.
    Concurrency {
        /// Units in flight at once.
        limit: u64,
        /// How long a holder keeps its units unless it renews them.
        lease: Span,
    },
}

impl Terms {
    /// The quota as the engine holds it.
    ///
    /// # Errors
    /// [`QuotaError`] if it cannot be held exactly, with the nearest that can.
    pub fn quota(&self) -> Result<Quota, QuotaError> {
        match *self {
            Self::FixedWindow {
                limit,
                window,
                anchor,
            } => Quota::fixed_window(limit, window, anchor),
            Self::SlidingLog { limit, window } => Quota::sliding_log(limit, window),
            Self::SlidingCounter { limit, window } => Quota::sliding_counter(limit, window),
            Self::Bucket { pace, burst } => Quota::bucket(pace.rate()?, burst),
            Self::Concurrency { limit, lease } => Quota::concurrency(limit, lease),
        }
    }

    /// The most units that can ever be allowed at once: limit or burst.
    pub const fn most(&self) -> u64 {
        match *self {
            Self::FixedWindow { limit, .. }
            | Self::SlidingLog { limit, .. }
            | Self::SlidingCounter { limit, .. }
            | Self::Concurrency { limit, .. } => limit,
            Self::Bucket { burst, .. } => burst,
        }
    }

    /// The same terms with so many times as much of everything.
    ///
    /// `None` if that leaves the numbers a quota can have.
    #[must_use]
    pub fn times(&self, factor: u64) -> Option<Self> {
        let mut terms = *self;
        match &mut terms {
            Self::FixedWindow { limit, .. }
            | Self::SlidingLog { limit, .. }
            | Self::SlidingCounter { limit, .. }
            | Self::Concurrency { limit, .. } => *limit = limit.checked_mul(factor)?,
            Self::Bucket { pace, burst } => {
                pace.units = pace.units.checked_mul(factor)?;
                *burst = burst.checked_mul(factor)?;
            }
        }
        terms.quota().is_ok().then_some(terms)
    }
}
