//! Keys that anybody can invent: a new value is a new counter, and a full one.

use super::reach::may_be_skipped;
use crate::checked::Draft;
use crate::diagnostic::{Fault, code};
use crate::key::KeyPart;
use crate::matching::Match;
use crate::raw::Context;
use crate::rule::{Allowance, Rule, Terms};

/// Warns of rules whose key clients choose, unless a rule by address speaks of the same requests.
pub(super) fn warn(cx: &mut Context<'_>, drafts: &[Draft]) {
    for draft in drafts {
        let rule = &draft.rule;
        let limits = matches!(rule.allowance, Allowance::Quota(_)) && rule.mode.has_vote();
        let Some(part) = invented(&rule.key, &rule.matches).filter(|_| limits) else {
            continue;
        };
        if !drafts.iter().any(|guard| guards(&guard.rule, rule, drafts)) {
            let fault = fault(&rule.name, part)
                .fix("a second [[rule]] beside it, with key = [\"client-ip\"]");
            cx.findings.warning(draft.marks.key, fault);
        }
    }
}

/// The finding, without its fix.
pub(crate) fn fault(name: &str, part: &KeyPart) -> Fault {
    let what = format!("anyone can invent values of \"{part}\", the key of {name:?}");
    Fault::new(code::INVENTED_KEY, what).label("a new value is a new, full counter")
}

/// A part that clients choose, of a key that has nothing else to hold them by.
pub(crate) fn invented<'k>(key: &'k [KeyPart], matches: &Match) -> Option<&'k KeyPart> {
    let held = |part: &KeyPart| matches!(part, KeyPart::ClientIp(_) | KeyPart::Descriptor(_));
    if key.iter().any(held) {
        return None;
    }
    key.iter().find(|part| match part {
        // One value only, if `match` asks for just that.
        KeyPart::Header(name) => matches.headers.iter().all(|(field, _)| field != name),
        KeyPart::Cookie(_) | KeyPart::Query(_) => true,
        _ => false,
    })
}

/// Whether `guard` holds all clients of `rule` by their address.
fn guards(guard: &Rule, rule: &Rule, drafts: &[Draft]) -> bool {
    let by_address = |part: &KeyPart| matches!(part, KeyPart::ClientIp(_));
    let lifted = |other: &Rule| {
        other.replaces.contains(&guard.name)
            && other.mode.has_vote()
            && other.matches.covers(&rule.matches)
    };
    // What counts some answers only, or what is in flight, bounds nobody over time.
    let over_time = |terms: &Terms| !matches!(terms, Terms::Concurrency { .. });
    guard.mode.has_vote()
        && matches!(&guard.allowance, Allowance::Quota(terms) if over_time(terms))
        && guard.count.is_none()
        && guard.key.iter().any(by_address)
        && invented(&guard.key, &guard.matches).is_none()
        && guard.matches.covers(&rule.matches)
        && !may_be_skipped(guard)
        && !drafts.iter().any(|other| lifted(&other.rule))
}
