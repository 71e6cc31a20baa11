//! Refusals as HTTP answers.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use jeton::wire::problem::{Format, Problem};
use jeton::{Answered, Disposition, Span};
use smallvec::SmallVec;

use super::fields;

/// The answer to a request that may not pass; none for one that may.
pub(super) fn refusal(
    answered: &Answered,
    format: impl FnOnce() -> Format,
) -> Option<Response<Full<Bytes>>> {
    if answered.allowed() {
        return None;
    }
    let violated: SmallVec<[&str; 3]> = answered.violated().collect();
    let problem = problem(answered, &violated);
    let format = format();
    let mut response = Response::new(Full::from(problem.body(format)));
    // Every problem has a status of RFC 9110 or 6585.
    *response.status_mut() = StatusCode::from_u16(problem.status()).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    insert_fields(answered, &problem, headers);
    Some(response)
}

/// The fields that a denial carries, whatever its body: also those of the API under `?deny=429`.
pub(crate) fn denial_fields(answered: &Answered, headers: &mut HeaderMap) {
    insert_fields(answered, &problem(answered, &[]), headers);
}

fn insert_fields(answered: &Answered, problem: &Problem<'_>, headers: &mut HeaderMap) {
    if let Some(seconds) = problem.retry_after_s() {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    headers.extend(fields::of(answered));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

fn problem<'a>(answered: &Answered, violated: &'a [&'a str]) -> Problem<'a> {
    match answered.disposition() {
        Disposition::Blocked | Disposition::Refused { .. } => Problem::forbidden(),
        Disposition::TooManyRules => {
            let detail = "More rules apply to this request than can be decided together.";
            Problem::new(503, detail)
        }
        _ if answered.impossible() => Problem::cost_impossible(violated),
        _ => {
            let wait_us = answered.retry_after().map(Span::as_micros);
            Problem::quota_exceeded(violated, wait_us)
        }
    }
}
