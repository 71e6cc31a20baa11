//! From what is written to what is meant: members that may stand beside each other, and those that
//! may not.

use jeton::{Cost, Span};
use serde::Deserialize;

use super::{Ask, Charge, Counters, Subject};
use crate::engine::bodies;
use crate::engine::fields::{Given, Lasting, Object, Text, Texts, Whole};
use crate::engine::input::{InputError, read_without};
use crate::engine::op::Op;
use crate::engine::request::Request;

/// The longest that a handle is good for.
const LONGEST_TTL_US: u64 = 7 * 24 * 3_600 * 1_000_000;

/// The shortest.
const SHORTEST_TTL_US: u64 = 1_000_000;

/// Reads what `op` takes. The members in `beside` are read by somebody else.
pub(super) fn ask<'a>(
    json: &'a [u8],
    op: Op,
    beside: &'static [&'static str],
) -> Result<Ask<'a>, InputError> {
    let read = Reading { json, beside };
    match op {
        Op::Take => take(read.body()?),
        Op::Check => check(read.body()?),
        Op::Refund => refund(read.body()?),
        Op::Reset => reset(read.body()?),
        Op::Reserve => reserve(read.body()?),
        Op::Extend => {
            let bodies::Extend { handle, ttl } = read.body()?;
            Ok(Ask::Extend {
                handle,
                ttl: time_to_live(ttl)?,
            })
        }
        Op::Commit => {
            let bodies::Commit { handle, actual } = read.body()?;
            let actual = cost(actual);
            Ok(Ask::Commit { handle, actual })
        }
        Op::Cancel => {
            let bodies::Cancel { handle } = read.body()?;
            Ok(Ask::Cancel { handle })
        }
        Op::Block => {
            let bodies::Block { rule, key, lasting } = read.body()?;
            let of = Counters { rule: rule.0, key };
            let lasting = lasting.0.map(|lasting| lasting.0);
            Ok(Ask::Block { of, lasting })
        }
        Op::Unblock => {
            let bodies::Unblock { rule, key } = read.body()?;
            Ok(Ask::Unblock(Counters { rule: rule.0, key }))
        }
    }
}

struct Reading<'a> {
    json: &'a [u8],
    beside: &'static [&'static str],
}

impl<'a> Reading<'a> {
    fn body<T: Deserialize<'a>>(self) -> Result<T, InputError> {
        read_without(self.json, self.beside)
    }
}

