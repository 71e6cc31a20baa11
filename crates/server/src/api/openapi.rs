//! `/openapi.json`: the API described from the table of its routes and from the very types that
//! are read and written.

mod doc;
mod write;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::{Api, answer, routes};
pub(super) use doc::{Doc, Media, OF_PASSES, OF_REFUSALS};
pub(super) use write::document;

/// `GET /openapi.json`.
pub(super) async fn describe(State(api): State<Api>) -> Response {
    let tokens = api.tokens();
    let write = || Bytes::from(document(&routes::all(), &tokens, api.reach()).to_string());
    let written = api.0.descriptions.get(tokens.which());
    let written = written.map_or_else(write, |written| written.get_or_init(write).clone());
    answer::respond(StatusCode::OK, Media::Json.name(), written.into())
}
