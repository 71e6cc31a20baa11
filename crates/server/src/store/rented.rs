//! A place on a server for a while: under a prefix that nobody else has, and removed at the end.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use jeton::redis::{RedisStore, Settings, Trouble};
use jeton::{StoreError, StoreErrorKind};

use super::Backend;
use super::open::{Need, OpenError, connect};

/// Longer than any server should take: who rents a place is in no hurry.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// A store under a prefix of its own.
#[derive(Clone, Debug)]
pub(crate) struct Rented(Arc<RedisStore>);

/// Why there is no such place.
pub(crate) enum NoPlace {
    /// There never will be.
    Never(OpenError),
    /// The server does not decide now.
    Away(Trouble),
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never(error) => error.fmt(f),
            Self::Away(trouble) => trouble.fmt(f),
        }
    }
}

impl Rented {
    /// A place on the server at `url`; within a tokio runtime.
    pub(crate) async fn at(url: &str) -> Result<Self, NoPlace> {
        let settings = Settings {
            timeout: TIMEOUT,
            prefix: format!("tmp-{:016x}{:016x}:", random(), random()),
            ..Settings::new(url)
        };
        match connect(&settings, Need::Decisions)
            .await
            .map_err(NoPlace::Never)?
        {
            (store, None) => Ok(Self(store)),
            (_, Some(trouble)) => Err(NoPlace::Away(trouble)),
        }
    }

    /// What a gate asks.
    pub(crate) fn backend(&self) -> Backend {
        Backend::Redis(Arc::clone(&self.0))
    }

    /// Removes everything that was put there.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        self.0.clear().await.map(drop)
    }

    /// Why it gives no decisions.
    pub(crate) fn words(&self, why: StoreErrorKind) -> String {
        self.backend().words(why)
    }
}

/// What the standard library seeds its own hash maps with.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
