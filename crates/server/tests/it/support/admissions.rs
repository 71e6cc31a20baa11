//! Deciders for the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, request};
use http_body_util::Full;
use jeton::door::LimitFields;
use jeton_server::proxy::{Admission, Admitted, Admitting, Hold, Pass, Peer};

/// Everybody passes.
pub(crate) struct Everybody;

impl Admission for Everybody {
    fn admit(&self, _: &mut request::Parts, _: Peer) -> Admitting {
        Admitting::Now(Admitted::Pass(Pass::default()))
    }
}

/// Nobody passes.
pub(crate) struct Nobody;

impl Admission for Nobody {
    fn admit(&self, _: &mut request::Parts, _: Peer) -> Admitting {
        let mut refusal = Response::new(Full::from(Bytes::from_static(b"slow down\n")));
        *refusal.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        refusal
            .headers_mut()
            .insert("retry-after", HeaderValue::from_static("1"));
        Admitting::Now(Admitted::Answer(refusal))
    }
}

/// Everybody passes after a moment, with a field, holding something meanwhile.
#[derive(Default)]
pub(crate) struct Holding {
    pub(crate) held: Arc<AtomicUsize>,
    /// The last status that was reported to a hold.
    pub(crate) answered: Arc<AtomicUsize>,
}

struct Unit {
    held: Arc<AtomicUsize>,
    answered: Arc<AtomicUsize>,
}

impl Hold for Unit {
    fn answered(&mut self, response: &http::response::Parts) -> Option<LimitFields> {
        self.answered
            .store(response.status.as_u16().into(), Ordering::SeqCst);
        None
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Admission for Holding {
    fn admit(&self, _: &mut request::Parts, _: Peer) -> Admitting {
        self.held.fetch_add(1, Ordering::SeqCst);
        let (held, answered) = (Arc::clone(&self.held), Arc::clone(&self.answered));
        let unit = Unit { held, answered };
        Admitting::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            let field = (
                HeaderName::from_static("ratelimit"),
                HeaderValue::from_static("ours"),
            );
            Admitted::Pass(Pass {
                response_fields: vec![field],
                hold: Some(Box::new(unit)),
                ..Pass::default()
            })
        }))
    }
}

/// Everybody passes, and peers are believed.
pub(crate) struct Trusting;

impl Admission for Trusting {
    fn admit(&self, _: &mut request::Parts, _: Peer) -> Admitting {
        Admitting::Now(Admitted::Pass(Pass {
            is_from_trusted: true,
            ..Pass::default()
        }))
    }
}
