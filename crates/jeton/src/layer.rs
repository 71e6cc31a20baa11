//! A tower layer that limits the requests of a service: for axum, hyper and tonic.
//!
//! ```
//! use axum::{Router, routing::get};
//! use jeton::{Limiter, layer::RateLimitLayer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let limiter = Limiter::bucket("5/s", 20)?;             // 20 at once, 5 a second after that
//! let by_key = RateLimitLayer::by(limiter, |head| head.headers.get("x-api-key").cloned());
//! let app: Router = Router::new()
//!     .route("/", get(|| async { "hello" }))
//!     .layer(by_key);
//! # Ok(())
//! # }
//! ```
//!
//! - [`RateLimitLayer::by`]: one [`Limiter`], whose key a closure reads from the request.
//! - [`RateLimitLayer::policy`]: the rules of a [`Gate`], all of them in one step.
//!
//! **One state.** Clones of a layer and of its services share one state, whatever connection or
//! HTTP/2 stream a request comes by. A layer (or several over one gate) that stands twice on a
//! request's path charges it once.
//!
//! **Settling.** Charges of rules with `count` or a response cost are held until the service has
//! answered, and settled before its head goes out, so that the limit fields tell what is left after
//! that; trailers and units of `concurrency` are settled when the body ends. A client that goes
//! away leaves the charge. Plan and cost fields of peers that `[client_ip]` does not trust are taken
//! out of the request before anybody reads them, and rules in mode `mark` tell the service
//! ([`LIMITED`](crate::door::LIMITED)).
//!
//! **Answers.** [`door`](crate::door) says what clients get. A gRPC client (`content-type:
//! application/grpc…`) gets a gRPC status instead of an HTTP one: see [below](self#grpc).
//! What passes carries the limit fields beside those of the service.
//!
//! **Cost.** The future is a plain state machine; nothing is boxed while the store answers at once,
//! as memory always does. One marker is left in the request's extensions.
//!
//! # gRPC
//!
//! | what became of the call | status | advice |
//! |---|---|---|
//! | a rule denied it | 8 `RESOURCE_EXHAUSTED` | `grpc-retry-pushback-ms` and `google.rpc.RetryInfo`: the wait |
//! | its cost can never fit | 8 `RESOURCE_EXHAUSTED` | `grpc-retry-pushback-ms: -1`: do not retry |
//! | forbidden | 7 `PERMISSION_DENIED` | the same |
//! | the cost that it states is no number | 3 `INVALID_ARGUMENT` | the same |
//! | more rules than one step can hold | 14 `UNAVAILABLE` | the same |
//! | the store gave no decision, `on_failure = "deny"` | 14 `UNAVAILABLE` | the wait, as above |
//!
//! HTTP status 200, all in the head of the response ("trailers-only"). A call is charged once, however
//! many messages it streams.
//!
//! It must not know servers: a service is whatever takes an [`http::Request`].
//!
//! [`Limiter`]: crate::Limiter
//! [`Gate`]: crate::Gate

mod audience;
mod by_key;
mod charged;
mod decider;
mod encode;
mod future;
mod grpc;
mod guarded;
mod service;

use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;
use tower_layer::Layer;

use crate::{Gate, Limiter};
pub use by_key::{ByKey, NameError};
use decider::Decider;
pub use future::RateLimitFuture;
pub use guarded::{Guarded, Hold};
pub use service::RateLimit;

/// Puts a limit before services. Clones share its state, and so do all services it makes.
#[derive(Clone)]
pub struct RateLimitLayer {
    decider: Arc<Decider>,
}

impl RateLimitLayer {
    /// Charges `limiter` one unit per request, under the key that `key` reads from its head.
    ///
    /// Requests for which it is `None` share one counter; [`ByKey`] has the other ways to treat
    /// them, and the name and dialect under which clients are told.
    ///
    /// In axum `ConnectInfo` is there only if the router is served by
    /// `into_make_service_with_connect_info::<SocketAddr>()`; without it the key below is `None` for
    /// everybody, and they all share one counter.
    ///
    /// ```
    /// use std::net::SocketAddr;
    /// use axum::extract::ConnectInfo;
    /// use jeton::{Limiter, layer::RateLimitLayer};
    ///
    /// let limiter = Limiter::bucket("5/s", 20)?;
    /// let by_address = RateLimitLayer::by(limiter, |head| {
    ///     let peer = head.extensions.get::<ConnectInfo<SocketAddr>>()?;
    ///     Some(peer.ip())
    /// });
    /// # Ok::<(), jeton::LimiterError>(())
    /// ```
    pub fn by<K: Hash>(
        limiter: Limiter,
        key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        ByKey::new(limiter, key).layer()
    }

    /// Charges the rules of `gate` that apply to a request, all or none. Reading a policy from text,
    /// as below, needs the feature `policy-files`.
    ///
    /// `peer` reads from its head who is at the other end of its connection; `[client_ip]` of the
    /// policy says whether that is the client, or a proxy whose header names it. Servers leave the
    /// peer in the request's extensions: axum as `ConnectInfo<SocketAddr>` (if
    /// served by `into_make_service_with_connect_info`), tonic as `TcpConnectInfo`. Requests for which it is `None` have no client address, and
    /// `missing = …` of the rules says what becomes of them.
    ///
    /// ```
    /// use std::{net::SocketAddr, sync::Arc};
    /// use axum::extract::ConnectInfo;
    /// use jeton::policy::{NoReferences, Policy, Source};
    /// use jeton::{Clock, Gate, Settings, Table, layer::RateLimitLayer};
    ///
    /// let file = r#"rule = [{ name = "all", key = "client-ip", algorithm = "gcra", rate = "5/s" }]"#;
    /// let policy = Policy::load(&Source::new("jeton.toml", file), &NoReferences)?.policy;
    /// let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
    /// let layer = RateLimitLayer::policy(gate, |head| {
    ///     let peer = head.extensions.get::<ConnectInfo<SocketAddr>>()?;
    ///     Some(peer.ip())
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn policy(
        gate: Gate,
        peer: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        Self::of(Decider::policy(gate, peer))
    }

    fn of(decider: Decider) -> Self {
        Self {
            decider: Arc::new(decider),
        }
    }
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("decider", &self.decider)
            .finish()
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit::new(inner, Arc::clone(&self.decider))
    }
}
