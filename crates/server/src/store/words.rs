//! What is said of a store: where it is, and what is wrong with it. Never a password, nor a URL that
//! may hold one.

use jeton::policy::Policy;
use jeton::redis::RedisStore;
use jeton::{Cost, Op, StoreErrorKind};

use super::Backend;

impl Backend {
    /// Where it is: for people.
    pub fn place(&self) -> String {
        match self {
            Self::Memory(_) => "the memory of this process".to_owned(),
            Self::Disk(kept) => format!("disk at {}", kept.place()),
            Self::Redis(store) => format!("redis at {}", store.named().join(", ")),
        }
    }

    /// Why it gives no decisions: the kind, or what its server said itself if that is the reason.
    pub fn words(&self, why: StoreErrorKind) -> String {
        let said = match self {
            Self::Memory(_) => None,
            Self::Disk(kept) => kept.words(why),
            Self::Redis(store) => said(store, why),
        };
        said.unwrap_or_else(|| why.to_string())
    }

    /// How to find the key at which something else stands than the state of one of these rules.
    pub fn where_to_look(&self, policy: &Policy, rules: &[String]) -> String {
        let Self::Redis(store) = self else {
            return String::new();
        };
        let named = rules.iter().filter_map(|rule| Some(policy.rule(rule)?.1));
        let quotas = named.filter_map(|rule| Some((rule.id(), rule.quota()?)));
        let keys = quotas.map(|(id, quota)| pattern(store, &Op::take(id, b"", quota, Cost::ONE)));
        let keys: Vec<String> = keys.take(SHOWN).collect();
        if keys.is_empty() {
            return String::new();
        }
        let keys = keys.join(" or ");
        format!(
            ". It is among the keys of redis-cli --scan --pattern {keys}: what redis-cli type does \
             not call a string is not ours; the key counts again once that is deleted"
        )
    }
}

/// Patterns that a line holds.
const SHOWN: usize = 3;

/// What the key of an op matches, and those of its rule for other clients.
fn pattern(store: &RedisStore, op: &Op<'_>) -> String {
    let key = store.key_of(op);
    let key = String::from_utf8_lossy(&key);
    let parts = key.split_once('{').zip(key.rsplit_once('}'));
    parts.map_or_else(
        || format!("'{key}'"),
        |((before, _), (_, rule))| format!("'{before}{{*}}{rule}'"),
    )
}

fn said(store: &RedisStore, why: StoreErrorKind) -> Option<String> {
    let trouble = store.latest_trouble()?;
    let is_silent = |kind| matches!(kind, StoreErrorKind::Timeout | StoreErrorKind::Unavailable);
    let kind = StoreErrorKind::from(trouble.kind);
    // Of a server that is silent, calls are told that it cannot be reached.
    let is_the_reason = kind == why || is_silent(kind) && is_silent(why);
    let servers = store.named().join(", ");
    is_the_reason.then(|| format!("the store at {servers}: {trouble}"))
}
