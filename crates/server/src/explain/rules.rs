//! What each rule has to do with the request.

use jeton::policy::{
    CostFrom, Counter, Outcome, PlanFound, Refusal, RuleExplained, ShownPart, ShownValue, Speaks,
    TermsFrom,
};
use jeton::{Explained, Micros, RuleDecision, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Its name.
    pub rule: String,
    /// What becomes of it, in one word: `charged`, `unlimited`, `refuses`, `would-refuse`,
    /// `overruled`, `replaced`, `too-many-rules`, `skipped`, `unmatched`, `not-asked`.
    pub outcome: String,
    /// The same in words.
    pub why: String,
    /// The first condition of its `match` that does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What that condition asks for, one of these; never the value of a header field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wanted: Vec<String>,
    /// The rule that replaces it, refuses before it is charged, or is found before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When the block of an operator ends, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_until_ms: Option<u64>,
    /// What it makes of the request, if it speaks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaks: Option<Speaking>,
    /// What becomes of it without the store, if that gave no decision: `allow`, `deny`, or the
    /// share by which this process decides, `{ local = 0.5 }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
    /// Its counters as they are, and what they would answer: its own, then that on trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<Counted>,
}

/// What a rule makes of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Speaking {
    /// Whose counter.
    pub key: Vec<Part>,
    /// `enforce`, `shadow` or `mark`.
    pub mode: String,
    /// Whether an operator set that.
    pub mode_by_order: bool,
    /// What the request says of a plan; `None` if the rule has none.
    pub plan: Option<Plan>,
    /// Whose terms are in force: `rule`, `plan` or `override`.
    pub terms: String,
    /// When the override ends, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_until_ms: Option<u64>,
    /// Those terms in words.
    pub allows: String,
    /// The worst case for one key under them; empty for a word, and for preflights, which have a
    /// multiple of them.
    pub at_most: String,
    /// Units of this request; `None` if it names a cost that is no number.
    pub cost: Option<u32>,
    /// Who says so: `rule`, `request`, or `answer`, of which this is an estimate.
    pub cost_from: String,
    /// The field that says so, of the request or of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_field: Option<String>,
    /// The statuses of answers that count; absent if whatever is answered does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
    /// Whether a denial by it costs what is left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub charges_denials: bool,
}

/// One part of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// As policies write it.
    pub part: String,
    /// Its value; `None` if it is missing, secret or too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// A keyed fingerprint of a value that is secret or too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The same for people.
    pub shown: String,
}

/// A plan that the request may name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The name it gives; `None` if it gives none.
    pub name: Option<String>,
    /// Whether the rule has a plan of that name.
    pub known: bool,
}

/// One counter, and what it would answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// `requests`, `preflights` or `trial`.
    pub counter: String,
    /// Whether it would allow the cost.
    pub allowed: bool,
    /// The most it can hold.
    pub limit: u64,
    /// What is left now.
    pub remaining: u64,
    /// Until it is full again, or its window ends.
    pub reset_after_ms: u64,
    /// Until the next unit.
    pub next_after_ms: u64,
    /// Until it would allow the cost; `None` if it does, or never will.
    pub retry_after_ms: Option<u64>,
    /// Whether this is an estimate that several keys share, for want of memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approximate: bool,
}

impl Entry {
    pub(super) fn all(explained: &Explained) -> Vec<Self> {
        let decisions: Vec<RuleDecision<'_>> = explained.answered.decisions().collect();
        let is_without_store = explained.answered.store_error().is_some();
        let policy = explained.answered.policy();
        let entry = |rule: &RuleExplained| {
            let own = decisions.iter().filter(|one| one.rule.name() == rule.rule);
            let mut entry = Self::new(rule, own.map(Counted::from).collect());
            if is_without_store && matches!(rule.outcome, Outcome::Charged) {
                let named = policy.rule(&rule.rule);
                entry.on_failure = named.map(|(_, rule)| rule.on_failure().to_string());
            }
            entry
        };
        explained.policy.rules.iter().map(entry).collect()
    }

