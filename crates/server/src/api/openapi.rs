//! `/openapi.json`: the API described from the table of its routes and from the very types that
//! are read and written.

mod doc;
mod write;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::access::Tokens;
use super::listen::Reach;
use super::routes::Route;
use super::{Api, answer};
pub(super) use doc::{Doc, Media, OF_PASSES, OF_REFUSALS};
pub(super) use write::document;

/// The document, as it is sent.
pub(super) fn bytes(routes: &[Route], tokens: &Tokens, reach: Reach) -> Bytes {
    Bytes::from(document(routes, tokens, reach).to_string())
}

/// `GET /openapi.json`.
pub(super) async fn describe(State(api): State<Api>) -> Response {
    let written = api.0.description.get().cloned().unwrap_or_default();
    answer::respond(StatusCode::OK, Media::Json.name(), written.into())
}
