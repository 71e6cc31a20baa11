//! The layer before real servers (axum, hyper, tonic), driven by curl and gRPC clients, and before
//! services that watch it closely.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

mod answers;
mod axum;
mod body;
mod cors;
#[path = "../it/faulty.rs"]
#[allow(dead_code)] // not everything that can fail is shown here
mod faulty;
mod hyper;
mod once;
mod outage;
mod ready;
mod settling;
mod support;
mod tonic;
mod until_ready;
