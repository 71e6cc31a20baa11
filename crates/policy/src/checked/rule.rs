//! One `[[rule]]`.

mod words;

use jeton_wire::ratelimit::{MAX_NAME_LEN, is_policy_name};

use super::allowance::{self, allowance};
use super::matches::matches;
use super::{Draft, Marks, failure, plans, settling};
use crate::compiled::BROUGHT;
use crate::diagnostic::{Fault, code};
use crate::envoy::PREFIX;
use crate::key::KeyPart;
use crate::language::names;
use crate::matching::Match;
use crate::raw::{Context, Item, Section};
use crate::rule::{Missing, Mode, Rule};

pub(super) use words::RULE;

const MISSING: [(&str, Missing); 3] = [
    ("share", Missing::Share),
    ("skip", Missing::Skip),
    ("deny", Missing::Deny),
];
const MISSING_WORDS: &[&str] = &names(&MISSING);

const MODES: [(&str, Mode); 3] = [
    ("enforce", Mode::Enforce),
    ("shadow", Mode::Shadow),
    ("mark", Mode::Mark),
];
const MODE_WORDS: &[&str] = &names(&MODES);

/// More parts make no key that anybody could explain.
const MAX_PARTS: usize = 8;

pub(super) fn rule(cx: &mut Context<'_>, item: &Item) -> Option<Draft> {
    let section = Section::open(cx, &RULE, item)?;
    let name = name(cx, &section);
    let matches = matches(cx, &section);
    let allowance = allowance(cx, &section);
    let key = key(cx, &section, matches.as_ref());
    let missing = missing(cx, &section, key.as_deref());
    let mode = mode(cx, &section);
    let plan = plans::plans(cx, &section, allowance.as_ref());
    let trial = plans::trial(cx, &section, allowance.as_ref());
    let on_failure = failure::on_failure(cx, &section);
    let replaces = section.each_shown(cx, "replaces", |name| Ok(name.to_owned()));
    let secret_key = secret_key(cx, &section, key.as_deref());

    let replaces = replaces.unwrap_or_default().into_iter();
    let (replaces, places) = replaces.map(|name| (name.value, name.mark)).unzip();
    let burst = if section.has("burst") {
        "burst"
    } else {
        "rate"
    };
    let marks = Marks {
        name: section.mark_of("name"),
        algorithm: allowance::value_mark(&section, "algorithm"),
        burst: allowance::value_mark(&section, burst),
        limit: allowance::value_mark(&section, "limit"),
        key: allowance::value_mark(&section, "key"),
        plan: section.mark_of("plan"),
        plans: section.mark_of("plans"),
        cost: section.mark_of("cost"),
        count: section.mark_of("count"),
        max_debt: section.mark_of("max_debt"),
        replaces: places,
    };
    // What they cost is read even where the name is wrong; only what allows nothing has no cost.
    let mut rule = Rule {
        missing,
        algorithm: allowance::algorithm_word(&section),
        mode,
        plan,
        trial,
        on_failure,
        replaces,
        secret_key,
        ..Rule::new(String::new(), Vec::new(), allowance?)
    };
    settling::settle(cx, &section, &mut rule);
    rule.name = name?;
    rule.matches = matches?;
    rule.key = key?;
    Some(Draft { rule, marks })
}

/// A name stands in header fields, metrics and logs.
fn name(cx: &mut Context<'_>, section: &Section<'_>) -> Option<String> {
    section.require(cx, "name", "name = \"everyone\"");
    let name = section.parsed_shown(cx, "name", |name| {
        if name == BROUGHT {
            let what =
                format!("{name:?} is the rule whose quotas come with the commands of [resp]");
            return Err(Fault::new(code::NAME, what).fix("another name"));
        }
        if name.starts_with(PREFIX) {
            let what =
                format!("names that begin with {PREFIX:?} are those of limits in files of [rls]");
            return Err(Fault::new(code::NAME, what).fix("another name"));
        }
        if is_policy_name(name) {
            return Ok(name.to_owned());
        }
        let fault = Fault::new(code::NAME, "the name of a rule stands in header fields").fix(
            format!("1 to {MAX_NAME_LEN} printable ASCII characters without \" and \\"),
        );
        Err(match name.len() {
            0 => fault.label("it is empty"),
            len if len > MAX_NAME_LEN => fault.label(format!("these are {len}")),
            _ => fault.label("it has another character"),
        })
    })?;
    Some(name.value)
}

