//! The layer before real servers (axum, hyper, tonic), driven by curl and gRPC clients, and before
//! services that watch it closely.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests state what must hold

mod answers;
mod axum;
mod body;
mod cors;
mod hyper;
mod once;
mod ready;
mod settling;
mod support;
mod tonic;
mod until_ready;
