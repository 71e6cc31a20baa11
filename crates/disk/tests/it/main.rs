//! The store from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests stand outside of `#[test]`

mod clock;
mod format;
mod journal;
mod kill;
mod laws;
mod load;
mod media;
mod power;
mod restart;
mod space;
mod support;
mod trouble;
