//! Third stage: an immutable table of rules that answers, for one request, who is charged.

mod allowed;
mod brought;
mod charge;
mod counters;
mod decode;
mod descriptors;
mod encode;
mod evaluate;
mod id;
mod judge;
mod named;
mod orders;
mod policy;
mod slot;
mod verdict;
mod view;

pub use brought::{BROUGHT, Brought};
pub use charge::{Charge, Counter, Settle};
pub(crate) use decode::{KeyText, PartValue, read_key};
pub(crate) use encode::{bound, push_text};
pub use evaluate::{Buffers, Evaluation};
pub use named::{Named, NamedKeyError};
pub use orders::Orders;
pub use policy::{CompiledRule, Loaded, Policy};
pub(crate) use slot::{Silent, TermsOf};
pub use verdict::{Denied, DenyReason, Verdict};
pub(crate) use view::{View, word};

/// How much more a rule allows to CORS preflights, on a counter of their own.
///
/// A preflight costs the client nothing of its limit, and is no free flood either.
pub const PREFLIGHT_FACTOR: u64 = 10;
