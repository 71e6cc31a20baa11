//! The proxy's own error answers: always problem documents (RFC 9457).

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderValue};
use http_body_util::Full;
use jeton::wire::problem::{Format, Problem};

use super::vet::Refusal;

/// An answer that says no, and why.
pub(super) fn answer(refusal: Refusal) -> Response<Full<Bytes>> {
    let format = Format::Json;
    let problem = Problem::new(refusal.status.as_u16(), refusal.detail);
    let mut response = Response::new(Full::from(problem.body(format)));
    *response.status_mut() = refusal.status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
