//! The identity of a rule on every store.

use jeton_core::RuleId;
use jeton_wire::client_ip::Ipv6Prefix;
use sha2::{Digest, Sha256};

use super::charge::Counter;
use crate::envoy::PREFIX;
use crate::key::KeyPart;
use crate::rule::Rule;

/// The first eight bytes, big-endian, of SHA-256 over `jeton.rule.1`, the counter, the name and
/// the parts of the key, each preceded by its length in eight bytes.
///
/// The same on every node and after every restart; another name or another key is another
/// counter, another limit is not. A limit of a file of descriptors is told by its path instead of its name. What a part means is spelled out: `client-ip` carries the
/// prefix in force, and `path` whether letters tell case apart.
pub(super) fn rule_id(rule: &Rule, prefix: Ipv6Prefix, counter: Counter) -> RuleId {
    let counter = match counter {
        Counter::Requests => "requests",
        Counter::Preflights => "preflights",
        Counter::Trial => "trial",
    };
    let parts = rule.key.iter().map(|part| match part {
        KeyPart::ClientIp(own) => KeyPart::ClientIp(Some(own.unwrap_or(prefix))).to_string(),
        KeyPart::Path if rule.matches.match_case => "path:match-case".to_owned(),
        part => part.to_string(),
    });
    match &rule.descriptor {
        Some(path) => id_of(counter, PREFIX, path.texts().chain(parts)),
        None => id_of(counter, &rule.name, parts),
    }
}

/// The same of words.
pub(super) fn id_of(counter: &str, name: &str, parts: impl IntoIterator<Item = String>) -> RuleId {
    let mut hash = Sha256::new();
    let mut feed = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    feed("jeton.rule.1");
    feed(counter);
    feed(name);
    parts.into_iter().for_each(|part| feed(&part));
    let digest = hash.finalize();
    let head = digest
        .iter()
        .take(8)
        .fold(0, |id: u64, byte| id << 8 | u64::from(*byte));
    RuleId::new(head)
}
