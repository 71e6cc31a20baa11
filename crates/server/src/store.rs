//! The store that a policy's `[store]` names, opened for whoever asks it.

pub(crate) mod kept;
mod open;
mod rented;
mod words;

use std::fmt;
use std::sync::Arc;

use jeton::redis::RedisStore;
use jeton::{Store, StoreState, Table};

pub use kept::Kept;
pub use open::{Need, OpenError, Opened, Seeding, open, table_for};
pub(crate) use rented::{Rented, TIMEOUT};

/// The store of this process, or of all that share one.
#[derive(Clone)]
pub enum Backend {
    /// The memory of this process.
    Memory(Arc<Table>),
    /// A folder of this process.
    Disk(Kept),
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
            Self::Disk(kept) => kept.shared(),
            Self::Redis(store) => Arc::clone(store) as _,
        }
    }

    /// Its kind, as `[store] kind` has it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Disk(_) => "disk",
            Self::Redis(_) => "redis",
        }
    }

    /// Whether it decides now.
    pub async fn decides(&self) -> bool {
        match self {
            Self::Memory(_) | Self::Disk(_) => true,
            Self::Redis(store) => open::decides(store).await.is_ok(),
        }
    }

    /// How it fares, given how it has fared with those who asked: a disk that keeps nothing is known to
    /// be away before anybody has asked.
    pub fn state(&self, asked: StoreState) -> StoreState {
        match self {
            Self::Disk(kept) => kept.state(asked),
            Self::Memory(_) | Self::Redis(_) => asked,
        }
    }

    /// Ends it: all that was decided is kept, or the log says that it is not.
    pub async fn leave(&self) {
        if let Self::Disk(kept) = self {
            kept.leave().await;
        }
    }
}
