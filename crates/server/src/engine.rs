//! Events in, lines out: the one reading and the one printing that `jeton simulate` and the
//! decision API share.
//!
//! An event asks for a verb ([`jeton::Verb`]) on charges that it names, or on those that a request
//! would make. A line is the answer:
//!
//! ```json
//! {"at_us":0,"allowed":true,"retry_after_us":null,"impossible":false,"decisions":[{"rule":"api",
//!  "allowed":true,"limit":5,"remaining":4,"reset_after_us":1000000,"retry_after_us":null,"mode":"enforce"}]}
//! ```
//!
//! - `allowed` of a `refund` or `reset` is `true`: it was carried out. The numbers beside it show
//!   the state afterwards. Giving back more than was used, or forgetting a key nobody knows, is
//!   carried out too.
//! - Where no counter decided, `decisions` is empty and `reason` says why: `"unmatched"` (no rule
//!   speaks of the request), `"unlimited"`, `"exempt"` pass; `"block"`, `"deny"`, `"missing"` (a
//!   key part, under `missing = "deny"`) and `"too-many-rules"` do not. `rule` names the rule that
//!   refused. `"degraded"` passes without a decision, since the store gave none.
//! - `"approximate": true` marks a decision that a full store estimated.

mod event;
mod fields;
mod input;
mod line;
mod raw;
mod request;
mod step;

pub use event::Event;
pub use input::InputError;
pub use line::{Line, Unit};
pub(crate) use line::{reason, refusing};
pub use step::step;
