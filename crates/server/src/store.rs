//! The store that a policy's `[store]` names, opened for whoever asks it.

mod open;
mod rented;
mod words;

use std::fmt;
use std::sync::Arc;

use jeton::redis::RedisStore;
use jeton::{Store, Table};

pub use open::{Need, OpenError, Opened, Seeding, open, table_for};
pub(crate) use rented::{Rented, TIMEOUT};

/// The store of this process, or of all that share one.
#[derive(Clone)]
pub enum Backend {
    /// The memory of this process.
    Memory(Arc<Table>),
    /// A Redis or Valkey server.
    Redis(Arc<RedisStore>),
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Backend").field(&self.word()).finish()
    }
}

impl Backend {
    /// What a gate asks.
    pub fn shared(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(table) => Arc::clone(table) as _,
            Self::Redis(store) => Arc::clone(store) as _,
        }
    }

    /// Its kind, as `[store] kind` has it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Redis(_) => "redis",
        }
    }

    /// Whether it decides now.
    pub async fn decides(&self) -> bool {
        match self {
            Self::Memory(_) => true,
            Self::Redis(store) => open::decides(store).await.is_ok(),
        }
    }
}
