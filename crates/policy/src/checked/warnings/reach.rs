//! Rules that never get to speak.

use crate::checked::Draft;
use crate::diagnostic::{Fault, code, nearest};
use crate::envoy::Domain;
use crate::key::KeyPart;
use crate::raw::Context;
use crate::rule::{Allowance, Missing, Rule};
use crate::settings::Settings;

/// Warns of every rule that no request can reach.
pub(super) fn warn(cx: &mut Context<'_>, settings: &Settings, drafts: &[Draft]) {
    for draft in drafts {
        let rule = &draft.rule;
        let alone = contradiction(rule).or_else(|| unknown_descriptor(rule, settings));
        let alone = alone.or_else(|| unknown_to_envoy(rule, settings));
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

/// Envoy sends descriptors, and nothing else of a request.
fn unknown_to_envoy(rule: &Rule, settings: &Settings) -> Option<Reason> {
    let Settings {
        proxy,
        api,
        rls,
        resp,
        ..
    } = settings;
    let only_descriptors = rls.is_some() && proxy.is_none() && api.is_none() && resp.is_none();
    let of_http = |part: &&KeyPart| {
        matches!(
            part,
            KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Query(_)
        )
    };
    let matches = &rule.matches;
    let unknown = [
        ("path", !matches.paths.is_empty()),
        ("method", !matches.methods.is_empty()),
        ("host", !matches.hosts.is_empty()),
        ("header", !matches.headers.is_empty()),
    ];
    let condition = unknown.into_iter().find(|(_, is_there)| *is_there);
    let condition = condition.map(|(word, _)| word.to_owned());
    let part = || Some(matches.with.iter().find(of_http)?.to_string());
    let what = condition.or_else(part).filter(|_| only_descriptors)?;
    let why = format!("[rls] is the only door, and Envoy tells it no {what}");
    let fix =
        "match = { with = [\"descriptor:NAME\"] }, of what Envoy's route sends; or another door";
    Some((why, fix))
}

/// A domain that looks like a slip of the fingers for one that a file has. Others may be those of rules
/// alone.
pub(super) fn warn_about_domains(cx: &mut Context<'_>, drafts: &[Draft], domains: &[Domain]) {
    let known = |name: &str| domains.iter().any(|domain| domain.name == name);
    for Draft { rule, marks } in drafts {
        for domain in &rule.matches.domains {
            let name = domain.get();
            let near = nearest(name, domains.iter().map(|domain| &*domain.name));
            let (false, Some(near)) = (known(name), near) else {
                continue;
            };
            let what = format!(
                "{:?} is for the domain {domain}, of which no file of [rls] speaks",
                rule.name
            );
            let fault = Fault::new(code::DESCRIPTORS, what)
                .label(format!("did you mean {near:?}?"))
                .fix(format!(
                    "domain = {near:?}; or keep it, if Envoy sends both"
                ));
            cx.findings.warning(marks.name, fault);
        }
    }
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
