//! The Redis and Valkey store of Jeton: one limit over many servers.
//!
//! [`RedisStore`] decides a plan in one step and one round trip, on the server, by a script: the same
//! algorithms as in `jeton-core`, with the same names and steps, in integers that Lua's doubles hold
//! exactly. The script decides and writes, and tells the states as they were; the engine decides once
//! more on those, which gives the waits and what remains, and both must concur. The server's clock is
//! the clock; every key vanishes by itself when its state is over.
//!
//! It does not know HTTP, configuration text, policies, or what a note means.
//!
//! - **Bounded time.** A call is answered within [`Settings::timeout`]. While the server is down or
//!   hangs, calls are told so at once; a new line is tried at least once a second.
//! - **Nothing twice.** What may have been written is never sent again ([`Written::Unknown`]); a
//!   server that lost the script is given it anew.
//! - **Nothing in clear.** Keys of clients stand in the server as a hash, keyed if there is a secret.
//! - **Together.** Plans that come while a call is under way share the next one.
//!
//! [`Written::Unknown`]: jeton_core::Written::Unknown

mod across;
mod cluster;
mod deployment;
mod line;
mod names;
mod notes;
mod preflight;
mod queue;
mod reply;
mod request;
mod script;
mod servers;
mod settings;
mod slots;
pub mod state;
mod store;
mod sweep;
mod trouble;
mod way;

pub use line::Health;
pub use settings::{Settings, SettingsError};
pub use store::RedisStore;
pub use trouble::{Trouble, TroubleKind};
