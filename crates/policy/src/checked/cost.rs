//! `cost`: units of one request.

use jeton_core::MAX_LIMIT;

use crate::diagnostic::{Fault, code};
use crate::key::is_token;
use crate::language::{Form, Shape, Vocabulary, word};
use crate::raw::{self, Context, Item, Section, Value};
use crate::rule::{CostSpec, ResponseCost};

const MAX: u64 = MAX_LIMIT as u64;

pub(super) const RESPONSE: Vocabulary = Vocabulary {
    section: "cost",
    example: "cost = { response = \"header:x-units\", estimate = 5 }",
    about: "A cost that the answer names.",
    known: &[
        word(
            "response",
            Shape::Shown(Form::AnswerPart),
            "The header or trailer field of the answer that says how many units it took.",
        ),
        word(
            "estimate",
            Shape::Count(1, MAX),
            "Units held until then, and charged if the answer never says.",
        ),
    ],
    required: &["response", "estimate"],
    later: &[],
};

/// What a cost may be.
pub(super) const COST_SHAPE: Shape = Shape::OneOf(&[
    Shape::Count(1, MAX),
    Shape::Shown(Form::HeaderPart),
    Shape::Table(&RESPONSE),
]);

pub(super) fn cost(cx: &mut Context<'_>, section: &Section<'_>) -> Option<CostSpec> {
    let item = section.item("cost")?;
    match &item.value {
        Value::Integer(_) | Value::Float(_) => {
            let free = || {
                Fault::new(
                    code::ZERO,
                    "a cost of 0 only looks: nothing would be counted",
                )
                .fix("cost = 1, or limit = \"unlimited\"")
            };
            let units = section.count(cx, "cost", free)?;
            Some(CostSpec::Fixed(units.value))
        }
        Value::Text(_) => {
            let name = section.parsed_shown(cx, "cost", |text| field("header", text))?;
            Some(CostSpec::Request(name.value))
        }
        Value::Table(_) => response(cx, item),
        other => {
            let wanted = "a number, \"header:NAME\" or { response = … }";
            cx.error(
                item.mark,
                raw::wrong_type("cost", wanted, "cost = 1", other),
            )
        }
    }
}

fn response(cx: &mut Context<'_>, item: &Item) -> Option<CostSpec> {
    let table = Section::open(cx, &RESPONSE, item)?;
    table.require(cx, "response", RESPONSE.example);
    table.require(cx, "estimate", RESPONSE.example);
    let source = table.parsed_shown(cx, "response", |text| {
        if text.starts_with("trailer:") {
            field("trailer", text).map(ResponseCost::Trailer)
        } else {
            field("header", text).map(ResponseCost::Header)
        }
    });
    let none = || {
        let what = "an estimate of 0 holds nothing: all requests at once would pass";
        Fault::new(code::ZERO, what).fix("what most of them cost, at least 1")
    };
    let estimate = table.count(cx, "estimate", none);
    Some(CostSpec::Response {
        source: source?.value,
        estimate: estimate?.value,
    })
}

/// The name of a field, in lower case, behind the word for its kind.
fn field(kind: &str, text: &str) -> Result<String, Fault> {
    let name = text
        .strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix(':'));
    match name {
        Some(name) if is_token(name) => Ok(name.to_ascii_lowercase()),
        _ => {
            let fault = Fault::new(code::SOURCE, format!("no cost can be read from {text:?}"));
            Err(fault
                .label("a field with a number")
                .fix(format!("\"{kind}:x-units\"")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_stands_in_a_field() {
        assert_eq!(field("header", "header:X-Cost"), Ok("x-cost".to_owned()));
        for wrong in ["header:", "header:a b", "x-cost", "trailer:x", "headers:x"] {
            let fault = field("header", wrong).unwrap_err();
            assert_eq!(fault.code, code::SOURCE, "{wrong}");
        }
    }
}
