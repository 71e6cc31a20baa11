//! The `jeton` command's own parts: thin adapters between sockets and the gate.
//!
//! - [`proxy`]: the HTTP reverse proxy, which asks an [`Admission`](proxy::Admission) about every
//!   request and streams what passes to one upstream.
//!
//! Nothing depends on this crate. It must not know how a limit is computed or where its state
//! lives: a door hands facts to the gate and carries the answer back.

#![forbid(unsafe_code)]

pub mod proxy;
