//! `/json`: the same messages in the JSON of protocol buffers, for who speaks no gRPC.
//!
//! Names are taken in both spellings (`hitsAddend`, `hits_addend`), 64-bit numbers as texts too, enums by
//! name or number; what is not known is refused.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use jeton::policy::Unit;
use serde_json::{Map, Value, json};
use tonic::body::Body;

use super::messages::Value as Own;
use super::messages::{
    Code, DescriptorStatus, Entry, HeaderValue, Kind, RateLimitDescriptor, RateLimitOverride,
    RateLimitRequest, RateLimitResponse, Struct,
};

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Why a body is no request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoRequest(String);

impl fmt::Display for NoRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a request of at most so many bytes.
pub(super) async fn read(body: Incoming, longest: usize) -> Result<RateLimitRequest, NoRequest> {
    let whole = tokio::time::timeout(BODY_TIME, Limited::new(body, longest).collect()).await;
    let whole = whole.map_err(|_| NoRequest("the body did not come".to_owned()))?;
    let whole = whole.map_err(|error| NoRequest(format!("the body: {error}")))?;
    parse(&whole.to_bytes())
}

/// Reads the JSON of a `RateLimitRequest`.
pub(super) fn parse(text: &[u8]) -> Result<RateLimitRequest, NoRequest> {
    let value: Value =
        serde_json::from_slice(text).map_err(|e| NoRequest(format!("no JSON: {e}")))?;
    let mut object = Object::of(value, "a RateLimitRequest")?;
    let request = RateLimitRequest {
        domain: object.text("domain")?,
        descriptors: object.list("descriptors", descriptor)?,
        hits_addend: object.number("hitsAddend")?.unwrap_or(0),
    };
    object.nothing_else()?;
    Ok(request)
}

fn descriptor(value: Value) -> Result<RateLimitDescriptor, NoRequest> {
    let mut object = Object::of(value, "a descriptor")?;
    let limit = object.take("limit").map(|value| {
        let mut object = Object::of(value, "a limit")?;
        let requests_per_unit = object.number("requestsPerUnit")?.unwrap_or(0);
        let unit = object.take("unit").map_or(Ok(0), |value| unit(&value))?;
        object.nothing_else()?;
        Ok(RateLimitOverride {
            requests_per_unit,
            unit,
        })
    });
    let descriptor = RateLimitDescriptor {
        entries: object.list("entries", entry)?,
        limit: limit.transpose()?,
        hits_addend: object.number("hitsAddend")?,
        is_negative_hits: object.flag("isNegativeHits")?,
    };
    object.nothing_else()?;
    Ok(descriptor)
}

fn entry(value: Value) -> Result<Entry, NoRequest> {
    let mut object = Object::of(value, "an entry")?;
    let entry = Entry {
        key: object.text("key")?,
        value: object.text("value")?,
    };
    object.nothing_else()?;
    Ok(entry)
}

/// The units that a limit of a request can have, by their numbers from 1.
const UNITS: &str = "SECOND, MINUTE, HOUR, DAY, MONTH, YEAR";

fn unit(value: &Value) -> Result<i32, NoRequest> {
    let number = match value {
        Value::String(name) if name == "UNKNOWN" => Some(0),
        // As in [`super::question`]: it has no week.
        Value::String(name) => Unit::of_word(name)
            .filter(|unit| *name == unit.word().to_ascii_uppercase() && *unit != Unit::Week)
            .map(|unit| unit as i32),
        other => other.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    number.ok_or_else(|| NoRequest(format!("unit: {value} is none of {UNITS}")))
}

/// The members of a JSON object that were not read yet.
struct Object {
    members: Map<String, Value>,
    what: &'static str,
}

impl Object {
    fn of(value: Value, what: &'static str) -> Result<Self, NoRequest> {
        match value {
            Value::Object(members) => Ok(Self { members, what }),
            _ => Err(NoRequest(format!("{what} is an object"))),
        }
    }

    /// A member in either spelling, unless it is null.
    fn take(&mut self, name: &str) -> Option<Value> {
        let snake = snake(name);
        let value = self
            .members
            .remove(name)
            .or_else(|| self.members.remove(&snake));
        value.filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Result<String, NoRequest> {
        match self.take(name) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(NoRequest(format!("{name} is a text"))),
        }
    }

    fn flag(&mut self, name: &str) -> Result<bool, NoRequest> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(NoRequest(format!("{name} is true or false"))),
        }
    }

    fn number<N: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<N>, NoRequest> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| N::try_from(number).ok());
        let wrong = || NoRequest(format!("{name}: {value} is no such number"));
        number.map(Some).ok_or_else(wrong)
    }

    fn list<T>(
        &mut self,
        name: &str,
        read: fn(Value) -> Result<T, NoRequest>,
    ) -> Result<Vec<T>, NoRequest> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => items.into_iter().map(read).collect(),
            Some(_) => Err(NoRequest(format!("{name} is a list"))),
        }
    }

    fn nothing_else(&self) -> Result<(), NoRequest> {
        match self.members.iter().find(|(_, value)| !value.is_null()) {
            None => Ok(()),
            Some((name, _)) => Err(NoRequest(format!("{} has no {name:?}", self.what))),
        }
    }
}

