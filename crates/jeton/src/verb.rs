//! What can be asked of the gate about charges that a caller names.

use jeton_core::{Act, Cost};

/// What to do with each of the charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Charge all of them, or none.
    Take,
    /// Answer as [`Verb::Take`] would, and change nothing.
    Check,
    /// Give units back: a count not below 0, a bucket not above full.
    Refund,
    /// Forget their states.
    Reset,
}

impl Verb {
    pub(crate) const fn act(self, cost: Cost) -> Act {
        match self {
            Self::Take => Act::Take { cost },
            Self::Check => Act::Peek { cost },
            Self::Refund => Act::Give { units: cost },
            Self::Reset => Act::Reset,
        }
    }

    /// Whether an answer belongs into the meters: looking and correcting are no requests.
    pub(crate) const fn is_metered(self) -> bool {
        matches!(self, Self::Take)
    }
}

/// One charge that a caller names.
#[derive(Clone, Copy, Debug)]
pub struct NamedCharge<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// The key, one text per part, normalised as a door would.
    pub key: &'a [&'a str],
    /// Units.
    pub cost: Cost,
}
