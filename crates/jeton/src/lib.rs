//! Exact rate limiting: in one indivisible step, may this request pass now?
//!
//! - [`Limiter`]: one quota, any key.
//! - [`Gate`]: a policy of several rules over a store, which every door asks.
//! - [`Clock`]: the only place where time enters.
//! - `layer`: a tower layer for axum, hyper and tonic.
//!
//! | feature | adds | brings |
//! |---|---|---|
//! | `policy-files` | reading policies from TOML | `toml` |
//! | `http` | `door`: what a decision becomes in HTTP | `http` |
//! | `until-ready` | `Limiter::until_ready`: wait for one's turn | `tokio`, its timer alone |
//! | `settling` | `Gate::hold`: charges that responses settle; `Gate::drive`; `http` with it | `tokio`: tasks, timer |
//! | `disk` | `disk`: states that outlast the process, in a folder | `redb`; Rust 1.90 |
//! | `redis` | `redis`: states on a Redis or Valkey server | `redis`, `rustls`, `tokio` |
//! | `tower` | `layer`; `http`, `until-ready` and `settling` with it | `tower-service`, `tower-layer`, `http-body` |
//!
//! None is on by default, and none changes what is there without it. The least Rust is 1.88, with
//! every feature but `disk`.
//!
//! It does not know HTTP servers, sockets or files: a request is a set of [`policy::Facts`].

mod answered;
mod clock;
#[cfg(feature = "http")]
pub mod door;
mod gate;
#[cfg(feature = "tower")]
pub mod layer;
mod limiter;
mod meters;
mod named;
mod opaque;
mod tally;
#[cfg(feature = "until-ready")]
mod until_ready;
mod verb;

pub use answered::{Answered, Disposition, RuleDecision, Settlement};
pub use clock::Clock;
#[cfg(feature = "settling")]
pub use gate::Hold;
pub use gate::{
    Asking, Batch, BatchAnswer, BatchMemory, BatchReply, Brought, DEFAULT_TTL, Decided, Deciding,
    Descriptor, DescriptorRequest, Explained, Gate, Hits, InFlight, OrderError, OrderInForce,
    Ruled, RuledDescriptor, Ruling, Standing, StoreState, table_settings,
};
pub use jeton_core::{
    Act, Anchor, Answers, Cost, Decision, Fit, Micros, Note, NoteEdit, Op, Pending, Plan, Quota,
    QuotaError, Rate, Reading, Receipt, RuleId, Span, Store, StoreError, StoreErrorKind, Submitted,
    When, Written,
};
#[cfg(feature = "disk")]
pub use jeton_disk as disk;
pub use jeton_memory::{Overflow, Seed, Settings, SettingsError, Stats, Table};
pub use jeton_policy as policy;
#[cfg(feature = "redis")]
pub use jeton_redis as redis;
pub use jeton_wire as wire;
pub use limiter::{Limiter, LimiterError};
pub use meters::{Event, RuleOutcome};
pub use named::ChargeError;
pub use opaque::{GivenReceipt, Handle, OpaqueError};
pub use tally::Tally;
#[cfg(feature = "until-ready")]
pub use until_ready::NotReady;
pub use verb::{NamedCharge, Verb};
