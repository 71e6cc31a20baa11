//! What every HTTP door has in common: a request's head becomes facts, an answer becomes limit
//! fields or a refusal.
//!
//! | what became of the request | what the client gets |
//! |---|---|
//! | rules allowed it | the service's answer, with the limit fields appended |
//! | a rule denied it | 429, `Retry-After`, the limit fields, a body by `Accept` |
//! | its cost can never fit | 429 without `Retry-After` |
//! | `block` list, `limit = "deny"`, `missing = "deny"` | 403: waiting is no help |
//! | an operator's block of its key | 429, `Retry-After` if the block ends by itself |
//! | the cost that it states is no number | 400 |
//! | more rules than one step can hold | 503: the policy is to blame, and none may be left out |
//! | the store gave no decision, `on_failure = "deny"` | 503, `Retry-After` |
//! | nothing counted, or the store gave no decision | the service's answer as it is |
//!
//! Refusals are never to be stored by a cache (RFC 6585, section 4), and scripts of the origins that
//! `[answer] cors` names can read them. Fields that the service set itself are kept, ours stand
//! behind them.
//!
//! It must not know servers, sockets or bodies: a refusal is a status, fields and a text.

mod believed;
mod facts;
mod fields;
mod refusal;

pub use believed::{LIMITED, disbelieve, mark};
pub use facts::{HttpFacts, client_of};
pub use fields::{LimitFields, Told, limit_fields};
pub use refusal::{Grounds, Refusal, format_of, origin_of};
