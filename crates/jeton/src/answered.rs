//! What became of a request, in terms that every door can turn into its own.

use std::sync::Arc;

use jeton_core::{Decision, Fit, Micros, Mode, Quota, Span, StoreErrorKind, Verdict};
use jeton_policy::{CompiledRule, DenyReason, Policy};
use smallvec::SmallVec;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disposition {
    /// The rules that apply decided: all were charged, or none.
    Decided(Verdict),
    /// No rule matched.
    Unmatched,
    /// Rules matched, and none of them counts: `limit = "unlimited"`, or a refusal without a vote.
    Unlimited,
    /// The address is on the `exempt` list.
    Exempt,
    /// The address is on the `block` list.
    Blocked,
    /// A rule refuses it by a word, whatever has been used.
    Refused {
        /// Index of the rule.
        rule: usize,
        /// Which word.
        reason: DenyReason,
    },
    /// More rules apply than can be decided in one step: refused, since none may be left out.
    TooManyRules,
    /// The store gave no decision, and the outage rule let it pass.
    Degraded {
        /// Why there was none.
        error: StoreErrorKind,
    },
}

/// The part of one rule in a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) rule: usize,
    pub(crate) preflight: bool,
    pub(crate) mode: Mode,
    pub(crate) decision: Decision,
}

/// The answer to one request.
#[derive(Clone, Debug)]
pub struct Answered {
    pub(crate) policy: Arc<Policy>,
    pub(crate) disposition: Disposition,
    pub(crate) at: Micros,
    pub(crate) parts: SmallVec<[Part; 3]>,
}

/// One rule's decision, with the rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleDecision<'a> {
    /// The rule.
    pub rule: &'a CompiledRule,
    /// The quota it was decided under: a preflight has its own.
    pub quota: &'a Quota,
    /// Whether it had a vote.
    pub mode: Mode,
    /// The decision.
    pub decision: &'a Decision,
}

impl Answered {
    /// Whether the request may pass.
    pub const fn allowed(&self) -> bool {
        match self.disposition {
            Disposition::Decided(verdict) => verdict.allowed,
            Disposition::Unmatched
            | Disposition::Unlimited
            | Disposition::Exempt
            | Disposition::Degraded { .. } => true,
            Disposition::Blocked | Disposition::Refused { .. } | Disposition::TooManyRules => false,
        }
    }

    /// Whether the cost is above what a rule can ever hold.
    pub const fn impossible(&self) -> bool {
        matches!(
            self.disposition,
            Disposition::Decided(Verdict {
                impossible: true,
                ..
            })
        )
    }

    /// The wait after which the same request passes if nobody else competes.
    pub const fn retry_after(&self) -> Option<Span> {
        match self.disposition {
            Disposition::Decided(verdict) => verdict.retry_after,
            _ => None,
        }
    }

    /// What became of it.
    pub const fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// The instant of the decision.
    pub const fn at(&self) -> Micros {
        self.at
    }

    /// The policy it was decided under.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The decisions of all rules that apply, in the order of the file (or of the caller).
    pub fn decisions(&self) -> impl Iterator<Item = RuleDecision<'_>> {
        self.parts.iter().filter_map(|part| {
            let rule = self.policy.rules().get(part.rule)?;
            let quota = if part.preflight {
                rule.preflight_quota()?
            } else {
                rule.quota()?
            };
            Some(RuleDecision {
                rule,
                quota,
                mode: part.mode,
                decision: &part.decision,
            })
        })
    }

    /// The rules whose vote denied, in the order of the file.
    pub fn violated(&self) -> impl Iterator<Item = &str> {
        let denied = |d: &RuleDecision<'_>| d.mode == Mode::Enforce && !d.decision.fit.passes();
        self.decisions().filter(denied).map(|d| d.rule.name())
    }

    /// The decisions that clients are told, the one that matters most first: of those that deny the
    /// one with the longest wait, else the one with the least share left, else in file order.
    /// Rules in shadow and estimates are not told.
    pub fn told(&self) -> SmallVec<[RuleDecision<'_>; 3]> {
        let tellable = |d: &RuleDecision<'_>| d.mode == Mode::Enforce && !d.decision.approximate;
        let mut told: SmallVec<[_; 3]> = self.decisions().filter(tellable).collect();
        told.sort_by(|a, b| urgency(b).cmp(&urgency(a)).then_with(|| share(a, b)));
        told
    }
}

/// How much a decision denies: impossible, then by the wait, then those that allow.
fn urgency(d: &RuleDecision<'_>) -> (bool, Option<Span>) {
    (
        d.decision.fit == Fit::Impossible,
        d.decision.fit.retry_after(),
    )
}

/// Compares the shares that are left, as exact fractions.
fn share(a: &RuleDecision<'_>, b: &RuleDecision<'_>) -> std::cmp::Ordering {
    let cross = |x: &Decision, y: &Decision| u64::from(x.remaining) * u64::from(y.limit);
    cross(a.decision, b.decision).cmp(&cross(b.decision, a.decision))
}
