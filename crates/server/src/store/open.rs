//! Opening a store, and finding out at once whether it can ever decide.
//!
//! A server that does not answer may do so in a moment: whoever needs it starts without it, under its
//! outage rule. One that has answered, and said that it will not decide for this user, says so again
//! for every request: nothing is started on that.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use jeton::policy::{self, StoreKind};
use jeton::redis::{Health, RedisStore, Trouble, TroubleKind};
use jeton::{
    Act, Anchor, Answers, Cost, Op, Plan, Quota, QuotaError, RuleId, Seed, Settings, SettingsError,
    Span, Store as _, StoreErrorKind, Submitted, Table, When, redis, table_settings,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Backend, Kept};

/// For so long a server is waited for: opening a line takes up to a second.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// A line that is not there is tried again and again.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Whose state is charged to see whether a server decides: no rule's, but by a collision of SHA-256 cut to
/// 64 bits.
const PROBES: RuleId = RuleId::new(u64::from_be_bytes(*b"starts\x01\x01"));

/// What is charged to it: too much to be denied, and forgotten within a second.
const PROBED: Result<Quota, QuotaError> =
    Quota::fixed_window(1_000_000_000, Span::SECOND, Anchor::Epoch);

/// How keys are hashed in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeding {
    /// By a secret, so that no client can aim at another's place.
    Secret,
    /// The same in every run, so that a simulation ends alike even where the table is full.
    Repeatable,
}

/// What a store is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To decide and to charge: whether it does is tried, and nothing is left of that.
    Decisions,
    /// To be looked at: as far as others may.
    Looks,
}

/// A store that is open.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: Backend,
    /// Why it does not decide yet, if it does not.
    pub away: Option<Trouble>,
}

/// Opens the store that a policy names; within a tokio runtime.
///
/// # Errors
/// [`OpenError`] if it can never decide.
pub async fn open(store: &policy::Store, need: Need) -> Result<Opened, OpenError> {
    let (store, away) = match &store.kind {
        StoreKind::Redis(named) => {
            let (store, away) = connect(&settings(named, store.timeout)?, need).await?;
            (Backend::Redis(store), away)
        }
        StoreKind::Disk(named) if need == Need::Decisions => {
            (Backend::Disk(Kept::open(named, store).await?), None)
        }
        // A folder is of the process that decides, and nobody else may so much as look.
        _ => {
            let table = table_for(store, Seeding::Secret)?;
            (Backend::Memory(Arc::new(table)), None)
        }
    };
    Ok(Opened { store, away })
}

/// Makes the table.
///
/// # Errors
/// [`SettingsError`] for bounds that could hold nobody.
pub fn table_for(store: &policy::Store, seeding: Seeding) -> Result<Table, SettingsError> {
    let seed = match seeding {
        Seeding::Secret => None,
        Seeding::Repeatable => Some(Seed::new([0; 16])),
    };
    Table::new(&Settings {
        seed,
        ..table_settings(store)
    })
}

/// What the policy says of a server, in the store's own terms.
fn settings(named: &policy::Redis, timeout: Duration) -> Result<redis::Settings, OpenError> {
    let root = |path: &PathBuf| {
        fs::read(path).map_err(|error| OpenError::Root {
            path: path.clone(),
            error,
        })
    };
    let tls_root = named.tls_root.as_ref().map(root).transpose()?;
    let secret = named.key_secret.as_ref();
    Ok(redis::Settings {
        tls_root: tls_root.map(Vec::into_boxed_slice),
        timeout,
        prefix: named.prefix.clone(),
        key_secret: secret.map(|secret| secret.expose().as_bytes().into()),
        ..redis::Settings::new(named.url.expose())
    })
}

/// Opens a line to a server, and gives the trouble with it that may pass.
pub(super) async fn connect(
    settings: &redis::Settings,
    need: Need,
) -> Result<(Arc<RedisStore>, Option<Trouble>), OpenError> {
    let store = RedisStore::open(settings, &Handle::current()).map_err(OpenError::Redis)?;
    let store = Arc::new(store);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let trouble = match timeout_at(deadline, store.ready()).await {
            Ok(Ok(())) if need == Need::Looks => return Ok((store, None)),
            Ok(Ok(())) => match decides(&store).await {
                Ok(()) => return Ok((store, None)),
                Err(trouble) => trouble,
            },
            Ok(Err(trouble)) => trouble,
            Err(_) => still(&store),
        };
        if trouble.lasts() {
            let servers = store.named().join(", ");
            return Err(OpenError::NeverDecides { servers, trouble });
        }
        if Instant::now() >= deadline {
            return Ok((store, Some(trouble)));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Whether it carries out what every request needs: a charge that is written, and what operators have
/// set.
pub(super) async fn decides(store: &RedisStore) -> Result<(), Trouble> {
    let mut answers = Answers::new();
    let submitted = PROBED.map(|quota| {
        let [take, reset] = [Act::Take { cost: Cost::ONE }, Act::Reset];
        let [take, reset] = [take, reset].map(|act| Op::new(PROBES, b"", &quota, act));
        let plans = [Plan::one(&take), Plan::one(&reset)];
        store.submit(&plans, When::StoreClock, &mut answers)
    });
    if let Ok(Submitted::Later(later)) = submitted {
        answers = later.await;
    }
    let failed = [0, 1]
        .into_iter()
        .find_map(|plan| answers.plan(plan).0.err());
    let asked = match failed {
        None => store.notes(When::StoreClock).await.map(drop),
        Some(error) => Err(error),
    };
    asked.map_err(|error| {
        let said = store.latest_trouble();
        let is_this = |said: &Trouble| StoreErrorKind::from(said.kind) == error.kind;
        said.filter(is_this).unwrap_or_else(|| Trouble {
            kind: TroubleKind::Hangs,
            text: error.to_string(),
        })
    })
}

/// What is wrong with a server that has said nothing yet.
fn still(store: &RedisStore) -> Trouble {
    match store.health() {
        Health::Down(trouble) => trouble,
        _ => Trouble {
            kind: TroubleKind::Hangs,
            text: "no answer yet".to_owned(),
        },
    }
}

/// Why a store cannot be opened; says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The table cannot be made.
    Table(SettingsError),
    /// The root by which servers are believed cannot be read.
    Root {
        /// Where it should be.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The folder cannot be used.
    Folder {
        /// Why not, and what to do.
        what: String,
    },
    /// The settings name no server.
    Redis(redis::SettingsError),
    /// The server has answered, and will not decide.
    NeverDecides {
        /// Which ones the policy names.
        servers: String,
        /// What it said.
        trouble: Trouble,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(error) => error.fmt(f),
            Self::Root { path, error } => {
                let path = path.display();
                write!(f, "[store] tls_root: {path} cannot be read: {error}")
            }
            Self::Folder { what } => write!(f, "[store]: {what}"),
            Self::Redis(error) => write!(f, "[store]: {error}"),
            Self::NeverDecides { servers, trouble } => write!(
                f,
                "[store] at {servers}: {trouble}; no request could be decided, so nothing is started"
            ),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Table(error) => Some(error),
            Self::Root { error, .. } => Some(error),
            Self::Folder { .. } => None,
            Self::Redis(error) => Some(error),
            Self::NeverDecides { trouble, .. } => Some(trouble),
        }
    }
}

impl From<SettingsError> for OpenError {
    fn from(error: SettingsError) -> Self {
        Self::Table(error)
    }
}
