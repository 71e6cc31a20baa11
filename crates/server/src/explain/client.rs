//! What the client would see.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jeton::Answered;
use jeton::door::{format_of, origin_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::question::Question;
use crate::rls::headers;

/// What the client would see, as a door would send it. A refusal is exactly that; fields of a
/// request that passes are those of the present state, before it is charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// The status of the refusal; `None` if the service answers.
    pub status: Option<u16>,
    /// The fields of the refusal, or those that are added to what the service answers.
    pub headers: Vec<Field>,
    /// The body of the refusal; empty if the service answers, and for `HEAD`.
    pub body: String,
}

/// One line of a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// Its name, in lower case.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Client {
    pub(super) fn new(question: &Question, answered: &Answered) -> Self {
        if question.is_of_descriptors() {
            return Self::of_envoy(answered);
        }
        let head = question.head();
        let Some(refusal) = answered.refusal() else {
            let mut headers = HeaderMap::new();
            answered.limit_fields().merge_into(&mut headers);
            return Self {
                status: None,
                headers: lines(&headers),
                body: String::new(),
            };
        };
        let readable = refusal.readable_by(origin_of(head));
        let (parts, body) = readable.response(format_of(head)).into_parts();
        Self {
            status: Some(parts.status.as_u16()),
            headers: lines(&parts.headers),
            body: if head.method == Method::HEAD {
                String::new()
            } else {
                body
            },
        }
    }
}

impl Client {
    /// What Envoy makes of the answer, unless its filter says otherwise.
    fn of_envoy(answered: &Answered) -> Self {
        let fields = headers::of(answered).into_iter();
        Self {
            status: (!answered.allowed()).then_some(429),
            headers: fields
                .map(|field| Field {
                    name: field.key,
                    value: field.value,
                })
                .collect(),
            body: String::new(),
        }
    }
}

fn lines(headers: &HeaderMap) -> Vec<Field> {
    let field = |(name, value): (&HeaderName, &HeaderValue)| Field {
        name: name.as_str().to_owned(),
        value: String::from_utf8_lossy(value.as_bytes()).into_owned(),
    };
    headers.iter().map(field).collect()
}
