//! Rules that never get to speak.

use crate::checked::Draft;
use crate::diagnostic::{Fault, code};
use crate::key::KeyPart;
use crate::raw::Context;
use crate::rule::{Allowance, Missing, Rule};
use crate::settings::Settings;

/// Warns of every rule that no request can reach.
pub(super) fn warn(cx: &mut Context<'_>, settings: &Settings, drafts: &[Draft]) {
    for draft in drafts {
        let rule = &draft.rule;
        let alone = contradiction(rule).or_else(|| unknown_descriptor(rule, settings));
        let others = drafts.iter().map(|other| &other.rule);
        let shadowed = || others.filter(|other| other.name != rule.name);
        let found = alone.or_else(|| shadowed().find_map(|other| silenced(rule, other)));
        if let Some((why, fix)) = found {
            let what = format!("{:?} never applies: {why}", rule.name);
            let fault = Fault::new(code::NEVER_APPLIES, what).fix(fix);
            cx.findings.warning(draft.marks.name, fault);
        }
    }
}

/// Why, and what to write instead.
type Reason = (String, &'static str);

fn contradiction(rule: &Rule) -> Option<Reason> {
    if let Some(why) = rule.matches.contradiction() {
        return Some((why, "keep one of the two conditions"));
    }
    let absent = |part: &&KeyPart| rule.matches.excludes(part);
    let part = rule.key.iter().find(absent)?;
    (rule.missing == Missing::Skip).then(|| {
        let why = format!("its key has \"{part}\", which `without` rules out");
        (why, "another key, or leave `missing` out")
    })
}

/// The doors of a file know what HTTP tells; descriptors have names only their callers know.
fn unknown_descriptor(rule: &Rule, settings: &Settings) -> Option<Reason> {
    let only_http = settings.proxy.is_some() && settings.api.is_none();
    let needed = rule.matches.with.iter();
    let skipped = rule.key.iter().filter(|_| rule.missing == Missing::Skip);
    let descriptor = |part: &&KeyPart| matches!(part, KeyPart::Descriptor(_));
    let part = needed.chain(skipped).find(descriptor)?;
    only_http.then(|| {
        let why = format!("[proxy] knows no \"{part}\"");
        (why, "header:NAME, cookie:NAME or query:NAME")
    })
}

/// Whether `other` speaks of all requests of `rule` and leaves it nothing to say.
fn silenced(rule: &Rule, other: &Rule) -> Option<Reason> {
    if !other.matches.covers(&rule.matches) || may_be_skipped(other) {
        return None;
    }
    let votes = other.mode.has_vote();
    let denies = other.allowance == Allowance::Deny && other.plan.is_none();
    if votes && denies && rule.allowance != Allowance::Deny {
        let why = format!("{:?} denies all its requests", other.name);
        return Some((why, "a narrower `match` for the rule that denies"));
    }
    let replaces = other.replaces.contains(&rule.name) && (votes || !rule.mode.has_vote());
    replaces.then(|| {
        let why = format!("{:?} replaces it for all its requests", other.name);
        (
            why,
            "a narrower `match` for the rule that replaces, or remove this one",
        )
    })
}

/// Whether a rule may pass over requests that it matches.
pub(super) fn may_be_skipped(rule: &Rule) -> bool {
    rule.missing == Missing::Skip && !matches!(rule.key.as_slice(), [] | [KeyPart::Global])
}
