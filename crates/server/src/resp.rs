//! The door for Redis clients: RESP2 and RESP3.
//!
//! [`protocol`] turns bytes into commands and values into bytes, and knows nothing else. A `session`
//! knows what a connection has said of itself, reads all commands that have come, and has their decisions
//! made as one batch, by the gate alone; a `connection` moves bytes. Between commands it holds no
//! buffer: those belong to the thread that serves it.
//!
//! `CL.THROTTLE` and `THROTTLE` bring their quotas along, in the reserved rule `resp`; `JETON.…` name rules
//! of the policy.

mod answer;
mod commands;
mod connection;
mod crew;
mod listen;
pub mod protocol;
mod session;
mod throttle;
mod turn;

pub use listen::{Bound, bind};

#[cfg(test)]
#[allow(clippy::cast_possible_truncation)]
mod tests;
