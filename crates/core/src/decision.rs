//! What is asked and what is answered. A denial is a value, not an error.

use crate::{Micros, Span};

/// Units asked for.
///
/// A number that no limit could ever hold keeps its meaning ("impossible") when it saturates.
///
/// ```
/// use jeton_core::Cost;
/// assert_eq!(Cost::new(3).get(), 3);
/// assert_eq!(Cost::new(u64::MAX), Cost::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u32);

impl Cost {
    /// A look: allowed unless in debt, charges nothing.
    pub const ZERO: Self = Self(0);
    /// The default.
    pub const ONE: Self = Self(1);
    /// Above every limit there is.
    pub const MAX: Self = Self(u32::MAX);

    /// `units`, saturating at [`Cost::MAX`].
    #[allow(clippy::cast_possible_truncation)] // guarded by the comparison
    pub const fn new(units: u64) -> Self {
        if units > u32::MAX as u64 {
            Self::MAX
        } else {
            Self(units as u32)
        }
    }

    /// The units.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl Default for Cost {
    fn default() -> Self {
        Self::ONE
    }
}

/// What names one charge, so that exactly it can be lowered, raised or given back later.
///
/// `mark` and `part` say where the charge stands: a bucket's instant (and n-ths) at which its last
/// unit comes back, the end of a fixed window, the start of a counter's window, a log's raw stamp, a
/// holder's id in `part` with the raw end of its first lease, the end that a ticket first had. A
/// holder keeps its id when it is renewed, so that its receipt stays good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// Units charged.
    pub cost: u32,
    /// N-ths of a microsecond past `mark` (buckets), or which holder it is (concurrency).
    pub part: u32,
    /// When it was charged.
    pub at: Micros,
    /// Where the charge stands in its state.
    pub mark: Micros,
}

/// What to do with one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Charge `cost` if it fits. What must be given back is not taken: concurrency and tickets are
    /// held.
    Take {
        /// Units asked for; 0 looks.
        cost: Cost,
    },
    /// Charge `cost` if it fits, to be settled later; held units count as used.
    Hold {
        /// Units held.
        cost: Cost,
    },
    /// Answer as [`Act::Take`] would, show the present state, write nothing.
    Peek {
        /// Units asked about.
        cost: Cost,
    },
    /// Turn a charge into what it has really cost: less is given back as far as it still counts,
    /// more is charged now and may go into debt. A holder's units are only ever given back. A
    /// ticket is settled once, and says so from then on.
    Settle {
        /// The charge.
        receipt: Receipt,
        /// What it has cost.
        actual: Cost,
        /// The most debt there may be afterwards, and never more than one limit:
        /// [`Cost::MAX`] stands for that. What is above it is not charged.
        max_debt: Cost,
    },
    /// Keep a holder ([`Quota::Concurrency`](crate::Quota::Concurrency)) for another lease, or an
    /// open ticket for as long again. Other charges keep themselves: nothing is written.
    Renew {
        /// The charge.
        receipt: Receipt,
    },
    /// Give units back without a receipt: debt first, then the newest.
    Give {
        /// Units to give back.
        units: Cost,
    },
    /// Forget the state.
    Reset,
}

impl Act {
    /// Whether it only looks, and so never writes.
    #[inline]
    pub const fn is_look(&self) -> bool {
        match self {
            Self::Peek { .. } => true,
            Self::Take { cost } | Self::Hold { cost } => cost.get() == 0,
            _ => false,
        }
    }
}

/// How an act ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// It fits, and was charged unless it was a look or another rule of the plan denied.
    Allowed,
    /// It does not fit now.
    Denied {
        /// The shortest wait after which the same cost fits, if nobody else charges meanwhile.
        retry_after: Span,
    },
    /// It can never fit: the cost is above the limit.
    Impossible,
    /// A settle, renewal, refund or reset was carried out.
    Settled {
        /// Settle: units now charged in all. Renewal: units still held. Give: units really given
        /// back. Else 0.
        actual: u32,
    },
    /// The ticket was settled before; nothing was done again.
    Repeated {
        /// At what it was settled first.
        actual: u32,
    },
    /// There is no such ticket or holder: it was never given, or is over.
    Unknown,
}

impl Fit {
    /// Whether the act is carried out when all others of its plan pass.
    #[inline]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Allowed | Self::Settled { .. })
    }

    /// The wait of a denial.
    #[inline]
    pub const fn retry_after(self) -> Option<Span> {
        match self {
            Self::Denied { retry_after } => Some(retry_after),
            _ => None,
        }
    }
}

/// The answer for one charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// How it ended.
    pub fit: Fit,
    /// Limit or burst.
    pub limit: u32,
    /// The largest cost that would fit now: after the charge, or of the present state on a look
    /// and on a denial.
    pub remaining: u32,
    /// Until the state starts over: a window ends, the oldest log entry leaves, the weighted count
    /// falls by one, a bucket is full. Zero when nothing is used.
    pub reset_after: Span,
    /// Until `remaining` grows. Zero when nothing is used.
    pub next_after: Span,
    /// The instant of the decision.
    pub at: Micros,
    /// The charge, for a later settle; its cost is 0 if nothing was charged.
    pub receipt: Receipt,
    /// The store was full and this answer comes from an estimate shared by many keys. It errs
    /// towards denying, and `remaining` means nothing.
    pub approximate: bool,
}
