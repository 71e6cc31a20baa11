//! Health, readiness, metrics.

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::{Api, answer};
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// The process runs and answers.
pub(super) async fn healthz() -> Response {
    answer::respond(StatusCode::OK, TEXT, "ok\n".into())
}

/// New work is welcome: not once the process has been told to stop.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
    if api.0.ready.load(Ordering::Acquire) {
        answer::respond(StatusCode::OK, TEXT, "ready\n".into())
    } else {
        answer::problem_of(
            StatusCode::SERVICE_UNAVAILABLE,
            "This process is being stopped.",
        )
    }
}

pub(super) async fn metrics(State(api): State<Api>) -> Response {
    if let Ok(text) = metrics::render(&api.0.metrics) {
        answer::respond(StatusCode::OK, metrics::CONTENT_TYPE, text.into())
    } else {
        let detail = "The metrics could not be written.";
        answer::problem_of(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}
