//! The proxy between real clients and real servers: nginx, curl, wrk, and sockets that misbehave.
//!
//! Small by default; `JETON_FULL=1` runs the sizes the project promises.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod bounds;
mod cli;
mod crowd;
mod documents;
mod door;
mod examples;
mod failing_upstream;
mod fields;
mod framing;
mod gateways;
mod leaving;
mod listening;
mod load;
mod on_disk;
mod on_redis;
mod open_files;
mod openapi_outside;
mod refused;
mod reload;
mod resp;
mod retry;
mod rls;
mod settle;
mod stopping;
mod streaming;
mod support;
