//! What became of a request, in terms that every door can turn into its own.

use std::sync::Arc;

use jeton_core::{Decision, Fit, Micros, Quota, Span, StoreErrorKind, Verdict};
use jeton_policy::{CompiledRule, Counter, DenyReason, Mode, Policy};
use smallvec::SmallVec;

use crate::gate::{Live, Seed};
use crate::opaque::{GivenReceipt, Handle};

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
    /// An operator has blocked its key in a rule.
    BlockedUntil {
        /// Index of the rule.
        rule: usize,
        /// The end of the block; none if it holds until it is lifted.
        until: Option<Micros>,
    },
    /// A rule refuses it by a word, whatever has been used.
    Refused {
        /// Index of the rule.
        rule: usize,
        /// Which word.
        reason: DenyReason,
    },
    /// The field that tells the cost of a request says no number.
    BadCost {
        /// Index of the rule that reads it.
        rule: usize,
    },
    /// A rule limits how much is in flight, and whoever asked will not say when it is over: it has
    /// to be held or reserved.
    NeedsHold {
        /// Index of the rule.
        rule: usize,
    },
    /// More rules apply than can be decided in one step: refused, since none may be left out.
    TooManyRules,
    /// The store gave no decision, and the outage rule spoke. What it has decided locally is
    /// [`Disposition::Decided`], and marked: see [`Answered::is_degraded`].
    Degraded {
        /// Why there was none.
        error: StoreErrorKind,
        /// Whether it is refused: a rule that applies says `on_failure = "deny"`, or what was asked can
        /// be done by the store only.
        denied: bool,
    },
}

impl Disposition {
    /// Whether the request may pass.
    pub const fn allowed(self) -> bool {
        match self {
            Self::Decided(verdict) => verdict.allowed,
            Self::Unmatched | Self::Unlimited | Self::Exempt => true,
            Self::Degraded { denied, .. } => !denied,
            Self::Blocked
            | Self::BlockedUntil { .. }
            | Self::Refused { .. }
            | Self::BadCost { .. }
            | Self::NeedsHold { .. }
            | Self::TooManyRules => false,
        }
    }

    /// Whether the cost is above what a rule can ever hold.
    pub const fn impossible(self) -> bool {
        matches!(
            self,
            Self::Decided(Verdict {
                impossible: true,
                ..
            })
        )
    }

    /// The wait, from `at` on, after which the same request passes if nobody else competes.
    pub const fn retry_after(self, at: Micros) -> Option<Span> {
        match self {
            Self::Decided(verdict) => verdict.retry_after,
            Self::BlockedUntil {
                until: Some(until), ..
            } => Some(until.since(at)),
            _ => None,
        }
    }
}

/// What became of a reservation that was committed, cancelled or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It was carried out.
    Done,
    /// It had been settled before: nothing was done again.
    Repeated {
        /// What it was settled at: units asked for, of each charge.
        actual: u32,
    },
    /// There is no such reservation: never made, expired, or forgotten by its store.
    Unknown,
}

/// The part of one counter in a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) seed: Seed,
    pub(crate) decision: Decision,
}

/// The answer to one request.
#[derive(Debug)]
pub struct Answered {
    pub(crate) live: Arc<Live>,
    pub(crate) disposition: Disposition,
    pub(crate) at: Micros,
    pub(crate) parts: SmallVec<[Part; 3]>,
    pub(crate) kept: Option<Box<Kept>>,
}

/// What comes with few answers.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Rules in mode `mark` that refuse by a word.
    pub(crate) marked: SmallVec<[usize; 2]>,
    pub(crate) handle: Option<Handle>,
    pub(crate) settlement: Option<Settlement>,
    /// Why it was decided in this process, under a share of each limit.
    pub(crate) without_store: Option<StoreErrorKind>,
    #[cfg(feature = "settling")]
    pub(crate) hold: Option<crate::Hold>,
}

/// One rule's decision, with the rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleDecision<'a> {
    /// The rule.
    pub rule: &'a CompiledRule,
    /// Which of its counters. The one of a trial has no vote.
    pub counter: Counter,
    /// The plan it was decided under, if one was in force.
    pub plan: Option<&'a str>,
    /// The quota it was decided under: the rule's, or one that a plan, an operator, a preflight or
    /// a trial brings.
    pub quota: &'a Quota,
    /// Whether it had a vote.
    pub mode: Mode,
    /// The decision.
    pub decision: &'a Decision,
    id: jeton_core::RuleId,
}

impl RuleDecision<'_> {
    /// Whether it could deny the request.
    pub fn has_vote(&self) -> bool {
        self.mode == Mode::Enforce && self.counter != Counter::Trial
    }

    /// What names this charge, to give it back exactly; none if nothing was charged.
    pub fn receipt(&self) -> Option<GivenReceipt> {
        (self.decision.receipt.cost > 0).then_some(GivenReceipt {
            rule: self.id,
            kind: self.quota.kind(),
            receipt: self.decision.receipt,
        })
    }
}

