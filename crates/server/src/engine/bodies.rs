//! What each op takes, as it is written. These types are what is read, and what the schema of the
//! API is made from.

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;
use serde_json::json;

use super::fields::{Given, Lasting, Limit, ModeWord, Object, Text, Texts, Whole};
use super::request::Request;

/// Charge every rule that applies, or none: one step. The charges are named by `rule` and `key`, by
/// `charges`, or by the `request` that would make them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = one_subject)]
pub(crate) struct Take<'a> {
    /// The rule's name.
    pub(super) rule: Given<Text<'a>>,
    /// Whose counter: a text, or an array of texts for a key of several parts. Normalised as a
    /// door would.
    pub(super) key: Given<Texts<'a>>,
    /// Units; if left out, what the rule says a request costs, which is 1 unless it says otherwise.
    /// 0 looks.
    pub(super) cost: Given<Whole>,
    /// The plan to go by, of those the rule has.
    pub(super) plan: Given<Text<'a>>,
    /// Whether each decision comes with a receipt, by which exactly this charge can be refunded.
    pub(super) receipt: Given<bool>,
    /// Several charges, decided together.
    #[schemars(length(min = 1, max = 32))]
    pub(super) charges: Given<Vec<Object<Charge<'a>>>>,
    /// A request: charged what the policy says.
    pub(super) request: Given<Object<Box<Request<'a>>>>,
}

/// Answer as a take of that cost would, and change nothing. Remaining and reset are the present
/// state.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = one_subject)]
pub(crate) struct Check<'a> {
    /// The rule's name.
    pub(super) rule: Given<Text<'a>>,
    /// Whose counter.
    pub(super) key: Given<Texts<'a>>,
    /// Units; if left out, what the rule says a request costs.
    pub(super) cost: Given<Whole>,
    /// The plan to go by.
    pub(super) plan: Given<Text<'a>>,
    /// Several charges, decided together.
    #[schemars(length(min = 1, max = 32))]
    pub(super) charges: Given<Vec<Object<Charge<'a>>>>,
    /// A request.
    pub(super) request: Given<Object<Box<Request<'a>>>>,
}

/// Give units back. With a receipt exactly that charge, and nothing once its window is over;
/// without, a count not below 0 and a bucket not above full.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = one_subject)]
pub(crate) struct Refund<'a> {
    /// The rule's name.
    pub(super) rule: Given<Text<'a>>,
    /// Whose counter.
    pub(super) key: Given<Texts<'a>>,
    /// Units; if left out, what the rule says a request costs, or all that the receipt is for.
    pub(super) cost: Given<Whole>,
    /// The plan it was charged under.
    pub(super) plan: Given<Text<'a>>,
    /// The receipt of the charge.
    pub(super) receipt: Given<Text<'a>>,
    /// Several of them.
    #[schemars(length(min = 1, max = 32))]
    pub(super) charges: Given<Vec<Object<Refunded<'a>>>>,
    /// A request: whatever it would be charged.
    pub(super) request: Given<Object<Box<Request<'a>>>>,
}

/// Forget the state of a key: in one rule, or, without `rule`, in every rule whose key has that
/// many parts.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = one_subject_or_a_key)]
pub(crate) struct Reset<'a> {
    /// The rule's name; every rule that has such keys if left out.
    pub(super) rule: Given<Text<'a>>,
    /// Whose counter.
    pub(super) key: Given<Texts<'a>>,
    /// Several of them.
    #[schemars(length(min = 1, max = 32))]
    pub(super) charges: Given<Vec<Object<Counter<'a>>>>,
    /// A request: the counters it would be charged to.
    pub(super) request: Given<Object<Box<Request<'a>>>>,
}

/// Charge an estimate, and be given a handle to settle it with. What is not settled stays charged.
/// The units of a `concurrency` rule are taken this way.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = one_subject)]
pub(crate) struct Reserve<'a> {
    /// The rule's name.
    pub(super) rule: Given<Text<'a>>,
    /// Whose counter.
    pub(super) key: Given<Texts<'a>>,
    /// The estimate; if left out, what the rule says a request costs.
    pub(super) cost: Given<Whole>,
    /// The plan to go by.
    pub(super) plan: Given<Text<'a>>,
    /// How long the handle is good for, from `1s` to `7d`; `10m` if left out.
    pub(super) ttl: Given<Lasting>,
    /// Several charges, decided together.
    #[schemars(length(min = 1, max = 32))]
    pub(super) charges: Given<Vec<Object<Charge<'a>>>>,
    /// A request.
    pub(super) request: Given<Object<Box<Request<'a>>>>,
}

/// Keep a reservation for longer: its handle for another `ttl`, the units of a `concurrency` rule
/// for another lease.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Extend<'a> {
    /// The handle that reserving gave.
    pub(super) handle: Text<'a>,
    /// How long the handle is good for from now on; as long as at first if left out.
    #[serde(default)]
    pub(super) ttl: Given<Lasting>,
}

/// Settle a reservation at what it has really cost. Below the estimate the rest is given back;
/// above, the excess is charged and may become debt.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Commit<'a> {
    /// The handle that reserving gave.
    pub(super) handle: Text<'a>,
    /// Units that each of its charges has really cost.
    pub(super) actual: Whole,
}

