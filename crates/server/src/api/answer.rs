//! Responses of the API.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use jeton::wire::problem::{Format, Problem};
use schemars::JsonSchema;
use serde::Serialize;

/// A refusal, or an error (RFC 9457).
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
#[allow(
    dead_code,
    reason = "the schema of what `wire` writes; a test holds them together"
)]
pub(super) struct ProblemDocument {
    /// What kind of problem it is; `about:blank` where the status says it all.
    r#type: String,
    /// The kind in words.
    title: String,
    /// The status that it is answered with.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// What is wrong here, and what to do.
    detail: String,
    /// The member of the body, or the parameter, that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    field: Option<String>,
    /// The rules whose limits it hurts.
    #[serde(rename = "violated-policies", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    violated_policies: Option<Vec<String>>,
    /// Seconds after which it may be tried again.
    #[serde(rename = "retry-after", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    retry_after: Option<u64>,
}

/// A problem as the API answers it: always JSON.
pub(super) fn problem(problem: &Problem<'_>) -> Response {
    let status = StatusCode::from_u16(problem.status()).unwrap_or_default();
    let body = problem.body(Format::Json);
    respond(status, Format::Json.content_type(), body.into())
}

/// A problem that its status explains.
pub(super) fn problem_of(status: StatusCode, detail: &str) -> Response {
    problem(&Problem::new(status.as_u16(), detail))
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => respond(StatusCode::OK, "application/json", body.into()),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            problem_of(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The answer could not be written.",
            )
        }
    }
}

/// An answer that is true now and must not be kept.
pub(super) fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
