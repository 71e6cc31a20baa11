//! The counters of one policy.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jeton_core::StoreErrorKind;
use jeton_policy::Denied;

use crate::meters::{Event, EventMeters, RuleMeter, RuleOutcome, STORE_ERRORS};

/// What has been decided under one policy, by rule and by event.
#[derive(Debug)]
pub struct Tally {
    rules: Box<[RuleMeter]>,
    events: EventMeters,
    store_errors: [AtomicU64; STORE_ERRORS.len()],
}

impl Tally {
    pub(crate) fn new(rules: usize) -> Self {
        Self {
            rules: (0..rules).map(|_| RuleMeter::default()).collect(),
            events: EventMeters::default(),
            store_errors: Default::default(),
        }
    }

    /// How often a rule (by its index in the file) ended in `outcome`.
    pub fn rule(&self, rule: usize, outcome: RuleOutcome) -> u64 {
        self.rules.get(rule).map_or(0, |meter| meter.get(outcome))
    }

    /// How often `event` happened.
    pub fn event(&self, event: Event) -> u64 {
        self.events.get(event)
    }

    /// How often the store failed, by reason.
    pub fn store_errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        STORE_ERRORS
            .into_iter()
            .zip(&self.store_errors)
            .map(|(r, n)| (r, n.load(Relaxed)))
    }

    #[inline]
    pub(crate) fn decided(&self, rule: usize, outcome: RuleOutcome) {
        if let Some(meter) = self.rules.get(rule) {
            meter.count(outcome);
        }
    }

    pub(crate) fn shadow_refused(&self, denied: &[Denied]) {
        for denied in denied {
            self.decided(denied.rule, RuleOutcome::ShadowDenied);
        }
    }

    pub(crate) fn happened(&self, event: Event) {
        self.events.count(event);
    }

    #[cold]
    pub(crate) fn degraded(&self, kind: StoreErrorKind) {
        self.happened(Event::Degraded);
        let reason = crate::meters::store_error_reason(kind);
        if let Some(i) = STORE_ERRORS.iter().position(|known| *known == reason)
            && let Some(counter) = self.store_errors.get(i)
        {
            counter.fetch_add(1, Relaxed);
        }
    }
}
