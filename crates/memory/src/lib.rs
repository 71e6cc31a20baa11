//! The in-process store of Jeton: a bounded table of limiter states.
//!
//! [`Table`] holds the states of keys, in number and bytes as [`Settings`] say, and decides plans
//! on them in one indivisible step under any number of threads. It does not know configuration
//! text, clocks (time is an argument), IO, or what the states mean: it carries out the edits that
//! `jeton-core` decides.
//!
//! - **Bounded.** Keys in use are never pushed out by new ones; new keys that find no room are
//!   answered as [`Overflow`] says. Memory that is no longer used is given back.
//! - **No timers.** A state is over when its time stamp says so, whoever reads it and however long
//!   the process was stopped; its place is used again by later operations.
//! - **No deadlock.** A plan locks the regions of its keys in ascending order and waits for nothing
//!   else.
//! - **One lock, one cache miss** for a decision on one key, and no allocation but where memory
//!   grows.

mod array;
mod batch;
mod budget;
mod dump;
mod fate;
mod hash;
mod hint;
mod journal;
mod notes;
mod overflow;
mod plan;
mod raw;
mod region;
mod seat;
mod settings;
mod single;
mod slot;
mod snapshot;
mod stats;
mod table;
mod tail;

pub use dump::{LoadError, Loaded};
pub use hash::{Place, Seed};
pub use journal::{Journal, MAX_MARK, Standing};
pub use settings::{LEAST_MEMORY_BYTES, MAX_KEYS, Overflow, Settings, SettingsError};
pub use snapshot::{Held, Snapshot};
pub use stats::Stats;
pub use table::Table;