fn take(body: bodies::Take<'_>) -> Result<Ask<'_>, InputError> {
    let bodies::Take {
        rule,
        key,
        cost,
        plan,
        receipt,
        charges,
        request,
    } = body;
    let receipts = receipt.0.unwrap_or_default();
    let one = One {
        rule,
        key,
        cost,
        plan,
        ..One::default()
    };
    let subject = one.or(several(charges, Charge::from)?, request)?;
    Ok(Ask::Decide {
        op: Op::Take,
        subject,
        receipts,
    })
}

fn check(body: bodies::Check<'_>) -> Result<Ask<'_>, InputError> {
    let bodies::Check {
        rule,
        key,
        cost,
        plan,
        charges,
        request,
    } = body;
    let one = One {
        rule,
        key,
        cost,
        plan,
        ..One::default()
    };
    let subject = one.or(several(charges, Charge::from)?, request)?;
    Ok(Ask::Decide {
        op: Op::Check,
        subject,
        receipts: false,
    })
}

fn refund(body: bodies::Refund<'_>) -> Result<Ask<'_>, InputError> {
    let bodies::Refund {
        rule,
        key,
        cost,
        plan,
        receipt,
        charges,
        request,
    } = body;
    let one = One {
        rule,
        key,
        cost,
        plan,
        receipt,
    };
    let subject = one.or(several(charges, Charge::from)?, request)?;
    Ok(Ask::Decide {
        op: Op::Refund,
        subject,
        receipts: false,
    })
}

fn reset(body: bodies::Reset<'_>) -> Result<Ask<'_>, InputError> {
    let bodies::Reset {
        rule,
        key,
        charges,
        request,
    } = body;
    if let (None, Some(_), None, None) = (&rule.0, &key.0, &charges.0, &request.0) {
        let key = key.0.unwrap_or_default();
        return Ok(Ask::ResetEverywhere(Counters { rule: None, key }));
    }
    let one = One {
        rule,
        key,
        ..One::default()
    };
    let subject = one.or(several(charges, Charge::from)?, request)?;
    Ok(Ask::Decide {
        op: Op::Reset,
        subject,
        receipts: false,
    })
}

fn reserve(body: bodies::Reserve<'_>) -> Result<Ask<'_>, InputError> {
    let bodies::Reserve {
        rule,
        key,
        cost,
        plan,
        ttl,
        charges,
        request,
    } = body;
    let ttl = time_to_live(ttl)?;
    let one = One {
        rule,
        key,
        cost,
        plan,
        ..One::default()
    };
    let subject = one.or(several(charges, Charge::from)?, request)?;
    Ok(Ask::Reserve {
        subject,
        ttl,
        handle: None,
    })
}

fn time_to_live(ttl: Given<Lasting>) -> Result<Option<Span>, InputError> {
    let ttl = ttl.0.map(|lasting| lasting.0);
    bounded_ttl("ttl", ttl)
}

pub(super) fn bounded_ttl(field: &str, ttl: Option<Span>) -> Result<Option<Span>, InputError> {
    match ttl.map(Span::as_micros) {
        Some(us) if !(SHORTEST_TTL_US..=LONGEST_TTL_US).contains(&us) => Err(InputError::new(
            field,
            "a handle is good for 1s to 7d; write a time between them",
        )),
        _ => Ok(ttl),
    }
}

/// What stands beside `rule`.
#[derive(Default)]
struct One<'a> {
    rule: Given<Text<'a>>,
    key: Given<Texts<'a>>,
    cost: Given<Whole>,
    plan: Given<Text<'a>>,
    receipt: Given<Text<'a>>,
}

impl<'a> One<'a> {
    /// One of the three ways to say what is meant, and not two of them.
    fn or(
        self,
        charges: Option<Vec<Charge<'a>>>,
        request: Given<Object<Box<Request<'a>>>>,
    ) -> Result<Subject<'a>, InputError> {
        match (self.rule.0.is_some(), charges, request.0) {
            (true, Some(_), _) => Err(either("charges", "rule")),
            (true, None, Some(_)) => Err(either("request", "rule")),
            (false, Some(_), Some(_)) => Err(either("request", "charges")),
            (true, None, None) => self.charge(),
            (false, charges, request) => {
                self.leaves_out_what_is_a_rules()?;
                match (charges, request) {
                    (Some(_), _) if self.cost.0.is_some() => Err(InputError::new(
                        "cost",
                        "stands beside `charges`; write it in each of them",
                    )),
                    (Some(charges), _) => Ok(Subject::Several(charges)),
                    (None, Some(Object(request))) => {
                        Ok(Subject::Request(request, self.cost.0.map(cost)))
                    }
                    (None, None) => Err(InputError::new(
                        "",
                        "nothing to charge is named; write `rule` and `key`, `charges`, or \
                         `request`",
                    )),
                }
            }
        }
    }

    fn charge(self) -> Result<Subject<'a>, InputError> {
        let Some(rule) = self.rule.0 else {
            return Err(InputError::new("rule", "is missing"));
        };
        Ok(Subject::One(Charge {
            rule,
            key: self.key.0.unwrap_or_default(),
            cost: self.cost.0.map(cost),
            plan: self.plan.0,
            receipt: self.receipt.0,
        }))
    }

    fn leaves_out_what_is_a_rules(&self) -> Result<(), InputError> {
        let stray = [
            ("key", self.key.0.is_some(), "whose key it is"),
            ("plan", self.plan.0.is_some(), "whose plan it is"),
            (
                "receipt",
                self.receipt.0.is_some(),
                "what it is a receipt of",
            ),
        ];
        match stray.into_iter().find(|(_, is_there, _)| *is_there) {
            Some((field, _, what)) => Err(InputError::new(
                field,
                format!("stands without `rule`; write {what}"),
            )),
            None => Ok(()),
        }
    }
}

fn either(field: &str, other: &str) -> InputError {
    InputError::new(field, format!("stands beside `{other}`; write one of them"))
}

/// What no limit can hold keeps its meaning, "impossible", when it saturates.
const fn cost(units: Whole) -> Cost {
    Cost::new(units.0)
}

fn several<'a, T>(
    charges: Given<Vec<Object<T>>>,
    charge: fn(T) -> Charge<'a>,
) -> Result<Option<Vec<Charge<'a>>>, InputError> {
    match charges.0 {
        Some(charges) if charges.is_empty() => {
            Err(InputError::new("charges", "is empty; write at least one"))
        }
        Some(charges) => Ok(Some(
            charges.into_iter().map(|Object(raw)| charge(raw)).collect(),
        )),
        None => Ok(None),
    }
}

impl<'a> From<bodies::Charge<'a>> for Charge<'a> {
    fn from(raw: bodies::Charge<'a>) -> Self {
        let (key, cost) = (raw.key.0.unwrap_or_default(), raw.cost.0.map(cost));
        Self {
            rule: raw.rule,
            key,
            cost,
            plan: raw.plan.0,
            receipt: None,
        }
    }
}

impl<'a> From<bodies::Refunded<'a>> for Charge<'a> {
    fn from(raw: bodies::Refunded<'a>) -> Self {
        let (key, cost) = (raw.key.0.unwrap_or_default(), raw.cost.0.map(cost));
        Self {
            rule: raw.rule,
            key,
            cost,
            plan: raw.plan.0,
            receipt: raw.receipt.0,
        }
    }
}

impl<'a> From<bodies::Counter<'a>> for Charge<'a> {
    fn from(raw: bodies::Counter<'a>) -> Self {
        let key = raw.key.0.unwrap_or_default();
        Self {
            rule: raw.rule,
            key,
            cost: None,
            plan: None,
            receipt: None,
        }
    }
}
