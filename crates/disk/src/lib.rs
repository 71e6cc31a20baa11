//! The store of Jeton that outlasts its process, on one disk and for one process.
//!
//! [`DiskStore`] decides on the table of `jeton-memory` and keeps in a folder what has changed: the
//! table decides, the folder remembers. It does not know HTTP, configuration text, policies, clocks
//! (time is an argument), or what a note means, and it logs nothing: whoever runs it asks
//! [`DiskStore::health`].
//!
//! - **What is kept is a moment.** The folder always holds the states as they all were at one
//!   instant: a plan is in it whole or not at all, whatever happens to the process or the power.
//! - **What may be forgotten is stated.** With [`Sync::Always`] an answer leaves when its change is on
//!   disk; with [`Sync::Every`] no more than that span of decisions can be lost.
//! - **Bounded space.** The folder follows the keys that are in use ([`BYTES_PER_KEY`]).
//! - **No surprise at the start.** What it cannot read in full it refuses, and leaves untouched.

mod batch;
mod changes;
mod engine;
mod figures;
mod folder;
mod format;
mod health;
mod inner;
mod journal;
mod medium;
mod notes;
mod open;
mod owned;
mod parts;
mod places;
mod progress;
mod row;
mod settings;
mod store;
mod sweep;
mod trial;
mod wait;
mod watch;
mod writer;

pub use figures::Figures;
pub use health::{Health, Trouble, TroubleKind};
#[doc(hidden)]
pub use medium::{Disk, Medium};
pub use open::{OpenError, Opened};
pub use settings::{Settings, SettingsError, Sync};
pub use store::DiskStore;
pub use sweep::{BYTES_AT_LEAST, BYTES_PER_KEY};
