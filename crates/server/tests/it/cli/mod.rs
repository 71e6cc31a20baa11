//! The commands, as a user types them.

mod check;
mod demo;
mod explain;
mod help;
mod operate;
mod simulate;
mod start;