fn key(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    matches: Option<&Match>,
) -> Option<Vec<KeyPart>> {
    if !section.has("key") && allowance::is_word(section) {
        return Some(Vec::new());
    }
    section.require(cx, "key", "key = [\"client-ip\"]");
    if section.has_empty_list("key") {
        let fault = Fault::new(code::EMPTY, "a key without parts is nobody's")
            .fix("key = [\"client-ip\"], or [\"global\"] for one counter of all");
        return cx.error(allowance::value_mark(section, "key"), fault);
    }
    let parts = key_parts_of(cx, section, "key")?;
    let has_path = matches.is_none_or(|matches| !matches.paths.is_empty());
    let mark = allowance::value_mark(section, "key");
    cx.findings.keep(mark, key_faults(&parts, has_path))?;
    Some(parts)
}

/// Key parts, here and in `with` and `without`.
pub(super) fn key_parts_of(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    key: &str,
) -> Option<Vec<KeyPart>> {
    let parts = section.each_shown(cx, key, KeyPart::parse)?;
    Some(parts.into_iter().map(|part| part.value).collect())
}

/// Reads key parts of a command-line flag.
pub(crate) fn key_parts(texts: &[&str]) -> Result<Vec<KeyPart>, Fault> {
    let parts: Vec<KeyPart> = texts
        .iter()
        .map(|text| KeyPart::parse(text))
        .collect::<Result<_, _>>()?;
    key_faults(&parts, false)?;
    Ok(parts)
}

/// What is wrong with parts that are right one by one.
fn key_faults(parts: &[KeyPart], has_path: bool) -> Result<(), Fault> {
    let twice = parts
        .iter()
        .enumerate()
        .find(|(at, part)| parts[..*at].contains(part));
    if let Some((_, part)) = twice {
        return Err(
            Fault::new(code::DUPLICATE, format!("the key has \"{part}\" twice"))
                .fix("name it once"),
        );
    }
    if parts.len() > MAX_PARTS {
        return Err(Fault::new(
            code::TOO_MANY,
            format!("a key has at most {MAX_PARTS} parts"),
        )
        .fix("fewer parts, or one header field that stands for them"));
    }
    if parts.len() > 1 && parts.contains(&KeyPart::Global) {
        let what = "\"global\" is one counter for everybody, the other parts are one for each";
        return Err(Fault::new(code::CONTRADICTION, what).fix("leave \"global\" out"));
    }
    if parts.contains(&KeyPart::Route) && !has_path {
        let what = "\"route\" is the path pattern that matched, and this rule has none";
        return Err(
            Fault::new(code::CONTRADICTION, what).fix("match = { path = \"/…\" }, or \"path\"")
        );
    }
    Ok(())
}

fn missing(cx: &mut Context<'_>, section: &Section<'_>, key: Option<&[KeyPart]>) -> Missing {
    const NEVER: &str = "has no effect: no part of this key can be missing";
    if matches!(key, Some([] | [KeyPart::Global])) {
        section.refuse(cx, "missing", NEVER, "leave it out");
    }
    section
        .word(cx, "missing", &MISSING, &[])
        .unwrap_or_default()
}

fn mode(cx: &mut Context<'_>, section: &Section<'_>) -> Mode {
    section.word(cx, "mode", &MODES, &[]).unwrap_or_default()
}

fn secret_key(cx: &mut Context<'_>, section: &Section<'_>, key: Option<&[KeyPart]>) -> bool {
    let credential = key.and_then(|parts| parts.iter().find(|part| part.is_credential()));
    match (section.flag(cx, "secret_key"), credential) {
        (Some(false), Some(part)) => {
            let why = format!("cannot be false: \"{part}\" is always shown as a fingerprint");
            section.refuse(cx, "secret_key", &why, "leave it out");
            true
        }
        (flag, credential) => flag.unwrap_or(false) || credential.is_some(),
    }
}
