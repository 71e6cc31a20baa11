//! The door of the proxy: a request becomes facts, the gate's answer becomes fields or a refusal.
//!
//! Both are the words of [`jeton::door`], which says who gets what. What is charged for a response
//! is held until the upstream has answered: by its head or its trailers, never by an answer of the
//! proxy's own. Whatever breaks off before stays charged.

mod held;
mod reading;
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
use jeton::wire::problem::Format;
use jeton::{Answered, Gate};

use crate::metrics::Metrics;
use crate::proxy::{self, Admission, Admitted, Admitting, Pass, Peer};
use held::Held;
use reading::Latest;
use watch::Watch;

/// Names the rules in mode `mark` that would have denied.
static LIMITED: HeaderName = HeaderName::from_static("x-jeton-limited");

/// Decides about the requests of a proxy.
pub struct Door {
    gate: Gate,
    metrics: Arc<Metrics>,
    latest: Latest,
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
            latest: Latest::of(&gate),
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
        let asked = Instant::now();
        let reading = self.latest.load(&self.gate);
        let is_from_trusted = reading.trusts(peer);
        if !is_from_trusted {
            reading.disown(request);
        }
        let client = self.client(&reading.policy, request, peer);
        let passing = Passing {
            is_from_trusted,
            wants_trailers: reading.wants_trailers,
        };
        let deciding = self.gate.hold(&HttpFacts::new(request, client));
        match deciding.now() {
            Ok(answered) => {
                self.metrics.decided(asked);
                let voice = || (format_of(request), origin_of(request).cloned());
                Admitting::Now(passing.admitted(answered, voice))
            }
            Err(later) => {
                let metrics = Arc::clone(&self.metrics);
                let voice = (format_of(request), origin_of(request).cloned());
                Admitting::Later(Box::pin(async move {
                    let answered = later.wait().await;
                    metrics.decided(asked);
                    passing.admitted(answered, || voice)
                }))
            }
        }
    }

    fn relies_on(&self, name: &HeaderName) -> bool {
        self.latest.load(&self.gate).relies_on(name)
    }
}

/// What is known of how a request passes before it is known whether it does.
struct Passing {
    is_from_trusted: bool,
    wants_trailers: bool,
}

impl Passing {
    /// `voice` tells how a refusal is to be written, and for whose scripts.
    fn admitted(
        self,
        mut answered: Answered,
        voice: impl FnOnce() -> (Format, Option<HeaderValue>),
    ) -> Admitted {
        if let Some(refusal) = answered.refusal() {
            let (format, origin) = voice();
            let response = refusal.readable_by(origin.as_ref()).response(format);
            return Admitted::Answer(response.map(Full::from));
        }
        let request_fields = limited(&answered).into_iter().collect();
        let limits = answered.limit_fields();
        let hold = answered.take_hold();
        let hold = hold.map(|hold| -> Box<dyn proxy::Hold> { Box::new(Held { hold, answered }) });
        Admitted::Pass(Pass {
            is_from_trusted: self.is_from_trusted,
            request_fields,
            response_fields: Vec::new(),
            limits,
            wants_trailers: self.wants_trailers && hold.is_some(),
            hold,
        })
    }
}

/// The field that tells the upstream of marks, if there are some.
fn limited(answered: &Answered) -> Option<(HeaderName, HeaderValue)> {
    let mut marked = answered.marked();
    let mut names = marked.next()?.to_owned();
    for name in marked {
        names.push_str(", ");
        names.push_str(name);
    }
    // Names of rules are printable ASCII.
    let names = HeaderValue::try_from(names).ok()?;
    Some((LIMITED.clone(), names))
}
