//! Where states are kept, and how soon.

use core::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// When a change reaches the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sync {
    /// Soon: no crash forgets more than the decisions of this span. Decisions take no longer than in
    /// memory, unless the disk falls behind; then they wait rather than exceed the span.
    Every(Duration),
    /// Before its answer leaves. What was admitted is never forgotten.
    Always,
}

/// The shortest span between two syncs.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest.
const LONGEST: Duration = Duration::from_secs(3600);

/// Where states are kept, how soon, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The folder; it is made if there is none. It belongs to one store at a time.
    pub path: PathBuf,
    /// When a change reaches the disk.
    pub sync: Sync,
    /// The bounds of the table. Its seed stays open: the folder keeps the one that it was made with.
    pub table: jeton_memory::Settings,
}

impl Settings {
    /// The folder at `path`, written to within a second; a table of the usual bounds.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            sync: Sync::Every(Duration::from_secs(1)),
            table: jeton_memory::Settings::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        if self.table.seed.is_some() {
            return Err(SettingsError::Seed);
        }
        match self.sync {
            Sync::Every(span) if !(SHORTEST..=LONGEST).contains(&span) => {
                Err(SettingsError::Span { span })
            }
            _ => Ok(()),
        }
    }
}

/// Why settings are none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// The table's bounds could hold nothing.
    Table(jeton_memory::SettingsError),
    /// A span between syncs that is too short or too long.
    Span {
        /// What was asked for.
        span: Duration,
    },
    /// A seed was given, and the folder keeps its own.
    Seed,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(error) => error.fmt(f),
            Self::Span { span } => write!(
                f,
                "sync = \"{}ms\": give 10ms to 1h, or \"always\" to answer only what is on disk",
                span.as_millis()
            ),
            Self::Seed => f.write_str("the folder keeps the seed of its keys; give none"),
        }
    }
}

impl core::error::Error for SettingsError {}
