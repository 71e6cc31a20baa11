//! What decides about the requests of a layer.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use http::request::Parts;

use super::by_key::ByKey;
use crate::door::{HttpFacts, LimitFields, Refusal, client_of};
use crate::{Answered, Deciding, Gate};

/// An answer that a store has still to give.
pub(super) type Later = Pin<Box<dyn Future<Output = Answered> + Send>>;

type PeerOf = Box<dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync>;

pub(super) enum Decider {
    Keyed(ByKey),
    Policy { gate: Gate, peer: PeerOf },
}

/// What becomes of a request.
pub(super) enum Ruling<'a> {
    Pass(LimitFields),
    Refuse(Refusal<'a>),
}

impl<'a> From<&'a Answered> for Ruling<'a> {
    fn from(answered: &'a Answered) -> Self {
        match answered.refusal() {
            Some(refusal) => Self::Refuse(refusal),
            None => Self::Pass(answered.limit_fields()),
        }
    }
}

impl Decider {
    pub(super) fn policy(
        gate: Gate,
        peer: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        let peer = Box::new(peer);
        Self::Policy { gate, peer }
    }

    /// Decides about the request with this head, and hands the ruling to `then`.
    ///
    /// # Errors
    /// Gives the answer to come if the store has still to give it; `then` is not called.
    pub(super) fn ask<T>(
        &self,
        head: &Parts,
        then: impl FnOnce(Ruling<'_>) -> T,
    ) -> Result<T, Later> {
        match self {
            Self::Keyed(by_key) => Ok(by_key.ask(head, then)),
            Self::Policy { gate, peer } => {
                let client = client_of(&gate.policy(), head, peer(head)).address;
                match gate.take(&HttpFacts::new(head, client)) {
                    Deciding::Now(answered) => Ok(then(Ruling::from(&answered))),
                    Deciding::Later(later) => Err(later),
                }
            }
        }
    }

    /// Whether both charge the same gate. Two keyed layers over one limiter need not read the same
    /// key: each is its own.
    pub(super) fn shares_gate_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Policy { gate: one, .. }, Self::Policy { gate: two, .. }) => one.is(two),
            _ => false,
        }
    }
}

impl fmt::Debug for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyed(by_key) => by_key.fmt(f),
            Self::Policy { gate, .. } => gate.fmt(f),
        }
    }
}
