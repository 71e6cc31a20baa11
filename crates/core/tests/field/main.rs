//! Faults met in the field that the engine alone answers for, each under its number.

mod debt;
mod driver;
mod edges;
mod maths;
mod plans;
mod time;
