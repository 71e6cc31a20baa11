//! What can be asked of the gate about charges that a caller names.

use jeton_core::{Act, Cost};

use crate::opaque::GivenReceipt;

/// What to do with each of the charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verb {
    /// Charge all of them, or none.
    Take,
    /// Answer as [`Verb::Take`] would, and change nothing.
    Check,
    /// Give units back: exactly those of a receipt as far as they still count; without one, a
    /// count not below 0, a bucket not above full.
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

    /// Whether it changes what has been charged.
    pub(crate) const fn corrects(self) -> bool {
        matches!(self, Self::Refund | Self::Reset)
    }
}

/// One charge that a caller names.
///
/// ```
/// use jeton::{Cost, NamedCharge};
/// let charge = NamedCharge::new("api", &["alice"]).cost(Cost::new(3)).plan("pro");
/// assert_eq!(charge.rule, "api");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NamedCharge<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// The key, one text per part, normalised as a door would.
    pub key: &'a [&'a str],
    /// Units; without them, what the rule says that a request costs. For a refund with a receipt,
    /// all that it was for.
    pub cost: Option<Cost>,
    /// The plan that is in force for this key.
    pub plan: Option<&'a str>,
    /// The charge to give back ([`Verb::Refund`] only).
    pub receipt: Option<GivenReceipt>,
}

impl<'a> NamedCharge<'a> {
    /// What a request costs, for `key` in the rule of this name.
    pub const fn new(rule: &'a str, key: &'a [&'a str]) -> Self {
        Self {
            rule,
            key,
            cost: None,
            plan: None,
            receipt: None,
        }
    }

    /// So many units instead.
    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost = Some(cost);
        self
    }

    /// Under this plan of the rule.
    #[must_use]
    pub const fn plan(mut self, plan: &'a str) -> Self {
        self.plan = Some(plan);
        self
    }

    /// Exactly the charge that this receipt names.
    #[must_use]
    pub const fn receipt(mut self, receipt: GivenReceipt) -> Self {
        self.receipt = Some(receipt);
        self
    }
}
