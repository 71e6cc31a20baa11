//! Third stage: an immutable table of rules that answers, for one request, who is charged.

mod encode;
mod evaluate;
mod id;
mod named;
mod policy;

pub use evaluate::{Buffers, Charge, Denied, DenyReason, Evaluation, Verdict};
pub use named::NamedKeyError;
pub use policy::{CompiledRule, Loaded, Policy};

/// How much more a rule allows to CORS preflights, on a counter of their own.
///
/// A preflight costs the client nothing of its limit, and is no free flood either.
pub const PREFLIGHT_FACTOR: u64 = 10;
