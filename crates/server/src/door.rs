//! The door of the proxy: a request becomes facts, the gate's answer becomes fields or a refusal.
//!
//! Both are the words of [`jeton::door`], which says who gets what.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use http::request::Parts;
use http_body_util::Full;
use jeton::door::{HttpFacts, client_of, format_of};
use jeton::policy::Policy;
use jeton::wire::client_ip::{Origin, Source};
use jeton::wire::problem::Format;
use jeton::{Answered, Gate};

use crate::metrics::Metrics;
use crate::proxy::{Admission, Admitted, Admitting, Pass, Peer};

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
    fn client(&self, policy: &Policy, head: &Parts, peer: Peer) -> Option<IpAddr> {
        let client = client_of(policy, head, peer.ip());
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
        let client = self.client(&policy, request, peer);
        let deciding = self.gate.take(&HttpFacts::new(request, client));
        match deciding.now() {
            Ok(answered) => {
                self.metrics.decided(asked, &answered);
                Admitting::Now(admitted(&answered, || format_of(request)))
            }
            Err(later) => {
                let (metrics, format) = (Arc::clone(&self.metrics), format_of(request));
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
    match answered.refusal() {
        Some(refusal) => Admitted::Answer(refusal.response(format()).map(Full::from)),
        None => Admitted::Pass(Pass {
            response_fields: answered.limit_fields().into_iter().collect(),
            hold: None,
        }),
    }
}
