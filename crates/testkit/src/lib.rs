//! Slow exact models, trace generators and store laws for testing Jeton.
//!
//! Holds what the engine is measured against: one [`model`] per algorithm written from its
//! definition in exact fractions, the [`bound`]s that each algorithm promises, seeded [`trace`]s
//! of awkward traffic, the [`deviation`] of the sliding counter from the sliding log, and the [`laws`]
//! that every store is put through. Features bring what stores on servers are tested with: real Redis
//! servers (`redis-server`), and a proxy before one that fails as it is told to (`proxy`).
//!
//! Must NOT know: how `jeton-core` computes anything. The models share no code and no trick with
//! it, otherwise both could be wrong together. Only a development dependency: nothing that ships
//! may depend on this crate.
//!
//! Times are whole microseconds since the Unix epoch, amounts are whole units, throughout.

// A broken law or an impossible model state is reported by a panic: this crate only runs in tests.
#![allow(clippy::expect_used, clippy::panic, clippy::missing_panics_doc)]

pub mod bound;
pub mod deviation;
pub mod exact;
pub mod laws;
pub mod model;
pub mod plain;
#[cfg(feature = "proxy")]
pub mod proxy;
pub mod random;
#[cfg(feature = "redis-server")]
pub mod redis_server;
pub mod stall;
pub mod trace;
pub mod vectors;
