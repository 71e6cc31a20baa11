//! `GET /v1/rules`: the policy in force, in numbers and in words.

use axum::extract::State;
use axum::response::Response;
use jeton::policy::{Allowance, CompiledRule, LimitWords, Mode, Rule, RuleWords, Terms};
use jeton::{Anchor, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Api, answer};
use crate::metrics::Reloaded;

/// The policy in force.
#[derive(Serialize, JsonSchema)]
pub(super) struct InForce<'a> {
    /// How many policies have been in force, this one included.
    generation: u64,
    /// What the latest reload did; null if there was none.
    reload: Option<&'a Reloaded>,
    /// Why the policy file, as it was last read, is not what is in force; null if it is.
    refused: Option<&'a str>,
    /// In the order of the file.
    rules: Vec<RuleEntry<'a>>,
}

pub(super) async fn rules(State(api): State<Api>) -> Response {
    let policy = api.0.gate.policy();
    let entry = |(index, rule)| RuleEntry::of(rule).switched(api.0.gate.mode(index));
    let rules = policy.told_rules().iter().enumerate().map(entry).collect();
    let metrics = &api.0.metrics;
    answer::json(&InForce {
        generation: metrics.generation(),
        reload: metrics.reloaded().as_deref(),
        refused: metrics.refusal().as_deref(),
        rules,
    })
}

/// One rule in numbers and in words. Values of header fields that it matches are left out: they
/// may be what a client proves itself by.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RuleEntry<'a> {
    name: &'a str,
    /// The mode in force.
    mode: &'static str,
    /// That of the policy, where an operator has switched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_mode: Option<&'static str>,
    key: Vec<String>,
    #[serde(flatten)]
    quota: Numbers,
    /// What it allows, to whom.
    meaning: String,
    /// Which requests it speaks of; empty if of all.
    scope: String,
    /// What becomes of requests that lack a part of the key; empty if none can.
    missing: String,
    /// What a request costs and when that is known; empty if it is one unit at once.
    settling: String,
    /// Whether units are taken ahead of the store, and of which requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    lease: String,
    /// Where requests say which plan they have; empty without plans.
    plan: String,
    /// What each plan allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plans: Vec<OtherTerms>,
    /// What is counted side by side, without a vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<OtherTerms>,
    /// The worst case for one key.
    worst_case: WorstCase,
}

/// Terms beside the rule's own.
#[derive(Serialize, JsonSchema)]
struct OtherTerms {
    /// The plan, or `trial`.
    name: String,
    /// What they allow.
    meaning: String,
    /// The worst case in a sentence; empty for a word.
    at_most: String,
}

impl From<LimitWords> for OtherTerms {
    fn from(words: LimitWords) -> Self {
        Self {
            name: words.name,
            meaning: words.meaning,
            at_most: words.at_most,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct WorstCase {
    /// In a sentence, over the rule's own span; empty for a word.
    at_most: String,
    /// How units come back to a bucket; empty for everything else.
    interval: String,
    any_second: Option<u64>,
    any_minute: Option<u64>,
    /// Units that pass beyond these for each process that may have taken them ahead.
    #[serde(skip_serializing_if = "is_none")]
    per_process: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_none(units: &u64) -> bool {
    *units == 0
}

/// The quota as it was written; spans in microseconds, exactly.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Numbers {
    Word {
        limit: &'static str,
    },
    Window {
        algorithm: &'static str,
        limit: u64,
        window_us: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        anchor: Option<&'static str>,
    },
    Bucket {
        /// `token-bucket` or `gcra`, as the policy has it.
        algorithm: &'static str,
        rate_units: u64,
        rate_per_us: u64,
        burst: u64,
    },
    Concurrency {
        algorithm: &'static str,
        limit: u64,
        lease_us: u64,
    },
}

impl<'a> RuleEntry<'a> {
    pub(crate) fn of(rule: &'a CompiledRule) -> Self {
        let RuleWords {
            meaning,
            scope,
            missing,
            at_most,
            interval,
            settling,
            lease,
            plan,
            plans,
            trial,
            any_second,
            any_minute,
            per_process,
            ..
        } = rule.words();
        Self {
            name: rule.name(),
            mode: rule.mode().word(),
            policy_mode: None,
            key: rule.rule().key.iter().map(ToString::to_string).collect(),
            quota: Numbers::of(rule.rule()),
            meaning,
            scope,
            missing,
            settling,
            lease,
            plan,
            plans: plans.into_iter().map(OtherTerms::from).collect(),
            trial: trial.map(OtherTerms::from),
            worst_case: WorstCase {
                at_most,
                interval,
                any_second,
                any_minute,
                per_process,
            },
        }
    }
}

impl RuleEntry<'_> {
    /// The same with the mode that is in force.
    fn switched(self, mode: Mode) -> Self {
        let own = self.mode;
        Self {
            mode: mode.word(),
            policy_mode: (mode.word() != own).then_some(own),
            ..self
        }
    }
}

impl Numbers {
    fn of(rule: &Rule) -> Self {
        let algorithm = rule.algorithm.unwrap_or_default();
        let window = |limit, window: Span, anchor| {
            let window_us = window.as_micros();
            Self::Window {
                algorithm,
                limit,
                window_us,
                anchor,
            }
        };
        match rule.allowance {
            Allowance::Unlimited => Self::Word { limit: "unlimited" },
            Allowance::Deny => Self::Word { limit: "deny" },
            Allowance::Quota(Terms::Bucket { pace, burst }) => Self::Bucket {
                algorithm,
                rate_units: pace.units,
                rate_per_us: pace.per.as_micros(),
                burst,
            },
            Allowance::Quota(Terms::FixedWindow {
                limit,
                window: span,
                anchor,
            }) => window(limit, span, Some(anchor_word(anchor))),
            Allowance::Quota(Terms::Concurrency { limit, lease }) => Self::Concurrency {
                algorithm,
                limit,
                lease_us: lease.as_micros(),
            },
            Allowance::Quota(
                Terms::SlidingLog {
                    limit,
                    window: span,
                }
                | Terms::SlidingCounter {
                    limit,
                    window: span,
                },
            ) => window(limit, span, None),
        }
    }
}

const fn anchor_word(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Epoch => "epoch",
        Anchor::FirstRequest => "first-request",
    }
}
