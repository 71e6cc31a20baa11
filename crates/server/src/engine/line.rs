//! One answer, printed.

use jeton::policy::{Counter, DenyReason};
use jeton::{Answered, Disposition, RuleDecision, Span};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// In which unit spans of time are printed; the names of their members end in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, exactly.
    Micros,
    /// Milliseconds, rounded up.
    Millis,
}

impl Unit {
    const fn of(self, span: Span) -> u64 {
        match self {
            Self::Micros => span.as_micros(),
            Self::Millis => span.as_millis_ceil(),
        }
    }

    const fn retry_after(self) -> &'static str {
        match self {
            Self::Micros => "retry_after_us",
            Self::Millis => "retry_after_ms",
        }
    }

    const fn reset_after(self) -> &'static str {
        match self {
            Self::Micros => "reset_after_us",
            Self::Millis => "reset_after_ms",
        }
    }
}

/// An answer as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    at_us: Option<u64>,
    unit: Unit,
    answered: &'a Answered,
}

impl<'a> Line<'a> {
    /// As `jeton simulate` prints it.
    pub const fn of_trace(at_us: u64, answered: &'a Answered) -> Self {
        Self {
            at_us: Some(at_us),
            unit: Unit::Micros,
            answered,
        }
    }

    /// As the API answers.
    pub const fn of_call(answered: &'a Answered) -> Self {
        Self {
            at_us: None,
            unit: Unit::Millis,
            answered,
        }
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            at_us,
            unit,
            answered,
        } = *self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(at_us) = at_us {
            map.serialize_entry("at_us", &at_us)?;
        }
        map.serialize_entry("allowed", &answered.allowed())?;
        let retry_after = answered.retry_after().map(|span| unit.of(span));
        map.serialize_entry(unit.retry_after(), &retry_after)?;
        map.serialize_entry("impossible", &answered.impossible())?;
        map.serialize_entry("decisions", &Decisions(unit, answered))?;
        if let Some(reason) = reason(answered.disposition()) {
            map.serialize_entry("reason", reason)?;
        }
        if let Some(rule) = refusing(answered) {
            map.serialize_entry("rule", rule)?;
        }
        map.end()
    }
}

/// Why no counter decided; none if counters did.
pub(crate) const fn reason(disposition: Disposition) -> Option<&'static str> {
    match disposition {
        Disposition::Unmatched => Some("unmatched"),
        Disposition::Unlimited => Some("unlimited"),
        Disposition::Exempt => Some("exempt"),
        Disposition::Blocked => Some("block"),
        Disposition::Refused {
            reason: DenyReason::Word,
            ..
        } => Some("deny"),
        Disposition::Refused {
            reason: DenyReason::MissingKey,
            ..
        } => Some("missing"),
        Disposition::TooManyRules => Some("too-many-rules"),
        Disposition::Degraded { .. } => Some("degraded"),
        _ => None,
    }
}

/// The rule that refused by a word.
pub(crate) fn refusing(answered: &Answered) -> Option<&str> {
    match answered.disposition() {
        Disposition::Refused { rule, .. } => answered
            .policy()
            .rules()
            .get(rule)
            .map(jeton::policy::CompiledRule::name),
        _ => None,
    }
}

struct Decisions<'a>(Unit, &'a Answered);

impl Serialize for Decisions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for decision in self.1.decisions() {
            list.serialize_element(&Entry(self.0, decision))?;
        }
        list.end()
    }
}

struct Entry<'a>(Unit, RuleDecision<'a>);

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(unit, decided) = self;
        let RuleDecision { rule, decision, .. } = decided;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rule", rule.name())?;
        map.serialize_entry("allowed", &decision.fit.passes())?;
        map.serialize_entry("limit", &decision.limit)?;
        map.serialize_entry("remaining", &decision.remaining)?;
        map.serialize_entry(unit.reset_after(), &unit.of(decision.reset_after))?;
        let retry_after = decision.fit.retry_after().map(|span| unit.of(span));
        map.serialize_entry(unit.retry_after(), &retry_after)?;
        map.serialize_entry("mode", mode_word(decided))?;
        if decision.approximate {
            map.serialize_entry("approximate", &true)?;
        }
        map.end()
    }
}

/// The word of the policy language for what a counter's decision means.
fn mode_word(decision: &RuleDecision<'_>) -> &'static str {
    match decision.counter {
        Counter::Trial => "trial",
        _ => decision.mode.word(),
    }
}
