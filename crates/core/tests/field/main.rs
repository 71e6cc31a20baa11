//! Faults met in the field that the engine alone answers for, each under its number.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests state what must hold

mod debt;
mod driver;
mod edges;
mod held;
mod maths;
mod plans;
mod time;
