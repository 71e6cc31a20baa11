//! `cost`, `count`, `max_debt`, `hold_wait`: what a request costs, and what is known only after
//! it was answered.

use std::time::Duration;

use jeton_core::{MAX_LIMIT, OnDeny};

use super::allowance::value_mark;
use crate::diagnostic::{Fault, code};
use crate::key::is_token;
use crate::language::{Form, Shape, Vocabulary, names, word};
use crate::raw::{self, Context, Item, Section, Value};
use crate::rule::{Allowance, CostSpec, ResponseCost, Rule, StatusSet, Terms};
use crate::units::{grouped, parse_duration, zero};

const MAX: u64 = MAX_LIMIT as u64;

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

const ON_DENY: [(&str, OnDeny); 2] = [("keep", OnDeny::Keep), ("charge", OnDeny::Charge)];
pub(super) const ON_DENY_WORDS: &[&str] = &names(&ON_DENY);

pub(super) const NOTHING_COUNTED: &str = "has no effect: this rule counts nothing";

const RETURNED: &str = "is for limits over time: units in flight come back when they end";

/// The longest that a request may wait for units held.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Reads the settings into a rule that has its allowance, plans and trial.
pub(super) fn settle(cx: &mut Context<'_>, section: &Section<'_>, rule: &mut Rule) {
    rule.count = count(cx, section);
    let cost = cost(cx, section);
    let unread = section.has("cost") && cost.is_none();
    rule.cost = cost.unwrap_or_default();
    rule.on_deny = section
        .word(cx, "on_deny", &ON_DENY, &[])
        .unwrap_or_default();
    rule.max_debt = max_debt(cx, section);
    rule.hold_wait = hold_wait(cx, section).unwrap_or(rule.hold_wait);
    match &rule.allowance {
        Allowance::Quota(terms) => {
            fits_terms(cx, section, rule, terms);
            if !unread {
                fits_itself(cx, section, rule);
            }
            cost_fits(cx, section, rule, terms);
        }
        Allowance::Unlimited | Allowance::Deny => {
            for key in [
                "count",
                "cost",
                "on_deny",
                "max_debt",
                "hold_wait",
                "on_failure",
            ] {
                section.refuse(cx, key, NOTHING_COUNTED, "leave it out");
            }
        }
    }
}

/// Here 0 means what it says: nothing may be owed.
fn max_debt(cx: &mut Context<'_>, section: &Section<'_>) -> Option<u64> {
    let debt = section.count(cx, "max_debt", || zero("a debt of 0"));
    debt.map(|debt| debt.value)
}

fn fits_terms(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule, terms: &Terms) {
    if !matches!(terms, Terms::Concurrency { .. }) {
        return;
    }
    section.refuse(cx, "count", RETURNED, "leave it out");
    section.refuse(cx, "max_debt", RETURNED, "leave it out");
    if matches!(rule.cost, CostSpec::Response { .. }) {
        section.refuse(cx, "cost", RETURNED, "cost = 1");
    }
    if rule.on_deny == OnDeny::Charge {
        let why = "has no effect: who is refused holds nothing that could come back";
        section.refuse(cx, "on_deny", why, "on_deny = \"keep\"");
    }
    if section.has("hold_wait") {
        let why =
            "is for units that an answer settles; a limit of requests in flight waits for none";
        section.refuse(cx, "hold_wait", why, "leave it out");
    }
}

fn fits_itself(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule) {
    let by_response = matches!(rule.cost, CostSpec::Response { .. });
    let concurrency = matches!(rule.allowance, Allowance::Quota(Terms::Concurrency { .. }));
    if concurrency {
        return;
    }
    if by_response && section.has("count") {
        let why = "and a cost that the answer names exclude each other: both settle the request";
        section.refuse(cx, "count", why, "keep one of them");
    }
    if rule.on_deny == OnDeny::Charge && section.has("count") {
        let why = "and `count` exclude each other: who is refused gets no answer that could count";
        section.refuse(cx, "on_deny", why, "on_deny = \"keep\"");
    }
    if !by_response && !section.has("count") {
        let why = "has no effect without `count` or a cost that the answer names: nothing is held";
        section.refuse(cx, "hold_wait", why, "leave it out");
    }
}

/// No request that costs more than a limit can ever hold could pass.
fn cost_fits(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule, own: &Terms) {
    let cost = match rule.cost {
        CostSpec::Fixed(units) => units,
        CostSpec::Response { estimate, .. } => estimate,
        CostSpec::Request(_) => 1,
    };
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let plans = plans.filter_map(|(name, allowance)| match allowance {
        Allowance::Quota(terms) => Some((format!("the plan {name:?}"), *terms)),
        Allowance::Unlimited | Allowance::Deny => None,
    });
    let trial = rule.trial.map(|terms| ("the trial".to_owned(), terms));
    let own_terms = ("this rule".to_owned(), *own);
    let mut all = std::iter::once(own_terms).chain(plans).chain(trial);
    if let Some((whose, terms)) = all.find(|(_, terms)| terms.most() < cost) {
        let most = terms.most();
        let what = format!(
            "a request costs {}, and {whose} never holds more than {}",
            grouped(cost),
            grouped(most)
        );
        let fault = Fault::new(code::TOO_DEAR, what)
            .label("none could ever pass")
            .fix(format!("at most {most}, or a larger limit"));
        let _: Option<()> = cx.error(value_mark(section, "cost"), fault);
    }
    let most = largest(rule, own);
    if let Some(debt) = rule.max_debt.filter(|debt| *debt > most) {
        let what = format!(
            "`max_debt` is {}, and no debt is larger than one limit",
            grouped(debt)
        );
        let fault = Fault::new(code::CONTRADICTION, what).fix(format!("max_debt = {most}"));
        let _: Option<()> = cx.error(value_mark(section, "max_debt"), fault);
    }
}

/// The largest limit that a request can meet here.
fn largest(rule: &Rule, own: &Terms) -> u64 {
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let plans = plans.map(|(_, allowance)| match allowance {
        Allowance::Quota(terms) => terms.most(),
        Allowance::Unlimited | Allowance::Deny => 0,
    });
    plans.fold(own.most(), u64::max)
}

fn hold_wait(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Duration> {
    let parse = |text: &str| {
        let wait = Duration::from_micros(parse_duration(text)?.as_micros());
        if wait > LONGEST_WAIT {
            let what = "`hold_wait` is above a minute";
            return Err(Fault::new(code::DURATION, what).fix("\"1min\""));
        }
        Ok(wait)
    };
    let wait = section.parsed(cx, "hold_wait", parse)?;
    Some(*wait.value.get())
}

fn cost(cx: &mut Context<'_>, section: &Section<'_>) -> Option<CostSpec> {
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

fn count(cx: &mut Context<'_>, section: &Section<'_>) -> Option<StatusSet> {
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

    #[test]
    fn a_cost_stands_in_a_field() {
        assert_eq!(field("header", "header:X-Cost"), Ok("x-cost".to_owned()));
        for wrong in ["header:", "header:a b", "x-cost", "trailer:x", "headers:x"] {
            let fault = field("header", wrong).unwrap_err();
            assert_eq!(fault.code, code::SOURCE, "{wrong}");
        }
    }
}
