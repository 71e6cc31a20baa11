//! Which requests a rule speaks of, and whose counter they share, in words.

use std::fmt;

use crate::key::KeyPart;
use crate::matching::Match;
use crate::rule::{Allowance, Missing, Rule};

/// Parts that a request may lack though the rule speaks of it. Whether a client has an address is
/// up to the door, not to the client.
pub(super) fn missing(rule: &Rule) -> String {
    // Descriptors that lack an entry are not those of this limit.
    if rule.descriptor.is_some() {
        return String::new();
    }
    let sent = |part: &&KeyPart| {
        matches!(
            part,
            KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Query(_) | KeyPart::Descriptor(_)
        )
    };
    let Match { with, headers, .. } = &rule.matches;
    let certain = |part: &&KeyPart| {
        let by_value =
            |(name, _): &(String, _)| matches!(part, KeyPart::Header(own) if own == name);
        with.contains(part) || headers.iter().any(by_value)
    };
    let parts = rule.key.iter().filter(sent);
    let lacking = parts.filter(|part| !certain(part)).count();
    let is_quota = matches!(rule.allowance, Allowance::Quota(_));
    let what = match rule.missing {
        Missing::Share if is_quota => "one counter together",
        Missing::Share => return String::new(),
        Missing::Skip => "skipped by this rule",
        Missing::Deny => "403",
    };
    match lacking {
        0 => String::new(),
        _ if rule.key.len() == 1 => format!("requests without it: {what}"),
        1 => {
            let part = rule.key.iter().filter(sent).find(|part| !certain(part));
            let part = part.map(self::part).unwrap_or_default();
            format!("requests without {part}: {what}")
        }
        _ => format!("requests without one of them: {what}"),
    }
}

pub(super) fn whose(key: &[KeyPart]) -> String {
    if matches!(key, [] | [KeyPart::Global]) {
        return "for all together".to_owned();
    }
    let parts: Vec<String> = key.iter().map(part).collect();
    format!("per {}", parts.join(" and "))
}

/// `x-api-key header`.
pub(crate) fn part(part: &KeyPart) -> String {
    match part {
        KeyPart::ClientIp(None) => "address".to_owned(),
        KeyPart::ClientIp(Some(prefix)) => format!("address (IPv6 /{})", prefix.bits()),
        KeyPart::Header(name) => format!("{name} header"),
        KeyPart::Cookie(name) => format!("{name} cookie"),
        KeyPart::Query(name) => format!("{name} parameter"),
        KeyPart::Descriptor(name) => format!("{name} descriptor"),
        plain => plain.to_string(),
    }
}

fn any<T: fmt::Display>(list: &[T]) -> Option<String> {
    let all: Vec<String> = list.iter().map(T::to_string).collect();
    (!all.is_empty()).then(|| all.join(" or "))
}

/// Values of header fields are left out: they may be what a client proves itself by.
pub(super) fn scope(rule: &Rule) -> String {
    if let Some(path) = &rule.descriptor {
        return format!("descriptors {path}");
    }
    let matches = &rule.matches;
    let all = |list: &[KeyPart]| {
        let all: Vec<String> = list.iter().map(part).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    };
    let headers = matches
        .headers
        .iter()
        .map(|(name, _)| format!("with the right {name}"));
    let everything = matches.methods.is_empty() && matches.paths.is_empty();
    let words = [
        (everything && !matches.is_everything()).then(|| "requests".to_owned()),
        any(&matches.domains).map(|domains| format!("of the domain {domains}")),
        any(&matches.methods),
        any(&matches.paths),
        any(&matches.hosts).map(|hosts| format!("on {hosts}")),
        all(&matches.with).map(|parts| format!("with {parts}")),
        all(&matches.without).map(|parts| format!("without {parts}")),
    ];
    words
        .into_iter()
        .flatten()
        .chain(headers)
        .collect::<Vec<_>>()
        .join(" ")
}
