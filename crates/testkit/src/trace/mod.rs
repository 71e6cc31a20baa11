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

use crate::model::ModelQuota;

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
    },
    /// Forget the key.
    Reset,
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