/// `hits_addend` of `hitsAddend`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The answer: 429 if it is over a limit.
pub(super) fn respond(answer: &RateLimitResponse) -> Response<Body> {
    let over = answer.overall_code == Code::OverLimit as i32;
    let body = write(answer).to_string();
    let body = Body::new(http_body_util::Full::new(bytes::Bytes::from(body)));
    let mut response = Response::new(body);
    if over {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    let media = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

/// The JSON of an answer: what is unset is left out.
fn write(answer: &RateLimitResponse) -> Value {
    let mut members = Map::new();
    members.insert("overallCode".to_owned(), code(answer.overall_code));
    let mut put = |name: &str, values: Vec<Value>| {
        if !values.is_empty() {
            members.insert(name.to_owned(), Value::Array(values));
        }
    };
    put("statuses", answer.statuses.iter().map(status).collect());
    let fields = |fields: &[HeaderValue]| fields.iter().map(field).collect();
    put(
        "responseHeadersToAdd",
        fields(&answer.response_headers_to_add),
    );
    put(
        "requestHeadersToAdd",
        fields(&answer.request_headers_to_add),
    );
    if !answer.raw_body.is_empty() {
        let body = STANDARD.encode(&answer.raw_body);
        members.insert("rawBody".to_owned(), Value::String(body));
    }
    if let Some(metadata) = &answer.dynamic_metadata {
        members.insert("dynamicMetadata".to_owned(), map(metadata));
    }
    Value::Object(members)
}

fn code(code: i32) -> Value {
    let name = match code {
        1 => "OK",
        2 => "OVER_LIMIT",
        _ => "UNKNOWN",
    };
    Value::String(name.to_owned())
}

fn status(status: &DescriptorStatus) -> Value {
    let mut members = Map::from_iter([("code".to_owned(), code(status.code))]);
    if let Some(limit) = &status.current_limit {
        let unit = Unit::of_number(limit.unit).map_or("unknown", Unit::word);
        let mut own = Map::new();
        if limit.requests_per_unit > 0 {
            own.insert("requestsPerUnit".to_owned(), json!(limit.requests_per_unit));
        }
        own.insert("unit".to_owned(), json!(unit.to_ascii_uppercase()));
        if !limit.name.is_empty() {
            own.insert("name".to_owned(), json!(limit.name));
        }
        members.insert("currentLimit".to_owned(), Value::Object(own));
    }
    if status.limit_remaining > 0 {
        members.insert("limitRemaining".to_owned(), json!(status.limit_remaining));
    }
    if let Some(duration) = &status.duration_until_reset {
        let seconds = format!("{}s", duration.seconds);
        members.insert("durationUntilReset".to_owned(), Value::String(seconds));
    }
    Value::Object(members)
}

fn field(field: &HeaderValue) -> Value {
    json!({ "key": field.key, "value": field.value })
}

fn map(own: &Struct) -> Value {
    let members = own.fields.iter();
    Value::Object(
        members
            .map(|(name, own)| (name.clone(), value(own)))
            .collect(),
    )
}

fn value(own: &Own) -> Value {
    match &own.kind {
        None | Some(Kind::Null(_)) => Value::Null,
        Some(Kind::Number(number)) => json!(number),
        Some(Kind::Text(text)) => json!(text),
        Some(Kind::Flag(flag)) => json!(flag),
        Some(Kind::Map(own)) => map(own),
        Some(Kind::List(list)) => list.values.iter().map(value).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_texts_for_numbers_and_names_of_units_are_read() {
        let text = r#"{"domain": "d", "hits_addend": 2, "descriptors": [{"entries":
            [{"key": "k", "value": "v"}], "limit": {"requestsPerUnit": 5, "unit": "HOUR"},
            "hitsAddend": "18446744073709551615", "is_negative_hits": true}, {"limit": null}]}"#;
        let request = parse(text.as_bytes()).unwrap();
        assert_eq!((request.domain.as_str(), request.hits_addend), ("d", 2));
        let [one, two] = &request.descriptors[..] else {
            panic!()
        };
        assert_eq!(one.hits_addend, Some(u64::MAX));
        assert_eq!(
            one.limit.map(|limit| (limit.requests_per_unit, limit.unit)),
            Some((5, 3))
        );
        assert!(one.is_negative_hits && two.limit.is_none());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "",
            "[]",
            r#"{"domains": "d"}"#,
            r#"{"domain": 1}"#,
            r#"{"hitsAddend": -1}"#,
            r#"{"hitsAddend": 4294967296}"#,
            r#"{"descriptors": {}}"#,
            r#"{"descriptors": [1]}"#,
            r#"{"descriptors": [{"limit": {"unit": "WEEK"}}]}"#,
            r#"{"descriptors": [{"limit": {"unit": "hour"}}]}"#,
            r#"{"descriptors": [{"isNegativeHits": "yes"}]}"#,
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        let unit = br#"{"descriptors": [{"limit": {"unit": "FORTNIGHT"}}]}"#;
        let said = parse(unit).map_err(|why| why.to_string()).unwrap_err();
        assert!(
            said.ends_with("\"FORTNIGHT\" is none of SECOND, MINUTE, HOUR, DAY, MONTH, YEAR"),
            "{said}"
        );
    }
}
