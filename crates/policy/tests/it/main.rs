//! One binary for all tests against the public interface.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod bad;
mod common;
mod diff;
mod envoy;
mod evaluate;
mod examples;
mod explain;
mod explain_random;
mod good;
mod keys;
mod odd;
mod orders;
mod pages;
mod plans;
mod schema;
mod seen;
mod settling;
mod store;
