//! The proxy's own error answers, as problem documents (RFC 9457).

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::Full;

/// An answer of `status` with one sentence, which must be plain text without quotes.
pub(super) fn answer(status: StatusCode, detail: &str) -> Response<Full<Bytes>> {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = format!(
        r#"{{"type":"about:blank","title":"{title}","status":{},"detail":"{detail}"}}"#,
        status.as_u16()
    );
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
