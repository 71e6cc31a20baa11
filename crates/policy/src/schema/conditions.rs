//! Which settings exclude or need each other.

use serde_json::{Value, json};

use crate::checked::{AlgorithmWords, DISK_WORDS, REDIS_WORDS};

/// What holds for the settings of a section taken together.
pub(super) fn of(section: &str) -> Value {
    match section {
        "[client_ip]" => client_ip(),
        "[store]" => store(),
        "[[rule]]" => rule(),
        _ => json!({}),
    }
}

/// A server has a URL, and nothing else has one. Of a kind that stands elsewhere nobody knows.
fn store() -> Value {
    let is = |kind: &str| json!({ "properties": { "kind": { "const": kind } } });
    json!({
        "dependentRequired": { "lease_for": ["lease"] },
        "allOf": [
            {
                "if": { "allOf": [is("redis"), { "required": ["kind"] }] },
                "then": { "required": ["url"] },
            },
            { "if": is("memory"), "then": { "properties": never(&DISK_WORDS) } },
            {
                "if": { "allOf": [is("redis"), { "required": ["kind"] }] },
                "then": { "properties": never(&DISK_WORDS) },
            },
            {
                "if": { "anyOf": [is("memory"), is("disk")] },
                "then": { "properties": never(&REDIS_WORDS) },
            },
        ],
    })
}

/// Anybody can send a header: it must be said who is believed, and in one way.
fn client_ip() -> Value {
    let in_use = json!({
        "properties": { "header": { "type": "string", "not": { "pattern": "^[Nn][Oo][Nn][Ee]$" } } },
        "required": ["header"],
    });
    json!({
        "not": { "required": ["trusted", "hops"] },
        "dependentRequired": { "trusted": ["header"], "hops": ["header"] },
        "if": in_use,
        "then": { "anyOf": [{ "required": ["trusted"] }, { "required": ["hops"] }] },
    })
}

/// A word for `limit`, a bucket with `rate` and `burst`, or a window with `limit` and `window`.
fn rule() -> Value {
    let by_word = json!({
        "properties": { "limit": { "type": ["string", "object"] } },
        "required": ["limit"],
    });
    let AlgorithmWords {
        buckets,
        windows,
        leases,
    } = AlgorithmWords::all();
    let sliding: Vec<&str> = windows
        .iter()
        .copied()
        .filter(|word| *word != "fixed-window")
        .collect();
    json!({
        "dependentRequired": { "plan": ["plans"], "plans": ["plan"] },
        "if": by_word,
        "then": { "properties": never(&["rate", "burst"]) },
        "else": {
            "required": ["key", "algorithm"],
            "allOf": [
                algorithm(&buckets, &["rate"], &["limit", "window", "anchor", "lease"]),
                algorithm(&windows, &["limit", "window"], &["rate", "burst", "lease"]),
                algorithm(&leases, &["limit", "lease"], &["rate", "burst", "window", "anchor"]),
                algorithm(&sliding, &[], &["anchor"]),
            ],
        },
    })
}

/// What these algorithms need, and what they have no use for.
fn algorithm(words: &[&str], needed: &[&str], refused: &[&str]) -> Value {
    json!({
        "if": { "properties": { "algorithm": { "enum": words } }, "required": ["algorithm"] },
        "then": { "required": needed, "properties": never(refused) },
    })
}

fn never(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), Value::Bool(false)))
        .collect()
}
