//! `GET /v1/explain`: why a request would pass now, or not.

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::body::invalid;
use super::{Api, answer};
use crate::explain::{Counters, Document, Question, Written};

/// Answers what `jeton explain` asks. Charges nothing.
pub(super) async fn explain(State(api): State<Api>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let read = Written::from_query(&query).and_then(|written| Question::read(&written));
    let question = match read {
        Ok(question) => question,
        Err(error) => return invalid(&error),
    };
    let explained = question.ask(&api.0.gate).await;
    let generation = api.0.metrics.generation();
    let counters = Counters::OfProcess { generation };
    answer::json(&Document::new(&question, &explained, counters))
}
