//! Explanations: what a policy makes of a request, and why, charged to nobody.
//!
//! The command line and `GET /v1/explain` read the same [`Question`] and give the same
//! [`Document`], which is JSON, or text for a terminal.

mod client;
mod descriptors;
mod document;
mod lines;
mod question;
mod rules;
mod text;
mod time;

pub use client::{Client, Field};
pub use document::{Counters, Document};
pub use question::{Question, Written};
pub use rules::{Counted, Entry, Part, Plan, Speaking};
pub use text::{Mark, write_text};
