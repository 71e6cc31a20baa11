//! Servers that fail: how long that lasts, and what is decided meanwhile. A program of its own, since its
//! bounds on time would not hold beside tests that keep every core busy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::LazyLock;

use jeton_testkit::stall::Watch;

mod cluster;
mod foreign;
mod gate;
mod load;
mod memory;
mod sentinel;
#[path = "../support/server.rs"]
mod server;
mod store;

static WATCH: LazyLock<Watch> = LazyLock::new(|| Watch::start().with(server::RUNTIME.handle()));
