//! What is said of a store: where it is, and what is wrong with it. Never a password, nor a URL that
//! may hold one.

use jeton::StoreErrorKind;
use jeton::redis::RedisStore;

use super::Backend;

impl Backend {
    /// Where it is: for people.
    pub fn place(&self) -> String {
        match self {
            Self::Memory(_) => "the memory of this process".to_owned(),
            Self::Redis(store) => format!("redis at {}", store.named().join(", ")),
        }
    }

    /// Why it gives no decisions: the kind, or what its server said itself if that is the reason.
    pub fn words(&self, why: StoreErrorKind) -> String {
        let said = match self {
            Self::Memory(_) => None,
            Self::Redis(store) => said(store, why),
        };
        said.unwrap_or_else(|| why.to_string())
    }
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
