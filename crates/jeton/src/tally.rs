//! The counters of one policy.

use std::sync::Arc;

use jeton_core::StoreErrorKind;
use jeton_policy::{CompiledRule, Denied, Mode, Policy};

use crate::gate::Live;
use crate::meters::{Event, EventMeters, FailureMeters, RuleMeter, RuleOutcome};

/// What has been decided under one policy, by rule and by event.
///
/// Another policy goes on with the counters of the one before: those of a rule by its name.
#[derive(Debug)]
pub struct Tally {
    rules: Box<[Arc<RuleMeter>]>,
    beside: Arc<Beside>,
}

/// What no rule counts.
#[derive(Debug, Default)]
struct Beside {
    events: EventMeters,
    failures: FailureMeters,
    /// Decisions under quotas that callers bring.
    brought: RuleMeter,
}

/// What stands for an index where a rule is not one of the policy: its quotas come with the calls.
pub(crate) const BROUGHT: usize = usize::MAX;

impl Tally {
    pub(crate) fn new(rules: usize) -> Self {
        Self {
            rules: (0..rules).map(|_| Arc::default()).collect(),
            beside: Arc::default(),
        }
    }

    /// The counters of `policy`, which follows `old`, whose counters these are.
    pub(crate) fn carried_over(&self, old: &Policy, policy: &Policy) -> Self {
        let meter = |rule: &CompiledRule| {
            let before = old.rule(rule.name()).and_then(|(at, _)| self.rules.get(at));
            before.map_or_else(Arc::default, Arc::clone)
        };
        Self {
            rules: policy.rules().iter().map(meter).collect(),
            beside: Arc::clone(&self.beside),
        }
    }

    /// How often a rule (by its index in the file) ended in `outcome`.
    pub fn rule(&self, rule: usize, outcome: RuleOutcome) -> u64 {
        self.rules.get(rule).map_or(0, |meter| meter.get(outcome))
    }

    /// How often a decision under a quota that its caller brought ended in `outcome`.
    pub fn brought(&self, outcome: RuleOutcome) -> u64 {
        self.beside.brought.get(outcome)
    }

    /// How often `event` happened.
    pub fn event(&self, event: Event) -> u64 {
        self.beside.events.get(event)
    }

    /// How many answers the store did not give: decisions, and looks at what operators have set.
    pub fn store_errors(&self) -> impl Iterator<Item = (StoreErrorKind, u64)> {
        let failures = &self.beside.failures;
        StoreErrorKind::ALL
            .into_iter()
            .map(|kind| (kind, failures.get(kind)))
    }

    /// In how many of those decisions a rule (by its index in the file) had a part.
    pub fn store_errors_of(&self, rule: usize, kind: StoreErrorKind) -> u64 {
        let meter = self.rules.get(rule);
        meter.map_or(0, |meter| meter.failures().get(kind))
    }

    #[inline]
    pub(crate) fn decided(&self, rule: usize, outcome: RuleOutcome) {
        self.decided_often(rule, outcome, 1);
    }

    /// The same for several decisions.
    #[inline]
    pub(crate) fn decided_often(&self, rule: usize, outcome: RuleOutcome, times: u64) {
        match self.rules.get(rule) {
            Some(meter) => meter.count(outcome, times),
            None if rule == BROUGHT => self.beside.brought.count(outcome, times),
            None => {}
        }
    }

    /// Refusals of rules without a vote.
    pub(crate) fn refused_without_vote(&self, live: &Live, denied: &[Denied]) {
        for denied in denied {
            let outcome = match live.mode(denied.rule) {
                Mode::Mark => RuleOutcome::Marked,
                _ => RuleOutcome::ShadowDenied,
            };
            self.decided(denied.rule, outcome);
        }
    }

    pub(crate) fn happened(&self, event: Event) {
        self.beside.events.count(event, 1);
    }

    pub(crate) fn happened_often(&self, event: Event, times: u64) {
        self.beside.events.count(event, times);
    }

    /// A request that the store gave no decision about, with the rules that it would be charged to.
    #[cold]
    pub(crate) fn degraded(&self, kind: StoreErrorKind, rules: impl Iterator<Item = usize>) {
        self.happened(Event::Degraded);
        self.store_failed(kind, rules);
    }

    /// An answer that the store did not give, with the rules that it would have been about.
    #[cold]
    pub(crate) fn store_failed(&self, kind: StoreErrorKind, rules: impl Iterator<Item = usize>) {
        for meter in rules.filter_map(|rule| self.rules.get(rule)) {
            meter.failures().count(kind);
        }
        self.beside.failures.count(kind);
    }
}
