//! Denials that are remembered and units that are taken ahead, over a store that counts how often it is
//! called.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

mod acts;
mod bound;
mod denials;
mod far;
mod field;
#[cfg(feature = "settling")]
mod later;
mod leases;
mod random;
#[cfg(feature = "settling")]
mod refills;
mod saved;
mod threads;
