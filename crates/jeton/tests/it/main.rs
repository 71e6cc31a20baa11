//! Gate and limiter as their users meet them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

#[cfg(feature = "settling")]
mod away;
mod batch;
mod descriptors;
mod exceptions;
#[cfg_attr(not(feature = "settling"), allow(dead_code))]
mod faulty;
mod gate;
#[cfg(feature = "settling")]
mod hold;
#[cfg(feature = "settling")]
mod in_flight;
mod limiter;
mod operators;
mod outage;
#[cfg(feature = "settling")]
mod outage_random;
mod receipts;
mod reserve;
mod support;
