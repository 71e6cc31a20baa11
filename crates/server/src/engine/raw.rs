//! Events as they are written: members that may stand beside each other, and those that may not.

use jeton::{Cost, Verb};
use serde::de::{Deserialize, Deserializer, Error};

use super::event::{Charge, Subject};
use super::fields::{Object, Text, Texts, Whole, present};
use super::input::InputError;
use super::request::Request;

/// A line of a trace as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceLine<'a> {
    #[serde(default, deserialize_with = "present")]
    pub(super) at_us: Option<Whole>,
    #[serde(default, deserialize_with = "present")]
    pub(super) op: Option<Op>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) rule: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cost: Option<Whole>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) charges: Option<Vec<Object<RawCharge<'a>>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request: Option<Object<Box<Request<'a>>>>,
}

/// The body of a call as it is written: its path says the verb, and time is the server's.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) rule: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cost: Option<Whole>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) charges: Option<Vec<Object<RawCharge<'a>>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request: Option<Object<Box<Request<'a>>>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCharge<'a> {
    #[serde(borrow)]
    pub(super) rule: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) cost: Option<Whole>,
}

/// A verb by its name. A derived reader would accept `{"take":null}` as well.
#[derive(Clone, Copy)]
pub(super) struct Op(pub(super) Verb);

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: &[&str] = &["take", "check", "refund", "reset"];
        let name = Text::deserialize(deserializer)?;
        Ok(Self(match name.as_str() {
            "take" => Verb::Take,
            "check" => Verb::Check,
            "refund" => Verb::Refund,
            "reset" => Verb::Reset,
            other => return Err(D::Error::unknown_variant(other, NAMES)),
        }))
    }
}

impl<'a> Body<'a> {
    /// One of the three ways to say what is meant, and not two of them. `whole` is what messages
    /// call all of it.
    pub(super) fn subject(self, verb: Verb, whole: &str) -> Result<Subject<'a>, InputError> {
        let Self {
            rule,
            key,
            cost,
            charges,
            request,
        } = self;
        let cost = checked_cost(cost, "cost", verb)?;
        match (rule, charges, request) {
            (Some(rule), None, None) => {
                let (key, cost) = (key.unwrap_or_default(), cost.unwrap_or_default());
                Ok(Subject::One(Charge { rule, key, cost }))
            }
            (None, Some(_), None) if cost.is_some() => Err(InputError::new(
                "cost",
                "stands beside `charges`; write it in each of them",
            )),
            (None, _, _) if key.is_some() => Err(InputError::new(
                "key",
                "stands without `rule`; write whose key it is",
            )),
            (None, Some(charges), None) => several(charges, verb),
            (None, None, Some(Object(request))) => {
                Ok(Subject::Request(request, cost.unwrap_or_default()))
            }
            (None, None, None) => {
                let what =
                    "says nothing to charge; write `rule` and `key`, `charges`, or `request`";
                Err(InputError::new("", format!("the {whole} {what}")))
            }
            (Some(_), Some(_), _) => Err(either("charges", "rule")),
            (Some(_), None, Some(_)) => Err(either("request", "rule")),
            (None, Some(_), Some(_)) => Err(either("request", "charges")),
        }
    }
}

fn either(field: &str, other: &str) -> InputError {
    InputError::new(field, format!("stands beside `{other}`; write one of them"))
}

fn several<'a>(charges: Vec<Object<RawCharge<'a>>>, verb: Verb) -> Result<Subject<'a>, InputError> {
    if charges.is_empty() {
        return Err(InputError::new("charges", "is empty; write at least one"));
    }
    let charge = |(index, Object(raw)): (usize, Object<RawCharge<'a>>)| {
        let cost = checked_cost(raw.cost, &format!("charges[{index}].cost"), verb)?;
        let (key, cost) = (raw.key.unwrap_or_default(), cost.unwrap_or_default());
        Ok(Charge {
            rule: raw.rule,
            key,
            cost,
        })
    };
    let charges: Result<Vec<_>, InputError> = charges.into_iter().enumerate().map(charge).collect();
    Ok(Subject::Several(charges?))
}

/// What no limit can hold keeps its meaning, "impossible", when it saturates.
fn checked_cost(cost: Option<Whole>, field: &str, verb: Verb) -> Result<Option<Cost>, InputError> {
    match cost {
        Some(_) if verb == Verb::Reset => Err(InputError::new(
            field,
            "means nothing for a reset; leave it out",
        )),
        cost => Ok(cost.map(|units| Cost::new(units.0))),
    }
}
