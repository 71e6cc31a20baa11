//! The proxy between real clients and real servers: nginx, curl, wrk, and sockets that misbehave.
//!
//! Small by default; `JETON_FULL=1` runs the sizes the project promises.

mod bounds;
mod failing_upstream;
mod fields;
mod framing;
mod listening;
mod load;
mod refused;
mod retry;
mod stopping;
mod streaming;
mod support;
