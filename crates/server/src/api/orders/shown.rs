//! Orders as operators see them.

use jeton::policy::{Alternative, Mode, Order};
use jeton::{Gate, Micros, OrderInForce, Span};
use schemars::JsonSchema;
use serde::Serialize;

/// Every block in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct Blocks {
    /// By rule and key.
    blocks: Vec<BlockInForce>,
}

/// A key whose requests are refused.
#[derive(Debug, Serialize, JsonSchema)]
struct BlockInForce {
    #[serde(flatten)]
    of: OfKey,
}

/// Every override in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct Overrides {
    /// By rule and key.
    overrides: Vec<OverrideInForce>,
}

/// A key with another allowance.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct OverrideInForce {
    #[serde(flatten)]
    of: OfKey,
    /// Units, or `unlimited`, or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Limit")]
    limit: Option<Limit>,
    /// The length of a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    window: Option<String>,
    /// What comes back to a bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    rate: Option<String>,
    /// Units at once from a full bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    burst: Option<u64>,
    /// How long a holder may stay silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    lease: Option<String>,
    /// What that comes to with the rule's own settings, in words; left out if the policy in force
    /// cannot follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    allows: Option<String>,
}

/// Units, or a word.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Limit {
    Units(u64),
    Word(String),
}

/// What every order about a key has.
#[derive(Debug, Serialize, JsonSchema)]
struct OfKey {
    /// The rule's name.
    rule: String,
    /// A text for each part; a fingerprint where the rule's keys are secret.
    key: Vec<String>,
    /// When it is over; `null` if it holds until it is lifted.
    expires_after_ms: Option<u64>,
    /// Why the policy in force cannot follow it, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    idle: Option<String>,
}

/// Every mode that was switched.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct Modes {
    /// By rule.
    modes: Vec<RuleMode>,
}

/// A rule in another mode than its own.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct RuleMode {
    /// The rule's name.
    rule: String,
    /// The mode it is in.
    #[schemars(with = "ModeName")]
    mode: &'static str,
    /// The mode that the policy gives it; left out if the policy has no such rule any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ModeName")]
    policy_mode: Option<&'static str>,
}

/// The words for modes.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "the schema of words that the policy has")]
enum ModeName {
    Enforce,
    Shadow,
    Mark,
}

impl Blocks {
    pub(in crate::api) fn of(gate: &Gate) -> Self {
        let block = |in_force: OrderInForce| match in_force.order {
            Order::Block { rule, until, .. } => Some(BlockInForce {
                of: OfKey {
                    rule,
                    key: in_force.key.unwrap_or_default(),
                    expires_after_ms: expires_after_ms(gate, until),
                    idle: in_force.idle,
                },
            }),
            _ => None,
        };
        Self {
            blocks: gate.orders().into_iter().filter_map(block).collect(),
        }
    }
}

impl Overrides {
    pub(in crate::api) fn of(gate: &Gate) -> Self {
        let altered = |in_force: OrderInForce| match in_force.order {
            Order::Override {
                rule,
                settings,
                until,
                ..
            } => {
                let of = OfKey {
                    rule,
                    key: in_force.key.unwrap_or_default(),
                    expires_after_ms: expires_after_ms(gate, until),
                    idle: in_force.idle,
                };
                Some(OverrideInForce::new(gate, of, &settings))
            }
            _ => None,
        };
        Self {
            overrides: gate.orders().into_iter().filter_map(altered).collect(),
        }
    }
}

impl OverrideInForce {
    /// The override that an order is, if it is one.
    pub(in crate::api) fn of(gate: &Gate, order: &Order) -> Option<Self> {
        let Order::Override {
            rule,
            key,
            settings,
            until,
        } = order
        else {
            return None;
        };
        let policy = gate.policy();
        let (_, compiled) = policy.rule(rule)?;
        let of = OfKey {
            rule: rule.clone(),
            key: compiled.shown_key(key, gate.fingerprints()),
            expires_after_ms: expires_after_ms(gate, *until),
            idle: None,
        };
        Some(Self::new(gate, of, settings))
    }

    fn new(gate: &Gate, of: OfKey, settings: &Alternative) -> Self {
        let policy = gate.policy();
        let allowance = policy
            .rule(&of.rule)
            .and_then(|(index, _)| policy.alternative(index, settings).ok());
        let text = |name| settings.get(name).map(str::to_owned);
        let limit = settings.get("limit").map(|limit| match limit.parse() {
            Ok(units) => Limit::Units(units),
            Err(_) => Limit::Word(limit.to_owned()),
        });
        Self {
            of,
            limit,
            window: text("window"),
            rate: text("rate"),
            burst: settings.get("burst").and_then(|units| units.parse().ok()),
            lease: text("lease"),
            allows: allowance.map(|allowance| allowance.in_words()),
        }
    }
}

impl Modes {
    pub(in crate::api) fn of(gate: &Gate) -> Self {
        let mode = |in_force: OrderInForce| match in_force.order {
            Order::Mode { rule, mode } => Some(RuleMode::of(gate, &rule, mode)),
            _ => None,
        };
        Self {
            modes: gate.orders().into_iter().filter_map(mode).collect(),
        }
    }
}

impl RuleMode {
    pub(in crate::api) fn of(gate: &Gate, rule: &str, mode: Mode) -> Self {
        let policy = gate.policy();
        let own = policy.rule(rule).map(|(_, rule)| rule.mode().word());
        Self {
            rule: rule.to_owned(),
            mode: mode.word(),
            policy_mode: own,
        }
    }
}

fn expires_after_ms(gate: &Gate, until: Option<Micros>) -> Option<u64> {
    let now = gate.clock().now();
    until
        .map(|until| until.since(now))
        .map(Span::as_millis_ceil)
}
