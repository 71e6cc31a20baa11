//! The store on real servers, which the tests start themselves: Redis 7.0 (Debian) and 8.2 (PyPI).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod laws;
mod server;
