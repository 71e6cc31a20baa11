//! What rate limiting looks like on the wire: `Retry-After` and limit fields in every dialect,
//! problem documents, the client's address behind proxies, and the one normal form of a path.
//!
//! Everything here is a pure function over borrowed bytes. Arbitrary input is answered, never
//! with a panic, and the work is linear in its length.
//!
//! This crate must **not** know: sockets, HTTP libraries, stores, the clock, the policy file, the
//! types of any other Jeton crate. Hop-by-hop fields and status lines belong to the doors.
//!
//! | module | holds |
//! |---|---|
//! | [`retry_after`] | waits in microseconds to whole seconds |
//! | [`ratelimit`] | writing quotas into fields, by dialect |
//! | [`read`] | reading them, in whatever dialect |
//! | [`merge`] | bringing ours into an answer that has its own |
//! | [`problem`] | `application/problem+json` or short text, chosen by `Accept` |
//! | [`client_ip`] | who the client is, and its counting key |
//! | [`cors`] | what scripts may read of our own answers |
//! | [`path`] | the form in which paths are matched and keyed |
//! | [`proxy_protocol`] | the header by which load balancers pass on addresses |

#![forbid(unsafe_code)]

pub mod client_ip;
pub mod cors;
pub mod merge;
pub mod path;
pub mod problem;
pub mod proxy_protocol;
pub mod ratelimit;
pub mod read;
pub mod retry_after;

mod decimal;
mod pieces;
mod structured;
