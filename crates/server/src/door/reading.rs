//! What the door looks up in a policy with every request, looked up once for each policy.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::HeaderName;
use http::request::Parts;
use jeton::Gate;
use jeton::policy::{CostSpec, Policy, ResponseCost};
use jeton::wire::client_ip::Source;

use crate::proxy::Peer;

/// A policy, and what of it every request asks for.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) policy: Arc<Policy>,
    /// Fields whose word is taken: only of trusted peers.
    believed: Vec<HeaderName>,
    /// Whether an answer may name its cost in a trailer.
    pub(super) wants_trailers: bool,
}

impl Reading {
    fn of(policy: Arc<Policy>) -> Self {
        let believed = policy.believed_headers().into_iter();
        let believed = believed
            .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
            .collect();
        let wants_trailers = policy.rules().iter().any(|rule| {
            let cost = &rule.rule().cost;
            matches!(cost, CostSpec::Response { source, .. }
                if matches!(source, ResponseCost::Trailer(_)))
        });
        Self {
            policy,
            believed,
            wants_trailers,
        }
    }

    /// Whether what `peer` forwards is believed.
    pub(super) fn trusts(&self, peer: Peer) -> bool {
        let finder = &self.policy.settings().client_ip.finder;
        finder.source != Source::None && finder.trust.believes(peer.ip())
    }

    /// Whether decisions rest on a field that a proxy in front writes.
    pub(super) fn relies_on(&self, name: &HeaderName) -> bool {
        let finder = &self.policy.settings().client_ip.finder;
        finder.source.header() == name.as_str() || self.believed.contains(name)
    }

    /// Takes away what only trusted peers may say.
    pub(super) fn disown(&self, request: &mut Parts) {
        for name in &self.believed {
            request.headers.remove(name);
        }
    }
}

/// The reading of the policy in force.
#[derive(Debug)]
pub(super) struct Latest(ArcSwap<Reading>);

impl Latest {
    pub(super) fn of(gate: &Gate) -> Self {
        Self(ArcSwap::from_pointee(Reading::of(gate.policy())))
    }

    pub(super) fn load(&self, gate: &Gate) -> Guard<Arc<Reading>> {
        let reading = self.0.load();
        let policy = gate.policy();
        if Arc::ptr_eq(&reading.policy, &policy) {
            return reading;
        }
        self.0.store(Arc::new(Reading::of(policy)));
        self.0.load()
    }
}
