//! What has been decided, in numbers that only grow. No name here comes from a client.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jeton_core::{Decision, StoreErrorKind};
use jeton_policy::{Counter, Mode};

/// How one rule's part in a decision ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleOutcome {
    /// It allowed, the request passed, and it was charged.
    Allowed,
    /// It denied.
    Denied,
    /// It would have allowed, but another rule denied: nothing was charged.
    Withheld,
    /// It would have denied, but has no vote.
    ShadowDenied,
    /// It would have denied; the upstream was told instead.
    Marked,
    /// Its trial setting would have allowed.
    TrialAllowed,
    /// Its trial setting would have denied.
    TrialDenied,
}

/// How many outcomes there are.
const OUTCOMES: usize = RuleOutcome::ALL.len();

impl RuleOutcome {
    /// Every outcome, in the order of their counters.
    pub const ALL: [Self; 7] = [
        Self::Allowed,
        Self::Denied,
        Self::Withheld,
        Self::ShadowDenied,
        Self::Marked,
        Self::TrialAllowed,
        Self::TrialDenied,
    ];

    /// The word in metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Withheld => "withheld",
            Self::ShadowDenied => "shadow_denied",
            Self::Marked => "marked",
            Self::TrialAllowed => "trial_allowed",
            Self::TrialDenied => "trial_denied",
        }
    }

    /// How `decision` of a counter of a rule in `mode` ended in a request that passed or did not.
    pub const fn of(decision: &Decision, mode: Mode, counter: Counter, passed: bool) -> Self {
        let denied = !decision.fit.passes();
        match (counter, mode) {
            (Counter::Trial, _) if denied => Self::TrialDenied,
            (Counter::Trial, _) => Self::TrialAllowed,
            (_, Mode::Enforce) if denied => Self::Denied,
            (_, Mode::Shadow) if denied => Self::ShadowDenied,
            (_, Mode::Mark) if denied => Self::Marked,
            _ if passed => Self::Allowed,
            _ => Self::Withheld,
        }
    }
}

/// The counters of one rule; those of decisions in a cache line of their own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct RuleMeter {
    outcomes: [AtomicU64; OUTCOMES],
    failures: FailureMeters,
}

impl RuleMeter {
    #[inline]
    pub(crate) fn count(&self, outcome: RuleOutcome, times: u64) {
        if let Some(counter) = self.outcomes.get(outcome as usize) {
            counter.fetch_add(times, Relaxed);
        }
    }

    pub(crate) fn get(&self, outcome: RuleOutcome) -> u64 {
        self.outcomes
            .get(outcome as usize)
            .map_or(0, |counter| counter.load(Relaxed))
    }

    /// Answers that the store did not give.
    pub(crate) const fn failures(&self) -> &FailureMeters {
        &self.failures
    }
}

/// Counters of answers that the store did not give, in the order of [`StoreErrorKind::ALL`].
#[derive(Debug, Default)]
pub(crate) struct FailureMeters([AtomicU64; StoreErrorKind::ALL.len()]);

impl FailureMeters {
    #[cold]
    pub(crate) fn count(&self, kind: StoreErrorKind) {
        if let Some(counter) = self.of(kind) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn get(&self, kind: StoreErrorKind) -> u64 {
        self.of(kind).map_or(0, |counter| counter.load(Relaxed))
    }

    fn of(&self, kind: StoreErrorKind) -> Option<&AtomicU64> {
        let at = StoreErrorKind::ALL.iter().position(|known| *known == kind);
        self.0.get(at?)
    }
}

/// What happened beside the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A request that no rule matched.
    Unmatched,
    /// An address on the `exempt` list.
    Exempt,
    /// An address on the `block` list.
    Blocked,
    /// A request refused by a word: `limit = "deny"` or `missing = "deny"`.
    Refused,
    /// A request that only rules with `limit = "unlimited"` spoke of.
    Unlimited,
    /// A verdict given without a store's decision.
    Degraded,
    /// A request that more rules apply to than one step can hold.
    TooManyRules,
    /// A key that an operator has blocked.
    OrderBlocked,
    /// A request whose cost was told by something that is no number.
    BadCost,
    /// A charge that was settled when its response was known, or when its caller said so.
    Settled,
    /// A charge whose settling was lost on the way to the store: it stays charged.
    SettleLost,
    /// Units that were used and found no room, not even as debt: they are not charged.
    UnitsClipped,
}

/// How many events there are.
const EVENTS: usize = Event::UnitsClipped as usize + 1;

/// Counters of everything but rules.
#[derive(Debug, Default)]
pub(crate) struct EventMeters([AtomicU64; EVENTS]);

impl EventMeters {
    #[inline]
    pub(crate) fn count(&self, event: Event, times: u64) {
        if let Some(counter) = self.0.get(event as usize) {
            counter.fetch_add(times, Relaxed);
        }
    }

    pub(crate) fn get(&self, event: Event) -> u64 {
        self.0
            .get(event as usize)
            .map_or(0, |counter| counter.load(Relaxed))
    }
}