impl Answered {
    pub(crate) const fn new(
        live: Arc<Live>,
        disposition: Disposition,
        at: Micros,
        parts: SmallVec<[Part; 3]>,
    ) -> Self {
        Self {
            live,
            disposition,
            at,
            parts,
            kept: None,
        }
    }

    pub(crate) fn keep(&mut self) -> &mut Kept {
        self.kept.get_or_insert_default()
    }

    /// Whether the request may pass.
    pub const fn allowed(&self) -> bool {
        self.disposition.allowed()
    }

    /// Whether the cost is above what a rule can ever hold.
    pub const fn impossible(&self) -> bool {
        self.disposition.impossible()
    }

    /// The wait after which the same request passes if nobody else competes.
    pub const fn retry_after(&self) -> Option<Span> {
        self.disposition.retry_after(self.at)
    }

    /// What became of it.
    pub const fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// Why there is no decision of the store's, if there is none: the outage rule spoke. Then
    /// decisions are those of this process alone, under a share of each limit, or there are none.
    pub fn store_error(&self) -> Option<StoreErrorKind> {
        match self.disposition {
            Disposition::Degraded { error, .. } => Some(error),
            _ => self.kept.as_ref()?.without_store,
        }
    }

    /// Whether the store gave no decision, and the outage rule spoke.
    pub fn is_degraded(&self) -> bool {
        self.store_error().is_some()
    }

    /// What was charged in this process only must not be given back in the store.
    pub(crate) fn without_local_receipts(mut self) -> Self {
        if self.is_degraded() {
            self.parts
                .iter_mut()
                .for_each(|part| part.decision.receipt.cost = 0);
        }
        self
    }

    /// The instant of the decision.
    pub const fn at(&self) -> Micros {
        self.at
    }

    /// The policy it was decided under.
    pub fn policy(&self) -> &Policy {
        &self.live.policy
    }

    /// The reservation that was made.
    pub fn handle(&self) -> Option<&Handle> {
        self.kept.as_ref()?.handle.as_ref()
    }

    /// What became of the reservation that was to be settled or extended.
    pub fn settlement(&self) -> Option<Settlement> {
        self.kept.as_ref()?.settlement
    }

    /// What settles the charges of this request when its response is known; dropped, they stay
    /// charged as they are, and units of `concurrency` go back.
    #[cfg(feature = "settling")]
    pub fn take_hold(&mut self) -> Option<crate::Hold> {
        self.kept.as_mut()?.hold.take()
    }

    /// Rules in mode `mark` that would have denied: the upstream is told of them.
    pub fn marked(&self) -> impl Iterator<Item = &str> {
        let marked = |d: &RuleDecision<'_>| {
            d.mode == Mode::Mark && d.counter != Counter::Trial && !d.decision.fit.passes()
        };
        let counted = self.decisions().filter(marked).map(|d| d.rule.name());
        let by_word = self.kept.iter().flat_map(|kept| &kept.marked);
        let rules = self.policy().rules();
        let by_word = by_word.filter_map(|rule| rules.get(*rule).map(CompiledRule::name));
        by_word.chain(counted)
    }

    /// The decisions of all rules that apply, in the order of the file (or of the caller).
    pub fn decisions(&self) -> impl Iterator<Item = RuleDecision<'_>> {
        self.parts.iter().filter_map(|Part { seed, decision }| {
            let rule = self.policy().rules().get(seed.rule)?;
            Some(RuleDecision {
                rule,
                counter: seed.counter,
                plan: seed.plan_name(&self.live),
                quota: &seed.quota,
                mode: seed.mode,
                decision,
                id: seed.id,
            })
        })
    }

    /// The rules whose vote denied, in the order of the file.
    pub fn violated(&self) -> impl Iterator<Item = &str> {
        let denied = |d: &RuleDecision<'_>| d.has_vote() && !d.decision.fit.passes();
        let counted = self.decisions().filter(denied).map(|d| d.rule.name());
        let blocked = match self.disposition {
            Disposition::BlockedUntil { rule, .. } => self.policy().rules().get(rule),
            _ => None,
        };
        blocked.map(CompiledRule::name).into_iter().chain(counted)
    }

    /// The decisions that clients are told, the one that matters most first: of those that deny the
    /// one with the longest wait, else the one with the least share left, else in file order.
    /// Counters without a vote and estimates are not told.
    pub fn told(&self) -> SmallVec<[RuleDecision<'_>; 3]> {
        let tellable = |d: &RuleDecision<'_>| d.has_vote() && !d.decision.approximate;
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
