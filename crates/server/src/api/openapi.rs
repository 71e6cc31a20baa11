//! `/openapi.json`: the API described from the table of its routes and from the very types that
//! are read and written.

mod doc;
mod write;

use axum::body::Bytes;
use axum::response::Response;
use http::StatusCode;

use super::access::Tokens;
use super::answer;
use super::listen::Reach;
use super::routes::Route;
pub(super) use doc::{Doc, Media, OF_PASSES, OF_REFUSALS};
pub(super) use write::document;

/// The document, as it is sent.
pub(super) fn bytes(routes: &[Route], tokens: &Tokens, reach: Reach) -> Bytes {
    Bytes::from(document(routes, tokens, reach).to_string())
}

/// Answers with it.
pub(super) fn respond(document: Bytes) -> Response {
    answer::respond(StatusCode::OK, Media::Json.name(), document.into())
}
