//! The door of the proxy: a request becomes facts, the gate's answer becomes fields or a refusal.
//!
//! Both are the words of [`jeton::door`], which says who gets what.

mod watch;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use http_body_util::Full;
use jeton::door::{HttpFacts, client_of, format_of, origin_of};
use jeton::policy::Policy;
use jeton::wire::client_ip::Source;
use jeton::wire::problem::Format;
use jeton::{Answered, Gate};

use crate::metrics::Metrics;
use crate::proxy::{Admission, Admitted, Admitting, Pass, Peer};
use watch::Watch;

/// Decides about the requests of a proxy.
pub struct Door {
    gate: Gate,
    metrics: Arc<Metrics>,
    watch: Watch,
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
    pub fn new(gate: Gate, metrics: Arc<Metrics>) -> Self {
        Self {
            gate,
            metrics,
            watch: Watch::default(),
        }
    }

    /// Who the client is. What is odd about how it was found is said once.
    fn client(&self, policy: &Policy, head: &Parts, peer: Peer) -> Option<IpAddr> {
        let client = client_of(policy, head, peer.ip());
        self.watch.saw(&client, policy, head);
        client.address
    }
}

impl Admission for Door {
    fn admit(&self, request: &mut Parts, peer: Peer) -> Admitting {
        let policy = self.gate.policy();
        let asked = Instant::now();
        let client = self.client(&policy, request, peer);
        let is_from_trusted = trusts(&policy, peer);
        let deciding = self.gate.take(&HttpFacts::new(request, client));
        match deciding.now() {
            Ok(answered) => {
                self.metrics.decided(asked, &answered);
                let voice = || (format_of(request), origin_of(request).cloned());
                Admitting::Now(admitted(&answered, is_from_trusted, voice))
            }
            Err(later) => {
                let metrics = Arc::clone(&self.metrics);
                let voice = (format_of(request), origin_of(request).cloned());
                Admitting::Later(Box::pin(async move {
                    let answered = later.wait().await;
                    metrics.decided(asked, &answered);
                    admitted(&answered, is_from_trusted, || voice)
                }))
            }
        }
    }

    fn relies_on(&self, name: &HeaderName) -> bool {
        self.gate
            .policy()
            .settings()
            .client_ip
            .finder
            .source
            .header()
            == name.as_str()
    }
}

/// Whether what `peer` forwards is believed.
fn trusts(policy: &Policy, peer: Peer) -> bool {
    let finder = &policy.settings().client_ip.finder;
    finder.source != Source::None && finder.trust.believes(peer.ip())
}

/// `voice` tells how a refusal is to be written, and for whose scripts.
fn admitted(
    answered: &Answered,
    is_from_trusted: bool,
    voice: impl FnOnce() -> (Format, Option<HeaderValue>),
) -> Admitted {
    match answered.refusal() {
        Some(refusal) => {
            let (format, origin) = voice();
            let response = refusal.readable_by(origin.as_ref()).response(format);
            Admitted::Answer(response.map(Full::from))
        }
        None => Admitted::Pass(Pass {
            is_from_trusted,
            limits: answered.limit_fields(),
            ..Pass::default()
        }),
    }
}
