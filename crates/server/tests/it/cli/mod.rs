//! The commands, as a user types them.

mod check;
mod demo;
mod simulate;
mod start;
