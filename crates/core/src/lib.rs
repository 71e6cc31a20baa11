//! Exact rate-limit decisions as pure functions.
//!
//! This crate holds time, quotas, one file per algorithm, the all-or-nothing plan over many
//! charges, the bytes of a state, and the [`Store`] seam. It does not know clocks, IO, async
//! runtimes, floats or configuration text: time is an argument, a denial is a value, and every
//! number is an integer below 2^53, so that a store whose numbers are doubles computes the very
//! same thing.
//!
//! ```
//! use jeton_core::{Act, Cost, Edit, Fit, Micros, Quota, Rate, Span, View};
//!
//! let quota = Quota::bucket(Rate::new(5, Span::SECOND)?, 1)?;
//! let take = Act::Take { cost: Cost::ONE };
//!
//! let first = quota.decide(View::ABSENT, &take, Micros::new(0));
//! let Edit::Put { cell, .. } = first.edit else { unreachable!() };
//! let second = quota.decide(View { cell: Some(cell), tail: &[] }, &take, Micros::new(50_000));
//! assert_eq!(second.decision.fit.retry_after().map(Span::as_micros), Some(150_000));
//! # Ok::<(), jeton_core::QuotaError>(())
//! ```
#![no_std]
#![warn(clippy::float_arithmetic, clippy::cast_possible_truncation)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod algorithm;
pub mod codec;
mod decision;
mod plan;
mod quota;
mod rate;
mod state;
mod store;
mod time;

pub use algorithm::quick::Charged;
pub use decision::{Act, Cost, Decision, Fit, Receipt};
pub use plan::{Cells, MAX_OPS, Mode, OnDeny, Op, Plan, PlanError, RuleId, decide_all};
pub use quota::{
    Anchor, Bucket, Concurrency, FixedWindow, Kind, MAX_COUNTER_LIMIT, MAX_LIMIT, Quota,
    QuotaError, SlidingCounter, SlidingLog, Ticket,
};
pub use rate::Rate;
pub use state::{Cell, Edit, Entry, Outcome, TailEdit, View};
pub use store::{
    Answers, Note, NoteEdit, Pending, Store, StoreError, StoreErrorKind, Submitted, Verdict, When,
    Written,
};
pub use time::{Micros, Reading, Span};
