//! Who is told of a refusal, and how.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use jeton_wire::problem::Format;

use super::grpc;
use crate::door::{Refusal, format_of, origin_of};

/// How the sender of a request is to be told.
#[derive(Debug)]
pub(super) enum Audience {
    /// A gRPC client, which wants its own content type back.
    Grpc { content_type: HeaderValue },
    /// Anybody else: a body in this format, unless it asked for the head alone.
    Http {
        format: Format,
        head_only: bool,
        origin: Option<HeaderValue>,
    },
}

impl Audience {
    /// That of the request with this head.
    pub(super) fn of(head: &Parts) -> Self {
        match head.headers.get(CONTENT_TYPE) {
            Some(content_type) if grpc::is_grpc(content_type.as_bytes()) => Self::Grpc {
                content_type: content_type.clone(),
            },
            _ => Self::Http {
                format: format_of(head),
                head_only: head.method == Method::HEAD,
                origin: origin_of(head).cloned(),
            },
        }
    }

    pub(super) fn tell(self, refusal: Refusal<'_>) -> Response<Bytes> {
        match self {
            Self::Grpc { content_type } => grpc::response(&refusal, content_type),
            Self::Http {
                format,
                head_only,
                origin,
            } => {
                let mut response = refusal.readable_by(origin.as_ref()).response(format);
                // Stated here, for a body that is left out does not tell its length any more.
                let length = HeaderValue::from(response.body().len());
                response.headers_mut().insert(CONTENT_LENGTH, length);
                let body = |text| {
                    if head_only {
                        Bytes::new()
                    } else {
                        Bytes::from(text)
                    }
                };
                response.map(body)
            }
        }
    }
}
