//! Gate and limiter as their users meet them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

mod gate;
#[cfg(feature = "settling")]
mod hold;
mod limiter;
mod operators;
mod outage;
mod receipts;
mod reserve;
mod support;