/// Settle a reservation at nothing: all of it is given back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Cancel<'a> {
    /// The handle that reserving gave.
    pub(super) handle: Text<'a>,
}

/// Refuse a key: in one rule, or, without `rule`, in every rule whose key has that many parts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Block<'a> {
    /// The rule's name; every rule that has such keys if left out.
    #[serde(default)]
    pub(super) rule: Given<Text<'a>>,
    /// Whose requests.
    pub(super) key: Texts<'a>,
    /// For how long; until it is lifted if left out.
    #[serde(default, rename = "for")]
    pub(super) lasting: Given<Lasting>,
}

/// Lift a block: in one rule, or, without `rule`, in every rule whose key has that many parts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Unblock<'a> {
    /// The rule's name; every rule that has such keys if left out.
    #[serde(default)]
    pub(super) rule: Given<Text<'a>>,
    /// Whose requests.
    pub(super) key: Texts<'a>,
}

/// One of several charges.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Charge<'a> {
    /// The rule's name.
    pub(super) rule: Text<'a>,
    /// Whose counter.
    #[serde(default)]
    pub(super) key: Given<Texts<'a>>,
    /// Units; if left out, what the rule says a request costs.
    #[serde(default)]
    pub(super) cost: Given<Whole>,
    /// The plan to go by.
    #[serde(default)]
    pub(super) plan: Given<Text<'a>>,
}

/// One of several charges that are given back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Refunded<'a> {
    /// The rule's name.
    pub(super) rule: Text<'a>,
    /// Whose counter.
    #[serde(default)]
    pub(super) key: Given<Texts<'a>>,
    /// Units; if left out, what the rule says a request costs, or all that the receipt is for.
    #[serde(default)]
    pub(super) cost: Given<Whole>,
    /// The plan it was charged under.
    #[serde(default)]
    pub(super) plan: Given<Text<'a>>,
    /// The receipt of the charge.
    #[serde(default)]
    pub(super) receipt: Given<Text<'a>>,
}

/// One of several counters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'a"))]
pub(crate) struct Counter<'a> {
    /// The rule's name.
    pub(super) rule: Text<'a>,
    /// Whose counter.
    #[serde(default)]
    pub(super) key: Given<Texts<'a>>,
}

/// Give a key another allowance. The counter stays: units owed are kept. What is left out stays as
/// the rule has it, but the burst of a new rate, which is what one of its periods gives.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'a"))]
#[schemars(transform = some_setting)]
pub(crate) struct Override<'a> {
    /// Units, or `unlimited`, or `deny`.
    pub(super) limit: Given<Limit<'a>>,
    /// The length of a window, such as `1m`.
    pub(super) window: Given<Text<'a>>,
    /// What comes back to a bucket, such as `50/s`.
    pub(super) rate: Given<Text<'a>>,
    /// Units at once from a full bucket; with `rate` alone, those of one of its periods.
    pub(super) burst: Given<Whole>,
    /// How long a holder may stay silent, such as `30s`.
    pub(super) lease: Given<Text<'a>>,
    /// For how long; until it is lifted if left out.
    #[serde(rename = "for")]
    pub(super) lasting: Given<Lasting>,
}

/// Put a rule into another mode.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Mode")]
pub(crate) struct ModeOf {
    /// Whether the rule has a vote.
    pub(super) mode: ModeWord,
}

fn some_setting(schema: &mut Schema) {
    let one =
        ["limit", "window", "rate", "burst", "lease"].map(|name| json!({ "required": [name] }));
    schema.insert("anyOf".to_owned(), json!(one));
}

/// One way to say what is meant, and not two of them: what belongs to one rule stands beside `rule`
/// only.
fn one_subject(schema: &mut Schema) {
    subjects(schema, &["rule"]);
}

fn one_subject_or_a_key(schema: &mut Schema) {
    subjects(schema, &["rule", "key"]);
}

fn subjects(schema: &mut Schema, naming: &[&str]) {
    let has = |member: &str| schema.pointer(&format!("/properties/{member}")).is_some();
    let without = |members: &[&str]| {
        let members = members.iter().filter(|member| has(member));
        let absent: Vec<_> = members
            .map(|member| json_schema!({ "required": [member] }))
            .collect();
        json_schema!({ "anyOf": absent })
    };
    let one_rule = ["rule", "key", "plan", "cost"];
    let refunds = schema.pointer("/properties/receipt/type") == Some(&"string".into());
    let beside = if refunds { &["receipt"][..] } else { &[] };
    let named: Vec<_> = naming
        .iter()
        .map(|member| json_schema!({ "required": [member] }))
        .collect();
    let others = |with: &'static str| [&one_rule[..], beside, &[with]].concat();
    let of_request: Vec<_> = others("charges")
        .into_iter()
        .filter(|it| *it != "cost")
        .collect();
    let ways = json_schema!({ "oneOf": [
        { "anyOf": named, "not": without(&["charges", "request"]) },
        { "required": ["charges"], "not": without(&others("request")) },
        { "required": ["request"], "not": without(&of_request) },
    ]});
    schema
        .ensure_object()
        .extend(ways.as_object().cloned().unwrap_or_default());
}
