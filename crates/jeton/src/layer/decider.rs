//! What decides about the requests of a layer.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use http::Response;
use http::request::Parts;

use super::by_key::ByKey;
use crate::door::{HttpFacts, LimitFields, Refusal, client_of, disbelieve, mark};
use crate::{Answered, Deciding, Gate, Hold};

/// An answer that a store has still to give.
pub(super) type Later = Pin<Box<dyn Future<Output = Answered> + Send>>;

type PeerOf = Box<dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync>;

pub(super) enum Decider {
    Keyed(ByKey),
    Policy { gate: Gate, peer: PeerOf },
}

/// What becomes of a request.
pub(super) enum Ruling<'a> {
    Pass(Pass),
    Refuse(Refusal<'a>),
}

/// What a response takes along.
pub(super) enum Pass {
    /// Fields that are known already.
    Fields(LimitFields),
    /// Charges that it settles; the fields tell what is left after that.
    Settling(Box<(Hold, Answered)>),
}

impl Default for Pass {
    fn default() -> Self {
        Self::Fields(LimitFields::default())
    }
}

impl Pass {
    /// Brings the limit fields into the head of the service's response. What its end still
    /// settles is given back.
    pub(super) fn into_head<R>(self, response: &mut Response<R>) -> Option<Hold> {
        match self {
            Self::Fields(fields) => {
                fields.merge_into(response.headers_mut());
                None
            }
            Self::Settling(settling) => {
                let (mut hold, mut answered) = *settling;
                let (status, headers) = (response.status(), response.headers());
                hold.answered(status, headers, Some(&mut answered));
                answered.limit_fields().merge_into(response.headers_mut());
                hold.is_open().then_some(hold)
            }
        }
    }
}

/// The ruling on the request with this head; the service is told of rules that mark it.
pub(super) fn ruled<T>(
    mut answered: Answered,
    head: &mut Parts,
    then: impl FnOnce(Ruling<'_>, &Parts) -> T,
) -> T {
    if let Some(refusal) = answered.refusal() {
        return then(Ruling::Refuse(refusal), head);
    }
    mark(&answered, head);
    let pass = match answered.take_hold() {
        Some(hold) => Pass::Settling(Box::new((hold, answered))),
        None => Pass::Fields(answered.limit_fields()),
    };
    then(Ruling::Pass(pass), head)
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
        head: &mut Parts,
        then: impl FnOnce(Ruling<'_>, &Parts) -> T,
    ) -> Result<T, Later> {
        match self {
            Self::Keyed(by_key) => Ok(by_key.ask(head, then)),
            Self::Policy { gate, peer } => {
                let (policy, peer) = (gate.policy(), peer(head));
                disbelieve(&policy, head, peer);
                let client = client_of(&policy, head, peer).address;
                match gate.hold(&HttpFacts::new(head, client)) {
                    Deciding::Now(answered) => Ok(ruled(answered, head, then)),
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
