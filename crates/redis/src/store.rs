//! The store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jeton_core::{
    Answers, Micros, Note, NoteEdit, Op, Pending, Plan, Store, StoreError, StoreErrorKind,
    Submitted, When, Written,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::line::Health;
use crate::names::Names;
use crate::reply::Told;
use crate::request::Request;
use crate::servers::Servers;
use crate::settings::{Settings, SettingsError};
use crate::trouble::Trouble;
use crate::{across, notes, reply, sweep};

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
    servers: Servers,
    named: Vec<String>,
    /// The latest instant of a steady clock that was asked about.
    latest_us: AtomicU64,
    disagreements: Arc<AtomicU64>,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let health = self.servers.health();
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
        let deployment = settings.check()?;
        let servers_named = deployment.servers();
        let _on_runtime = runtime.enter();
        let names = Names::new(&settings.prefix, settings.key_secret.as_deref());
        let servers = Servers::open(deployment, &names, settings.timeout).map_err(refused)?;
        Ok(Self {
            runtime: runtime.clone(),
            names,
            timeout: settings.timeout,
            servers,
            named: servers_named,
            latest_us: AtomicU64::new(0),
            disagreements: Arc::default(),
        })
    }

    /// Waits until it is known whether the server decides.
    ///
    /// # Errors
    /// [`Trouble`] if it does not: what is wrong, and the fix.
    pub async fn ready(&self) -> Result<(), Trouble> {
        self.servers.ready().await
    }

    /// How the server is doing.
    pub fn health(&self) -> Health {
        self.servers.health()
    }

    /// What is wrong with the server, in its own words or the system's; what was, if it is well again.
    pub fn latest_trouble(&self) -> Option<Trouble> {
        self.servers.latest_trouble()
    }

    /// The servers that the URL names: `host:port`, or the path of a socket.
    pub fn named(&self) -> &[String] {
        &self.named
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
        let (servers, names) = (self.servers.clone(), self.names.clone());
        let (timeout, deadline) = (self.timeout, self.deadline());
        let clear = async move {
            servers.known_by(deadline).await;
            let mut removed = 0;
            for line in servers.lines() {
                removed += sweep::clear(line, &names, timeout).await?;
            }
            Ok(removed)
        };
        self.run(clear).await
    }

    /// Sends plans on their way; those that share a key are decided in their order.
    fn ask(&self, plans: &[Plan<'_>], when: When) -> Vec<Comes> {
        let requests: Vec<Arc<Request>> = plans
            .iter()
            .map(|plan| Arc::new(Request::new(*plan, &self.names)))
            .collect();
        let at_once = |request: &Arc<Request>| self.servers.decides_at_once(request);
        if self.servers.are_known() && requests.iter().all(at_once) {
            let send = |request: Arc<Request>| {
                let told = self.servers.send(Arc::clone(&request), when);
                Comes::Told(request, told)
            };
            return requests.into_iter().map(send).collect();
        }
        let mut comes: Vec<Option<Comes>> = requests.iter().map(|_| None).collect();
        for row in across::rows(&requests) {
            let mut answers = Vec::new();
            for number in row {
                if let (Some(request), Some(comes)) = (requests.get(number), comes.get_mut(number))
                {
                    let (answer, answered) = oneshot::channel();
                    answers.push((Arc::clone(request), answer));
                    *comes = Some(self.in_time(answered));
                }
            }
            let (servers, deadline) = (self.servers.clone(), self.deadline());
            // What it has begun it brings to an end, whether or not somebody still waits for it.
            self.runtime.spawn(async move {
                servers.known_by(deadline).await;
                for (request, answer) in answers {
                    let mut out = Answers::new();
                    let decided = across::decide(&servers, &request, when, &mut out).await;
                    let _ = answer.send(decided.map(|()| out));
                }
            });
        }
        comes.into_iter().flatten().collect()
    }

    /// An answer that is over at the deadline.
    fn in_time(&self, answered: oneshot::Receiver<Result<Answers, StoreError>>) -> Comes {
        let deadline = self.deadline();
        Comes::Answered(self.run(async move {
            match timeout_at(deadline, answered).await {
                Ok(answered) => answered.unwrap_or(Err(GONE)),
                Err(_) => Err(TOO_LATE),
            }
        }))
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

const TOO_LATE: StoreError = StoreError {
    kind: StoreErrorKind::Timeout,
    written: Written::Unknown,
};

/// The runtime has ended.
const GONE: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::Unknown,
};

impl Store for RedisStore {
    fn submit(&self, plans: &[Plan<'_>], when: When, _out: &mut Answers) -> Submitted {
        let when = self.settle(when);
        let comes = self.ask(plans, when);
        let disagreements = Arc::clone(&self.disagreements);
        Submitted::Later(Box::pin(async move {
            let mut out = Answers::new();
            for comes in comes {
                if let Err(error) = comes.answer(&mut out).await {
                    let differs = error.kind == StoreErrorKind::BadAnswer;
                    disagreements.fetch_add(u64::from(differs), Ordering::Relaxed);
                    out.push_failed(error);
                }
            }
            out
        }))
    }

    fn has_own_clock(&self) -> bool {
        true
    }

    fn fails_in_parts(&self) -> bool {
        self.servers.are_several()
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        let key = self.names.notes();
        let (servers, when, deadline) = (self.servers.clone(), self.settle(when), self.deadline());
        self.run(async move {
            servers.known_by(deadline).await;
            let line = servers.line_of(&key)?;
            notes::change(line, key, edit, when, deadline).await
        })
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        let key = self.names.notes();
        let (servers, when, deadline) = (self.servers.clone(), self.settle(when), self.deadline());
        self.run(async move {
            servers.known_by(deadline).await;
            let line = servers.line_of(&key)?;
            notes::list(line, key, when, deadline).await
        })
    }
}

/// An answer on its way.
enum Comes {
    /// The words of the script, still to be explained.
    Told(Arc<Request>, oneshot::Receiver<Result<Told, StoreError>>),
    /// The answer itself.
    Answered(Pending<Answers>),
}

impl Comes {
    async fn answer(self, out: &mut Answers) -> Result<(), StoreError> {
        match self {
            Self::Told(request, told) => {
                let told = told.await.unwrap_or(Err(GONE))?;
                reply::explain(&request, &told, out)
            }
            Self::Answered(answers) => {
                let answers = answers.await?;
                let (verdict, decisions) = answers.plan(0);
                out.push(verdict?, decisions);
                Ok(())
            }
        }
    }
}
