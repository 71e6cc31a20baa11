//! Events in, lines out: the one reading and the one printing that `jeton simulate` and the
//! decision API share.
//!
//! An event asks for an op ([`Op`]) on charges that it names, on those that a request would make,
//! on a reservation, or on a key. A line is the answer:
//!
//! ```json
//! {"at_us":0,"allowed":true,"retry_after_us":null,"impossible":false,"decisions":[{"rule":"api",
//!  "allowed":true,"limit":5,"remaining":4,"reset_after_us":1000000,"retry_after_us":null,"mode":"enforce"}]}
//! ```
//!
//! - `allowed` of what is no question (`refund`, `reset`, `commit`, `block` …) is `true`: it was
//!   carried out. The numbers beside it show the state afterwards. Giving back more than was used,
//!   or forgetting a key nobody knows, is carried out too.
//! - Where no counter decided, `decisions` is empty and `reason` says why ([`Reason`]). `rule` names
//!   the rule that refused.
//! - `mode` is `trial` for another setting of a rule that is counted beside it.
//! - `"plan"` names the plan in force, `"approximate": true` marks a decision that a full store
//!   estimated, `"repeated": true` a reservation that had been settled before. All are left out
//!   otherwise.

pub(crate) mod bodies;
mod event;
mod fields;
mod input;
mod line;
mod op;
pub(crate) mod orders;
mod request;
mod step;

pub use event::Event;
pub use input::InputError;
pub use line::{CallAnswer, CallDecision, Reason, TraceDecision, TraceLine, Word};
pub(crate) use line::{reason, refusing};
pub use op::Op;
pub(crate) use step::refused;
pub use step::{Failed, Outcome, Reservations, step};
