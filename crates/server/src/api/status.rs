//! Health, readiness, metrics.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::{Api, answer};
use crate::metrics;
use crate::store::Backend;

const TEXT: &str = "text/plain; charset=utf-8";

/// The process runs and answers.
pub(super) async fn healthz() -> Response {
    answer::respond(StatusCode::OK, TEXT, "ok\n".into())
}

/// New work is welcome: not once the process has been told to stop. A policy file that is not what
/// is in force is told, and no reason to send nothing here: the policy before it still decides. Nor is a
/// store that is away: then the outage rule does.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
    if !api.0.ready.load(Ordering::Acquire) {
        return answer::problem_of(
            StatusCode::SERVICE_UNAVAILABLE,
            "This process is being stopped.",
        );
    }
    let metrics = &api.0.metrics;
    let mut text = match metrics.refusal() {
        None => "ready\n".to_owned(),
        Some(why) => format!("ready, under policy {}: {why}\n", metrics.generation()),
    };
    if let Some(why) = metrics.degraded() {
        let trouble = match metrics.store() {
            Backend::Disk(kept) => kept.trouble(),
            _ => None,
        };
        let why = trouble.map_or_else(|| why.to_string(), |trouble| trouble.to_string());
        // Writing to a text does not fail.
        let _ = writeln!(text, "degraded: {why}; on_failure decides");
    }
    answer::respond(StatusCode::OK, TEXT, text.into())
}

pub(super) async fn metrics(State(api): State<Api>) -> Response {
    if let Ok(text) = metrics::render(&api.0.metrics) {
        answer::respond(StatusCode::OK, metrics::CONTENT_TYPE, text.into())
    } else {
        let detail = "The metrics could not be written.";
        answer::problem_of(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}
