//! Gate and limiter as their users meet them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

mod exceptions;
mod gate;
#[cfg(feature = "settling")]
mod hold;
#[cfg(feature = "settling")]
mod in_flight;
mod limiter;
mod operators;
mod outage;
mod receipts;
mod reserve;
mod support;
