//! Reads one value. What it is not is said with what it should be.

use std::ops::RangeInclusive;

use super::resolve::resolve;
use super::{Context, Item, Later, Table, Value};
use crate::diagnostic::{Fault, code, nearest};
use crate::setting::{Origin, Setting};
use crate::source::Mark;

/// A value that was read, and where.
#[derive(Clone, Debug)]
pub(crate) struct Spotted<T> {
    pub(crate) value: T,
    pub(crate) mark: Mark,
}

pub(crate) type Text = Setting<String>;

/// A text, or a reference to one.
pub(crate) fn text(cx: &mut Context<'_>, key: &str, item: &Item) -> Option<Spotted<Text>> {
    let text = match &item.value {
        Value::Text(text) => Ok(Setting::literal(text.clone())),
        Value::Table(table) => reference(table).and_then(|origin| resolve(cx.resolver, origin)),
        other => Err(wrong_type(
            key,
            "a text in quotes",
            &format!("{key} = \"…\""),
            other,
        )),
    };
    let value = cx.findings.keep(item.mark, text)?;
    Some(Spotted {
        value,
        mark: item.mark,
    })
}

fn reference(table: &Table) -> Result<Origin, Fault> {
    let single = match table.entries.as_slice() {
        [entry] => Some((entry.key.as_str(), &entry.item.value)),
        _ => None,
    };
    match single {
        Some(("env", Value::Text(name))) if !name.is_empty() => Ok(Origin::Env(name.clone())),
        Some(("file", Value::Text(path))) if !path.is_empty() => Ok(Origin::File(path.clone())),
        _ => Err(Fault::new(
            code::REFERENCE,
            "a reference names either a variable or a file",
        )
        .fix("{ env = \"NAME\" } or { file = \"PATH\" }")),
    }
}

/// A text as `parse` understands it.
pub(super) fn parsed<T>(
    cx: &mut Context<'_>,
    key: &str,
    text: &Spotted<Text>,
    parse: impl FnOnce(&str) -> Result<T, Fault>,
) -> Option<Spotted<Setting<T>>> {
    let result = parse(text.value.get()).map_err(|fault| match text.value.origin() {
        Origin::Literal => fault,
        // Words about a URL never quote it: see `redis_url`.
        _ if fault.code == code::STORE_URL => Fault {
            what: format!("{} {}", fault.what, text.value),
            ..fault
        },
        // What the parser says may quote the value.
        _ => Fault::new(fault.code, format!("`{key}` {} cannot be used", text.value))
            .label("the value is not shown")
            .fix("a value that would be read if it stood here"),
    });
    let value = cx.findings.keep(text.mark, result)?;
    let value = Setting::new(value, text.value.origin().clone());
    Some(Spotted {
        value,
        mark: text.mark,
    })
}

/// Names and parts of keys stand in headers, metrics and messages: they cannot be secrets.
pub(super) fn shown<T>(
    cx: &mut Context<'_>,
    key: &str,
    spotted: Spotted<Setting<T>>,
) -> Option<Spotted<T>> {
    let mark = spotted.mark;
    match spotted.value.into_shown() {
        Some(value) => Some(Spotted { value, mark }),
        None => cx.error(
            mark,
            Fault::new(code::REFERENCE, format!("`{key}` is shown everywhere"))
                .label("so it cannot be a secret")
                .fix("write it out"),
        ),
    }
}

/// The meaning of a word, or which words there are.
pub(crate) fn word<T: Copy>(
    key: &str,
    text: &str,
    words: &[(&str, T)],
    later: &[Later],
) -> Result<T, Fault> {
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*meaning);
    }
    if let Some(later) = later.iter().find(|later| later.word == text) {
        return Err(later.fault(&format!("{key} = {text:?}")));
    }
    let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
    let fault = Fault::new(
        code::WORD,
        format!("`{key}` does not know the word {text:?}"),
    );
    Err(
        match (
            nearest(text, words.iter().map(|(word, _)| *word)),
            all.as_slice(),
        ) {
            (Some(near), _) => fault
                .label(format!("did you mean {near:?}?"))
                .fix(format!("{key} = {near:?}")),
            (None, [only]) => fault.fix(format!("{key} = {only}")),
            (None, all) => fault.fix(format!("one of {}", all.join(", "))),
        },
    )
}

/// A number in a range that does not hold 0 by accident.
pub(super) fn whole_number(
    key: &str,
    value: &Value,
    range: &RangeInclusive<u64>,
) -> Result<u64, Fault> {
    let (low, high) = (*range.start(), *range.end());
    let number = |why: &str| {
        Fault::new(code::NUMBER, format!("`{key}` {why}"))
            .fix(format!("a whole number from {low} to {high}"))
    };
    match value {
        Value::Integer(n) => match u64::try_from(*n) {
            Ok(n) if range.contains(&n) => Ok(n),
            Ok(n) if n < low => Err(number(&format!("is below {low}"))),
            _ if *n < 0 => Err(number("is negative")),
            _ => Err(number(&format!("is above {high}"))),
        },
        Value::Float(text) => Err(number("is not a whole number").label(match text.as_str() {
            "nan" | "+nan" | "-nan" => "not a number",
            "inf" | "+inf" | "-inf" => "no number is that large",
            _ => "a fraction",
        })),
        Value::Text(text) if text.parse::<u64>().is_ok() => {
            let fix = format!("{key} = {text}");
            Err(wrong_type(key, "a number without quotes", &fix, value))
        }
        other => {
            let fix = format!("a whole number from {low} to {high}");
            Err(wrong_type(key, "a whole number", &fix, other))
        }
    }
}

/// A value of another type than the setting takes.
pub(crate) fn wrong_type(key: &str, wanted: &str, fix: &str, found: &Value) -> Fault {
    let name = if key.starts_with('[') {
        key.to_owned()
    } else {
        format!("`{key}`")
    };
    Fault::new(code::TYPE, format!("{name} must be {wanted}"))
        .label(format!("this is {}", found.kind()))
        .fix(fix)
}
