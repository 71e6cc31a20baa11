//! One event: a line of a trace, or the body of a call to the API.

use std::fmt;

use jeton::{Cost, Verb};
use serde::Deserialize;
use smallvec::SmallVec;

use super::fields::{Object, Text, Texts, Whole, present};
use super::request::Request;

/// What is asked for.
#[derive(Debug)]
pub struct Event<'a> {
    /// The instant it happens at, in microseconds since the Unix epoch; 0 outside of traces.
    pub at_us: u64,
    pub(super) verb: Verb,
    pub(super) subject: Subject<'a>,
}

/// What it is asked for.
#[derive(Debug)]
pub(super) enum Subject<'a> {
    /// `rule`, `key` and `cost` beside each other.
    One(Charge<'a>),
    /// `charges`.
    Several(Vec<Charge<'a>>),
    /// `request`: whatever it would be charged.
    Request(Box<Request<'a>>, Cost),
}

/// A charge that the event names.
#[derive(Debug)]
pub(super) struct Charge<'a> {
    pub(super) rule: Text<'a>,
    pub(super) key: Texts<'a>,
    pub(super) cost: Cost,
}

/// Why an event cannot be carried out; nothing was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The member that is wrong, such as `charges[1].cost`; empty if it is the whole.
    pub field: String,
    /// What is wrong with it and what to write.
    pub what: String,
}

impl InputError {
    pub(super) fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "`{}`: {}", self.field, self.what)
        }
    }
}

impl std::error::Error for InputError {}

/// A line of a trace as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TraceLine<'a> {
    #[serde(default, deserialize_with = "present")]
    at_us: Option<Whole>,
    #[serde(default, deserialize_with = "present")]
    op: Option<Op>,
    #[serde(borrow, default, deserialize_with = "present")]
    rule: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    cost: Option<Whole>,
    #[serde(borrow, default, deserialize_with = "present")]
    charges: Option<Vec<Object<RawCharge<'a>>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    request: Option<Object<Box<Request<'a>>>>,
}

/// The body of a call as it is written: its path says the verb, and time is the server's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    rule: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    cost: Option<Whole>,
    #[serde(borrow, default, deserialize_with = "present")]
    charges: Option<Vec<Object<RawCharge<'a>>>>,
    #[serde(borrow, default, deserialize_with = "present")]
    request: Option<Object<Box<Request<'a>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCharge<'a> {
    #[serde(borrow)]
    rule: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    key: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "present")]
    cost: Option<Whole>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Take,
    Check,
    Refund,
    Reset,
}

impl From<Op> for Verb {
    fn from(op: Op) -> Self {
        match op {
            Op::Take => Self::Take,
            Op::Check => Self::Check,
            Op::Refund => Self::Refund,
            Op::Reset => Self::Reset,
        }
    }
}

impl<'a> Event<'a> {
    /// Reads a line of a trace.
    ///
    /// ```
    /// use jeton_server::engine::Event;
    /// let event = Event::from_trace(br#"{"at_us":1500000,"rule":"api","key":"alice"}"#).unwrap();
    /// assert_eq!(event.at_us, 1_500_000);
    /// let wrong = Event::from_trace(br#"{"at_us":0,"rule":"api","key":"alice","cost":-1}"#);
    /// assert_eq!(wrong.unwrap_err().field, "cost");
    /// ```
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_trace(json: &'a [u8]) -> Result<Self, InputError> {
        let TraceLine {
            at_us,
            op,
            rule,
            key,
            cost,
            charges,
            request,
        } = read(json)?;
        let Some(at_us) = at_us else {
            let what = "is missing; write the instant in microseconds since the Unix epoch";
            return Err(InputError::new("at_us", what));
        };
        let verb = op.unwrap_or(Op::Take).into();
        let body = Body {
            rule,
            key,
            cost,
            charges,
            request,
        };
        Ok(Self {
            at_us: at_us.0,
            verb,
            subject: body.subject(verb)?,
        })
    }

    /// Reads the body of a call to the API that does `verb`.
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_body(json: &'a [u8], verb: Verb) -> Result<Self, InputError> {
        let body: Body<'a> = read(json)?;
        Ok(Self {
            at_us: 0,
            verb,
            subject: body.subject(verb)?,
        })
    }
}

impl<'a> Body<'a> {
    /// One of the three ways to say what is meant, and not two of them.
    fn subject(self, verb: Verb) -> Result<Subject<'a>, InputError> {
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
                Err(InputError::new("", format!("the event {what}")))
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

impl Charge<'_> {
    pub(super) fn parts(&self) -> SmallVec<[&str; 2]> {
        self.key.iter().collect()
    }
}

/// Reads one JSON document, and only when that fails finds out where.
fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, InputError> {
    let object = serde_json::from_slice::<Object<T>>(json);
    object
        .map(|object| object.0)
        .map_err(|error| locate::<T>(json, &error))
}

