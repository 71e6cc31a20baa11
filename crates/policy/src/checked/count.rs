//! `count`: which answers count.

use crate::diagnostic::{Fault, code};
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{self, Context, Section, Value};
use crate::rule::StatusSet;

pub(super) const COUNT: Vocabulary = Vocabulary {
    section: "count",
    example: "count = { status = [401, 403] }",
    about: "Which answers count. Requests that are still out count as used; afterwards the units \
            of those with another answer come back.",
    known: &[word(
        "status",
        Shape::Many(&Shape::OneOf(&[
            Shape::Count(StatusSet::FIRST as u64, StatusSet::LAST as u64),
            Shape::Shown(Form::Statuses),
        ])),
        "Status codes that count, ranges of them, or classes.",
    )],
    required: &["status"],
    later: &[],
};

pub(super) fn count(cx: &mut Context<'_>, section: &Section<'_>) -> Option<StatusSet> {
    let table = Section::open(cx, &COUNT, section.item("count")?)?;
    table.require(cx, "status", COUNT.example);
    let item = table.item("status")?;
    let items = match &item.value {
        Value::List(items) if items.is_empty() => {
            let what = "`status` is an empty list, so nothing would be counted";
            return cx.error(item.mark, Fault::new(code::EMPTY, what).fix(COUNT.example));
        }
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(item),
    };
    let ranges: Vec<_> = items
        .iter()
        .map(|item| cx.findings.keep(item.mark, statuses(&item.value)))
        .collect();
    let ranges: Option<Vec<(u16, u16)>> = ranges.into_iter().collect();
    let codes = ranges?.into_iter().flat_map(|(first, last)| first..=last);
    Some(codes.collect())
}

/// The first and the last code of `401`, `"4xx"`, `"500-599"`.
fn statuses(value: &Value) -> Result<(u16, u16), Fault> {
    let fault = |what: String| {
        Fault::new(code::STATUS, what).fix("a code from 100 to 599, \"4xx\" or \"500-599\"")
    };
    let known = |code: &u16| (StatusSet::FIRST..=StatusSet::LAST).contains(code);
    match value {
        Value::Integer(number) => match u16::try_from(*number).ok().filter(known) {
            Some(code) => Ok((code, code)),
            None => Err(fault("no answer has this status".to_owned())),
        },
        Value::Text(text) => {
            let number = |text: &str| match text.parse::<u16>() {
                Ok(code) if text.len() == 3 => Some(code).filter(known),
                _ => None,
            };
            let class = text.strip_suffix("xx").filter(|class| class.len() == 1);
            let class = class.and_then(|class| number(&format!("{class}00")));
            let range = text.split_once('-');
            let range = range.and_then(|(a, b)| Some((number(a)?, number(b)?)));
            match (class, range) {
                (Some(first), _) => Ok((first, first + 99)),
                (None, Some((first, last))) if first <= last => Ok((first, last)),
                _ => match number(text) {
                    Some(code) => Err(fault(format!("the status {text:?} stands in quotes"))
                        .fix(code.to_string())),
                    None => Err(fault(format!("{text:?} is no status, range or class"))),
                },
            }
        }
        other => Err(raw::wrong_type(
            "status",
            "a status code or a list of them",
            "status = [401, 403]",
            other,
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Result<(u16, u16), Code> {
        statuses(&Value::Text(text.to_owned())).map_err(|fault| fault.code)
    }

    use crate::diagnostic::Code;

    #[test]
    fn statuses_are_codes_classes_and_ranges() {
        assert_eq!(statuses(&Value::Integer(401)), Ok((401, 401)));
        assert_eq!(text("4xx"), Ok((400, 499)));
        assert_eq!(text("500-599"), Ok((500, 599)));
        assert_eq!(text("404-404"), Ok((404, 404)));
        for wrong in [
            "", "xx", "6xx", "0xx", "44xx", "4XX", "401", "600-700", "500-", "-500", "599-500",
            "+40-500", "4xx-5xx",
        ] {
            assert_eq!(text(wrong), Err(code::STATUS), "{wrong:?}");
        }
        for wrong in [0, 99, 600, -401, i128::MAX] {
            assert!(statuses(&Value::Integer(wrong)).is_err(), "{wrong}");
        }
    }
}
