//! The `jeton` command's own parts: thin adapters between sockets and the gate.
//!
//! - [`proxy`]: the HTTP reverse proxy, which asks an [`Admission`](proxy::Admission) about every
//!   request and streams what passes to one upstream.
//! - [`door`]: that question, put to the gate, and its answer in the words of HTTP.
//! - [`engine`]: events in, lines out, for traces and calls alike.
//! - [`explain`]: what a policy makes of a request and why, as JSON and as text.
//! - [`api`]: the HTTP decision API.
//! - [`rls`]: decisions for Envoy.
//! - [`resp`]: decisions for Redis clients.
//! - `doors`: what doors have in common: tokens, how many come in, how much is asked at once.
//! - [`metrics`]: what `/metrics` tells.
//! - [`store`]: the store that a policy names, opened.
//! - [`run`]: everything a policy names, started, served and drained.
//! - [`cli`]: the commands.
//!
//! Nothing depends on this crate. It must not know how a limit is computed or where its state
//! lives: a door hands facts to the gate and carries the answer back.

#![forbid(unsafe_code)]

pub mod api;
pub mod cli;
pub mod door;
mod doors;
pub mod engine;
pub mod explain;
pub mod metrics;
pub mod proxy;
pub mod resp;
pub mod rls;
pub mod run;
pub mod store;