#[cold]
fn locate<'a, T: Deserialize<'a>>(json: &'a [u8], error: &serde_json::Error) -> InputError {
    let text = without_place(error);
    if !error.is_data() {
        return InputError::new(
            "",
            format!("not JSON: {text}, at column {}", error.column()),
        );
    }
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    match serde_path_to_error::deserialize::<_, Object<T>>(&mut deserializer) {
        Err(found) => {
            let field = found.path().to_string();
            InputError::new(if field == "." { String::new() } else { field }, text)
        }
        Ok(_) => InputError::new("", text),
    }
}

/// The message alone: an event is one line, and its number is told beside it.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> InputError {
        Event::from_trace(json.as_bytes())
            .err()
            .unwrap_or_else(|| panic!("accepted: {json}"))
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, field) in [
            (r#"{"at_us":0,"rule":"a","key":"k","cost":-1}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":1.5}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":1.0}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":1e3}"#, "cost"),
            (
                r#"{"at_us":0,"rule":"a","key":"k","cost":18446744073709551616}"#,
                "cost",
            ),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":"1"}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":null}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":"k","cost":true}"#, "cost"),
            (r#"{"at_us":0,"rule":"a","key":["k",1]}"#, "key[1]"),
            (r#"{"at_us":0,"rule":"a","key":7}"#, "key"),
            (r#"{"at_us":0,"rule":7,"key":"k"}"#, "rule"),
            (r#"{"at_us":-1,"rule":"a","key":"k"}"#, "at_us"),
            (r#"{"rule":"a","key":"k"}"#, "at_us"),
            (r#"{"at_us":0,"op":"drop","rule":"a","key":"k"}"#, "op"),
            (r#"{"at_us":0,"rule":"a","key":"k","colour":1}"#, "colour"),
            (
                r#"{"at_us":0,"charges":[{"rule":"a","key":"k"},{"rule":"a","cost":-2}]}"#,
                "charges[1].cost",
            ),
            (
                r#"{"at_us":0,"charges":[{"rule":"a","colour":1}]}"#,
                "charges[0].colour",
            ),
            (r#"{"at_us":0,"charges":[{"key":"a"}]}"#, "charges[0]"),
            (r#"{"at_us":0,"charges":[]}"#, "charges"),
            (r#"{"at_us":0,"charges":[{"rule":"a"}],"cost":1}"#, "cost"),
            (r#"{"at_us":0,"charges":[{"rule":"a"}],"key":"k"}"#, "key"),
            (
                r#"{"at_us":0,"charges":[{"rule":"a"}],"rule":"a"}"#,
                "charges",
            ),
            (r#"{"at_us":0,"request":{},"rule":"a"}"#, "request"),
            (
                r#"{"at_us":0,"request":{},"charges":[{"rule":"a"}]}"#,
                "request",
            ),
            (r#"{"at_us":0,"request":{},"key":"k"}"#, "key"),
            (
                r#"{"at_us":0,"request":{"client_ip":"1.2.3"}}"#,
                "request.client_ip",
            ),
            (r#"{"at_us":0,"request":{"agent":"x"}}"#, "request.agent"),
            (
                r#"{"at_us":0,"request":{"headers":{"x":1}}}"#,
                "request.headers.x",
            ),
            (
                r#"{"at_us":0,"op":"reset","rule":"a","key":"k","cost":1}"#,
                "cost",
            ),
            (r#"{"at_us":0,"rule":"a","rule":"b","key":"k"}"#, "rule"),
            (r#"{"at_us":0}"#, ""),
            ("{", ""),
            ("", ""),
            ("[]", ""),
            (r#"[0,"take","a","k"]"#, ""),
            (r#"{"at_us":0,"charges":[["a","k"]]}"#, "charges[0]"),
            (r#"{"at_us":0,"request":["GET"]}"#, "request"),
            (r#"{"at_us":0,"rule":"a","key":"k"} x"#, ""),
        ] {
            let error = refusal(json);
            let whole = error.to_string();
            assert!(
                error.field == field || whole.contains(&format!("`{field}`")),
                "{json}: {whole}"
            );
        }
    }

    #[test]
    fn numbers_are_read_exactly_and_absurd_costs_stay_absurd() {
        let event =
            r#"{"at_us":18446744073709551615,"rule":"a","key":"k","cost":18446744073709551615}"#;
        let event = Event::from_trace(event.as_bytes()).unwrap();
        assert_eq!(event.at_us, u64::MAX);
        assert!(matches!(
            event.subject,
            Subject::One(Charge {
                cost: Cost::MAX,
                ..
            })
        ));
    }

    #[test]
    fn the_body_of_a_call_has_no_time_and_no_verb() {
        for field in ["at_us", "op", "plan"] {
            let json = format!(r#"{{"rule":"a","key":"k","{field}":"take"}}"#);
            let error = Event::from_body(json.as_bytes(), Verb::Take).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    #[test]
    fn escapes_and_parts_of_keys_are_read() {
        let event = Event::from_trace(br#"{"at_us":0,"rule":"\u0061","key":["x\n","y"]}"#).unwrap();
        let Subject::One(charge) = event.subject else {
            panic!("one charge")
        };
        assert_eq!(
            (charge.rule.as_str(), charge.parts().as_slice()),
            ("a", &["x\n", "y"][..])
        );
    }
}
