//! The store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jeton_core::{
    Answers, Micros, Note, NoteEdit, Op, Pending, Plan, Store, StoreError, StoreErrorKind,
    Submitted, When, Written,
};
use redis::Client;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::line::{Health, Line};
use crate::names::Names;
use crate::queue::Queue;
use crate::request::Request;
use crate::settings::{Settings, SettingsError};
use crate::trouble::Trouble;
use crate::{notes, reply, sweep};

/// States on a Redis or Valkey server, shared by all nodes that name the same one.
///
/// Ask it with [`When::StoreClock`]: then the server's clock is the one that all nodes go by, however
/// far their own ones are apart.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use jeton_redis::{RedisStore, Settings};
/// use tokio::runtime::Handle;
///
/// let store = RedisStore::open(&Settings::new("redis://127.0.0.1"), &Handle::current())?;
/// store.ready().await?;
/// # Ok(())
/// # }
/// ```
pub struct RedisStore {
    runtime: Handle,
    names: Names,
    timeout: Duration,
    line: Line,
    queue: Queue,
    /// The latest instant of a steady clock that was asked about.
    latest_us: AtomicU64,
    disagreements: Arc<AtomicU64>,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let health = self.line.health();
        f.debug_struct("RedisStore")
            .field("names", &self.names)
            .field("health", &health)
            .finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Opens a line to the server and keeps it open, on `runtime`. Does not wait for it: see
    /// [`RedisStore::ready`].
    ///
    /// # Errors
    /// [`SettingsError`] if the settings are none.
    pub fn open(settings: &Settings, runtime: &Handle) -> Result<Self, SettingsError> {
        let refused = |error: redis::RedisError| SettingsError::Url {
            reason: error.category().into(),
        };
        let client = Client::open(settings.check()?).map_err(refused)?;
        let _on_runtime = runtime.enter();
        let line = Line::keep(client, settings.timeout);
        Ok(Self {
            runtime: runtime.clone(),
            names: Names::new(&settings.prefix, settings.key_secret.as_deref()),
            timeout: settings.timeout,
            queue: Queue::open(line.clone(), settings.timeout),
            line,
            latest_us: AtomicU64::new(0),
            disagreements: Arc::default(),
        })
    }

    /// Waits until it is known whether the server decides.
    ///
    /// # Errors
    /// [`Trouble`] if it does not: what is wrong, and the fix.
    pub async fn ready(&self) -> Result<(), Trouble> {
        self.line.ready().await
    }

    /// How the server is doing.
    pub fn health(&self) -> Health {
        self.line.health()
    }

    /// How often the script and the engine did not decide the same. Anything but 0 is a fault of this
    /// crate, or somebody else writes to its keys.
    pub fn disagreements(&self) -> u64 {
        self.disagreements.load(Ordering::Relaxed)
    }

    /// The key at which the state of an op stands.
    pub fn key_of(&self, op: &Op<'_>) -> Vec<u8> {
        self.names.state(op)
    }

    /// Removes every key of this prefix, notes included; how many there were. For prefixes made for a
    /// while: it walks over all keys of the server, in small steps.
    ///
    /// # Errors
    /// [`StoreError`] of the first step that fails.
    pub async fn clear(&self) -> Result<u64, StoreError> {
        let (line, pattern) = (self.line.clone(), self.names.pattern());
        self.run(sweep::clear(line, pattern, self.timeout)).await
    }

    /// A steady clock never goes back: an earlier reading is an old one.
    fn settle(&self, when: When) -> When {
        match when {
            When::NotBefore(now) => {
                let latest_us = self.latest_us.fetch_max(now.get(), Ordering::Relaxed);
                When::At(now.max(Micros::new(latest_us)))
            }
            when => when,
        }
    }

    /// Runs `work` where timers work, and waits for it anywhere.
    fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Pending<T> {
        let (answer, comes) = oneshot::channel();
        self.runtime.spawn(async move {
            let _ = answer.send(work.await);
        });
        Box::pin(async move { comes.await.unwrap_or(Err(GONE)) })
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }
}

/// The runtime has ended.
const GONE: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::Unknown,
};

impl Store for RedisStore {
    fn submit(&self, plans: &[Plan<'_>], when: When, _out: &mut Answers) -> Submitted {
        let when = self.settle(when);
        let ask = |plan: &Plan<'_>| {
            let request = Arc::new(Request::new(*plan, &self.names));
            (Arc::clone(&request), self.queue.send(request, when))
        };
        let asked: Vec<_> = plans.iter().map(ask).collect();
        let disagreements = Arc::clone(&self.disagreements);
        Submitted::Later(Box::pin(async move {
            let mut out = Answers::new();
            for (request, comes) in asked {
                let told = comes.await.unwrap_or(Err(GONE));
                let explained = told.and_then(|told| reply::explain(&request, &told, &mut out));
                if let Err(error) = explained {
                    let differs = error.kind == StoreErrorKind::BadAnswer;
                    disagreements.fetch_add(u64::from(differs), Ordering::Relaxed);
                    out.push_failed(error);
                }
            }
            out
        }))
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        let (line, key) = (self.line.clone(), self.names.notes());
        self.run(notes::change(
            line,
            key,
            edit,
            self.settle(when),
            self.deadline(),
        ))
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        let (line, key) = (self.line.clone(), self.names.notes());
        self.run(notes::list(line, key, self.settle(when), self.deadline()))
    }
}
