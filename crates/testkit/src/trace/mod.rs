//! Awkward traffic, replayable from a seed, and the comparison that is run on it.

mod compare;
mod difference;
mod pair;
mod quotas;
mod subject;
mod traffic;

pub use compare::{Figures, compare};
pub use difference::{Difference, replay};
pub use quotas::{Family, admissible};
pub use subject::{Memory, Subject, Told};
pub use traffic::Traffic;

use crate::model::{Act, ModelQuota, Receipt};

/// What is asked in one event; settles name the event whose charge they settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Charge if it fits.
    Take {
        /// Units asked for.
        cost: u64,
    },
    /// Look only.
    Peek {
        /// Units asked for.
        cost: u64,
    },
    /// Charge, to be settled later.
    Hold {
        /// Units asked for.
        cost: u64,
    },
    /// Refund without a receipt.
    Give {
        /// Units given back.
        units: u64,
    },
    /// Replace what the event with the number `of` charged.
    Settle {
        /// The number of a take or hold.
        of: usize,
        /// Units really used.
        actual: u64,
        /// The most debt there may be afterwards.
        max_debt: u64,
    },
    /// Keep what the event with the number `of` holds.
    Renew {
        /// The number of a take or hold.
        of: usize,
    },
    /// Forget the key.
    Reset,
}

impl Ask {
    /// The number of the event whose charge it is about.
    pub(crate) fn of(&self) -> Option<usize> {
        match *self {
            Self::Settle { of, .. } | Self::Renew { of } => Some(of),
            _ => None,
        }
    }

    /// The act, with the receipt that the event it is about was given.
    pub(crate) fn act(&self, receipt_of: impl Fn(usize) -> Receipt) -> Act {
        match *self {
            Self::Take { cost } => Act::Take { cost },
            Self::Peek { cost } => Act::Peek { cost },
            Self::Hold { cost } => Act::Hold { cost },
            Self::Give { units } => Act::Give { units },
            Self::Settle {
                of,
                actual,
                max_debt,
            } => Act::Settle {
                receipt: receipt_of(of),
                actual,
                max_debt,
            },
            Self::Renew { of } => Act::Renew {
                receipt: receipt_of(of),
            },
            Self::Reset => Act::Reset,
        }
    }
}

/// One event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number in the whole trace; it stays when a trace is cut down.
    pub number: usize,
    /// What the clock says.
    pub now_us: u64,
    /// The quota in force.
    pub quota: ModelQuota,
    /// What is asked.
    pub ask: Ask,
}
