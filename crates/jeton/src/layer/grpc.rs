//! Refusals as gRPC answers them.
//!
//! "Trailers-only": HTTP status 200, no body, the status in the head
//! ([PROTOCOL-HTTP2]). The wait is told twice: `grpc-retry-pushback-ms`, which retry policies of
//! clients obey ([gRFC A6]; negative: do not retry), and `google.rpc.RetryInfo`, which programs
//! read ([error details]).
//!
//! [PROTOCOL-HTTP2]: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
//! [gRFC A6]: https://github.com/grpc/proposal/blob/master/A6-client-retries.md
//! [error details]: https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response};
use jeton_core::Span;

use super::encode;
use crate::door::{Grounds, Refusal};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

const INVALID_ARGUMENT: u8 = 3;
const PERMISSION_DENIED: u8 = 7;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNAVAILABLE: u8 = 14;

/// Whether this is the content type of a gRPC or gRPC-Web call: `application/grpc`, bare or with
/// `+proto`, `-web`, `; charset=…`.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    const PREFIX: &[u8] = b"application/grpc";
    let Some((start, rest)) = content_type.split_at_checked(PREFIX.len()) else {
        return false;
    };
    start.eq_ignore_ascii_case(PREFIX)
        && matches!(rest.first(), None | Some(b'+' | b'-' | b';' | b' '))
}

pub(super) fn response(refusal: &Refusal<'_>, content_type: HeaderValue) -> Response<Bytes> {
    let code = match refusal.grounds() {
        Grounds::Forbidden => PERMISSION_DENIED,
        Grounds::BadCost => INVALID_ARGUMENT,
        Grounds::TooManyRules | Grounds::NeedsHold | Grounds::NoStore => UNAVAILABLE,
        Grounds::Denied { .. } | Grounds::Blocked { .. } | Grounds::Impossible => {
            RESOURCE_EXHAUSTED
        }
    };
    let wait = refusal.retry_after();
    let message = message(refusal);
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(STATUS, HeaderValue::from(u16::from(code)));
    insert_text(headers, MESSAGE, &encode::percent(&message));
    if let Some(wait) = wait {
        let details = encode::retry_info(code, &message, wait);
        // Binary metadata goes without padding.
        insert_text(headers, DETAILS, &STANDARD_NO_PAD.encode(&details));
    }
    let pushback = wait.map(|wait| wait.as_millis_ceil().to_string());
    insert_text(headers, PUSHBACK, pushback.as_deref().unwrap_or("-1"));
    headers.extend(refusal.limit_fields().clone());
    response
}

/// What a person reads.
fn message(refusal: &Refusal<'_>) -> String {
    let names = format!("\"{}\"", refusal.violated().join("\", \""));
    let (limits, have) = match refusal.violated() {
        [_] => ("limit", "has"),
        _ => ("limits", "have"),
    };
    match refusal.grounds() {
        Grounds::Blocked { .. } => "this client is blocked".to_owned(),
        Grounds::Forbidden => "this client may not do this".to_owned(),
        Grounds::TooManyRules => {
            "more rules apply to this request than can be decided together".to_owned()
        }
        Grounds::BadCost => {
            "the field that tells the cost of this request says no number".to_owned()
        }
        Grounds::NeedsHold => "a limit of what is in flight cannot be kept here".to_owned(),
        Grounds::NoStore => "the limit cannot be decided right now".to_owned(),
        Grounds::Impossible => {
            format!("this request costs more than {limits} {names} can ever hold")
        }
        Grounds::Denied { retry_after } => {
            let again = |wait: Span| format!("; try again in {} ms", wait.as_millis_ceil());
            let again = retry_after.map_or_else(String::new, again);
            format!("{limits} {names} {have} no room now{again}")
        }
    }
}

/// What is inserted here is ASCII by construction.
fn insert_text(headers: &mut http::HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(name, value);
    }
}
