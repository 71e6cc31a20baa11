//! What is to happen with a request.

use jeton_core::Micros;

/// What is to happen with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The charges decide, all together; without any it passes.
    Charges,
    /// Its address is on the block list. Nothing is charged.
    Blocked,
    /// Its address is on the exempt list. Nothing is charged.
    Exempt,
    /// An operator blocks its key (429). Nothing is charged.
    BlockedUntil {
        /// Index of the rule whose key it is.
        rule: usize,
        /// When the block ends: the last of several; `None` if somebody has to lift it.
        until: Option<Micros>,
    },
    /// A rule refuses it (403). Nothing is charged.
    Denied(Denied),
    /// The cost that the request names is not a whole number (400). Nothing is charged.
    BadCost {
        /// Index of the rule that asks for the cost.
        rule: usize,
    },
    /// More rules speak of it than can be decided in one step. No decision is possible.
    TooManyRules,
}

/// A refusal that no counter takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Index of the rule.
    pub rule: usize,
    /// Why.
    pub reason: DenyReason,
}

/// Why a rule refuses without counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DenyReason {
    /// `limit = "deny"`.
    Word,
    /// A part of the key is missing, and `missing = "deny"`.
    MissingKey,
    /// The plan of the request is `"deny"`.
    Plan,
    /// An operator's override for its key is `"deny"`.
    Override,
    /// An operator blocks its key; of rules without a vote only, else [`Verdict::BlockedUntil`].
    Block,
    /// The cost is not a number; of rules without a vote only, else [`Verdict::BadCost`].
    BadCost,
}
