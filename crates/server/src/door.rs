//! The door of the proxy: a request becomes facts, the gate's answer becomes fields or a refusal.
//!
//! | what became of the request | what the client gets |
//! |---|---|
//! | rules allowed it | the upstream's answer, with the limit fields appended |
//! | a rule denied it | 429, `Retry-After`, the limit fields, a body by `Accept` |
//! | its cost can never fit | 429 without `Retry-After` |
//! | `block` list, `limit = "deny"`, `missing = "deny"` | 403: waiting is no help |
//! | more rules than one step can hold | 503: the policy is to blame, and none may be left out |
//! | nothing counted, or the store gave no decision | the upstream's answer as it is |
//!
//! Refusals are never to be stored by a cache (RFC 6585, section 4). Fields that the upstream set
//! itself are kept, ours stand behind them.

pub(crate) mod answer;
mod facts;
mod fields;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use http::request::Parts;
use jeton::wire::client_ip::{ClientIp, Origin, Source};
use jeton::wire::problem::Format;
use jeton::{Answered, Gate};

use crate::metrics::Metrics;
use crate::proxy::{Admission, Admitted, Admitting, Pass, Peer};
use facts::HttpFacts;

/// Decides about the requests of a proxy.
pub struct Door {
    gate: Gate,
    metrics: Arc<Metrics>,
    warned_of_header: AtomicBool,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}

impl Door {
    /// A door to `gate`.
    pub const fn new(gate: Gate, metrics: Arc<Metrics>) -> Self {
        Self {
            gate,
            metrics,
            warned_of_header: AtomicBool::new(false),
        }
    }

    /// Who the client is. That a header is sent which nobody reads is said once: the proxy in
    /// front, not its clients, would be limited.
    fn client(&self, finder: &ClientIp, parts: &Parts, peer: Peer) -> Option<std::net::IpAddr> {
        let lines = parts.headers.get_all("x-forwarded-for").iter();
        let client = finder.find(peer.ip(), lines.map(http::HeaderValue::as_bytes));
        if client.origin == Origin::HeaderNotInUse && !self.warned_of_header.load(Relaxed) {
            self.warned_of_header.store(true, Relaxed);
            tracing::warn!(
                "X-Forwarded-For is sent but not read, so addresses are those of sockets; if a \
                 proxy stands in front, set [client_ip] header = \"x-forwarded-for\" with \
                 `trusted` or `hops`"
            );
        }
        client.address
    }
}

impl Admission for Door {
    fn admit(&self, request: &mut Parts, peer: Peer) -> Admitting {
        let policy = self.gate.policy();
        let asked = Instant::now();
        let client = self.client(&policy.settings().client_ip.finder, request, peer);
        let deciding = self.gate.take(&HttpFacts::new(request, client));
        match deciding.now() {
            Ok(answered) => {
                self.metrics.decided(asked, &answered);
                Admitting::Now(admitted(&answered, || format(request)))
            }
            Err(later) => {
                let (metrics, format) = (Arc::clone(&self.metrics), format(request));
                Admitting::Later(Box::pin(async move {
                    let answered = later.wait().await;
                    metrics.decided(asked, &answered);
                    admitted(&answered, || format)
                }))
            }
        }
    }

    fn trusts(&self, peer: Peer) -> bool {
        let policy = self.gate.policy();
        let finder = &policy.settings().client_ip.finder;
        finder.source != Source::None && finder.trust.believes(peer.ip())
    }
}

fn admitted(answered: &Answered, format: impl FnOnce() -> Format) -> Admitted {
    match answer::refusal(answered, format) {
        Some(refusal) => Admitted::Answer(refusal),
        None => Admitted::Pass(Pass {
            response_fields: fields::of(answered).collect(),
            hold: None,
        }),
    }
}

/// How the client wants to be told.
fn format(parts: &Parts) -> Format {
    let lines = parts.headers.get_all(http::header::ACCEPT).iter();
    Format::from_accept(lines.map(http::HeaderValue::as_bytes))
}