    fn new(rule: &RuleExplained, counters: Vec<Counted>) -> Self {
        let outcome = &rule.outcome;
        let (condition, wanted) = match outcome {
            Outcome::Unmet(unmet) => (Some(unmet.condition.word()), unmet.wanted.clone()),
            Outcome::Skipped { part } => (Some("missing"), vec![part.to_string()]),
            _ => (None, Vec::new()),
        };
        let by = match outcome {
            Outcome::Replaced { by } | Outcome::Overruled { by } => Some(by.clone()),
            Outcome::FoundBefore { by } => by.clone(),
            _ => None,
        };
        let blocked_until_ms = match outcome {
            Outcome::Refuses(Refusal::Blocked { until }) => until.map(millis),
            _ => None,
        };
        Self {
            rule: rule.rule.clone(),
            outcome: word(outcome).to_owned(),
            why: outcome.to_string(),
            condition: condition.map(str::to_owned),
            wanted,
            by,
            blocked_until_ms,
            speaks: rule.speaks.as_ref().map(Speaking::from),
            on_failure: None,
            counters,
        }
    }
}

const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Charged => "charged",
        Outcome::Unlimited => "unlimited",
        Outcome::Refuses(_) => "refuses",
        Outcome::WouldRefuse(_) => "would-refuse",
        Outcome::Overruled { .. } => "overruled",
        Outcome::Replaced { .. } => "replaced",
        Outcome::TooManyRules => "too-many-rules",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Unmet(_) | Outcome::FoundBefore { .. } => "unmatched",
        _ => "not-asked",
    }
}

/// Milliseconds since the Unix epoch, rounded up: over then is over now.
const fn millis(at: Micros) -> u64 {
    at.get().div_ceil(1_000)
}

impl From<&Speaks> for Speaking {
    fn from(speaks: &Speaks) -> Self {
        let (terms, until) = match speaks.terms {
            TermsFrom::Rule => ("rule", None),
            TermsFrom::Plan => ("plan", None),
            TermsFrom::Override { until } => ("override", until),
        };
        let (cost_from, cost_field) = match &speaks.cost_from {
            CostFrom::Rule => ("rule", None),
            CostFrom::Request(field) => ("request", Some(format!("header:{field}"))),
            CostFrom::Response(field) => ("answer", Some(field.clone())),
        };
        let plan = |name: Option<&String>, known| Plan {
            name: name.cloned(),
            known,
        };
        Self {
            key: speaks.key.iter().map(Part::from).collect(),
            mode: speaks.mode.word().to_owned(),
            mode_by_order: speaks.mode_by_order,
            plan: match &speaks.plan {
                PlanFound::NoPlans => None,
                PlanFound::Unnamed => Some(plan(None, false)),
                PlanFound::Known(name) => Some(plan(Some(name), true)),
                PlanFound::Unknown(name) => Some(plan(Some(name), false)),
            },
            terms: terms.to_owned(),
            override_until_ms: until.map(millis),
            allows: speaks.allows.clone(),
            at_most: speaks.at_most.clone(),
            cost: speaks.cost.map(jeton::Cost::get),
            cost_from: cost_from.to_owned(),
            cost_field,
            count: speaks.count.clone(),
            charges_denials: speaks.charges_denials,
        }
    }
}

impl From<&ShownPart> for Part {
    fn from(part: &ShownPart) -> Self {
        let value = match &part.value {
            ShownValue::Text(text) => Some(text.clone()),
            _ => None,
        };
        let fingerprint = match part.value {
            ShownValue::Fingerprint(print) | ShownValue::TooLong(print) => Some(print.to_string()),
            _ => None,
        };
        Self {
            part: part.part.clone(),
            value,
            fingerprint,
            shown: part.to_string(),
        }
    }
}

impl From<&RuleDecision<'_>> for Counted {
    fn from(decided: &RuleDecision<'_>) -> Self {
        let decision = decided.decision;
        Self {
            counter: match decided.counter {
                Counter::Requests => "requests",
                Counter::Preflights => "preflights",
                Counter::Trial => "trial",
            }
            .to_owned(),
            allowed: decision.fit.passes(),
            limit: u64::from(decision.limit),
            remaining: u64::from(decision.remaining),
            reset_after_ms: decision.reset_after.as_millis_ceil(),
            next_after_ms: decision.next_after.as_millis_ceil(),
            retry_after_ms: decision.fit.retry_after().map(Span::as_millis_ceil),
            approximate: decision.approximate,
        }
    }
}
