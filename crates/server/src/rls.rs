//! The door for Envoy: `envoy.service.ratelimit.v3.RateLimitService`, with health and reflection as gRPC
//! has them, and `/json` for who speaks no gRPC.
//!
//! [`messages`] are the words on the wire, `question` reads them for the gate, `answer` says what it
//! ruled; `service` is what a connection is served by, and `listen` accepts them. What a request is
//! limited by is the gate's affair: this only carries it there and back.

mod answer;
pub(crate) mod headers;
mod json;
mod listen;
pub mod messages;
mod metadata;
mod patience;
mod protos;
mod question;
mod reflection;
mod service;
mod tls;

pub use listen::{Bound, OpenError, bind};
pub use tls::TlsError;

/// The service, as gRPC calls it.
const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";
