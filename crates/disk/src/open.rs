//! Starting: the folder is read on trial, whole, and then opened for good.

use core::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use jeton_core::{Micros, Note, NoteEdit, Span, Store, When, codec};
use jeton_memory::{Seed, Table};
use redb::{Database, ReadableDatabase};

use crate::engine::{self, Engine, database};
use crate::folder::{Folder, Taken};
use crate::format::{self, BATCH, JOURNAL, LATEST, META, SEED, Standing};
use crate::journal::Journal;
use crate::medium::Medium;
use crate::notes;
use crate::trial::OnTrial;
use crate::wait::at_once;
use crate::{Settings, SettingsError, TroubleKind};

/// What a start has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Opened {
    /// States that are alive.
    pub restored: u64,
    /// States that were over.
    pub expired: u64,
    /// States for which the table has no room under the bounds it was given: their keys start anew.
    pub left_out: u64,
    /// How far the clock is behind the latest change that was kept: it was stepped back meanwhile, and
    /// everything that is kept has moved back with it.
    pub stepped_back: Span,
}

/// Why a store does not start. The folder is as it was.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The settings are none.
    Settings(SettingsError),
    /// The folder cannot be made, read or written to.
    Folder {
        /// Which folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another store has it.
    InUse {
        /// Which folder.
        path: PathBuf,
    },
    /// A later release has written it.
    Newer {
        /// Which folder.
        path: PathBuf,
        /// The version it names; none if even its engine is of another time.
        format: Option<u32>,
    },
    /// It is not what a store has left behind.
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(error) => error.fmt(f),
            Self::Folder { path, error } => write!(
                f,
                "the store's folder {} cannot be used: {error}; check that it is a folder, who owns \
                 it, and how it is mounted",
                path.display()
            ),
            Self::InUse { path } => write!(
                f,
                "the store's folder {} is in use by another process; give each its own `path`, or \
                 let them share a Redis store",
                path.display()
            ),
            Self::Newer { path, format } => {
                write!(f, "the store's folder {} was written ", path.display())?;
                match format {
                    Some(format) => write!(f, "in format {format}")?,
                    None => f.write_str("by another version of its engine")?,
                }
                write!(
                    f,
                    ", and this release reads up to {}; it was left untouched: start the release \
                     that wrote it, or give another `path`",
                    format::FORMAT
                )
            }
            Self::Damaged { path, what } => write!(
                f,
                "{} is damaged ({what}); it was left untouched: restore it from a copy, or move it \
                 away to start with nothing",
                path.display()
            ),
        }
    }
}

impl core::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Settings(error) => Some(error),
            Self::Folder { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A folder that has been read.
pub(crate) struct Ready {
    pub(crate) folder: Folder,
    pub(crate) engine: Engine,
    pub(crate) table: Table,
    pub(crate) opened: Opened,
}

/// Reads the folder into a table.
pub(crate) fn open(
    settings: &Settings,
    now: Micros,
    medium: &dyn Medium,
) -> Result<Ready, OpenError> {
    settings.check().map_err(OpenError::Settings)?;
    // What settings alone refuse makes no folder.
    Table::new(&settings.table).map_err(of_table)?;
    let path = &settings.path;
    let folder = Folder::take(path).map_err(|taken| match taken {
        Taken::InUse => OpenError::InUse { path: path.clone() },
        Taken::Io(error) => unusable(path, error),
    })?;
    let file = folder.file();
    if folder
        .has_lost_its_file()
        .map_err(|error| unusable(path, error))?
    {
        return Err(damaged(
            &file,
            "it is gone, and `closed` beside it tells of one".to_owned(),
        ));
    }
    let seed = new_seed()?;
    let made = folder.ensure_file(|new| engine::make(medium, new, seed));
    made.map_err(|error| of_engine(path, &file, error))?;

    let (table, opened, standing) = read_on_trial(settings, now, medium, &folder)?;
    let mut engine = Engine::open(medium, &file).map_err(|error| of_engine(path, &file, error))?;
    if let Standing::Older(version) = standing {
        let migrated = engine.migrate(version);
        migrated.map_err(|error| of_engine(path, &file, error))?;
    }
    if opened.stepped_back > Span::ZERO {
        let moved = engine.step_back(opened.stepped_back, now);
        moved.map_err(|error| of_engine(path, &file, error))?;
    }
    Ok(Ready {
        folder,
        engine,
        table,
        opened,
    })
}

fn read_on_trial(
    settings: &Settings,
    now: Micros,
    medium: &dyn Medium,
    folder: &Folder,
) -> Result<(Table, Opened, Standing), OpenError> {
    let file = &folder.file();
    let reading = || {
        let trial = OnTrial::new(medium.open(file, false)?)?;
        let db = database(trial, true)?;
        read(settings, now, &db, folder.closed_after()?)
    };
    // The engine checks what it reads; should a check be missing, it is damaged all the same.
    match catch_unwind(AssertUnwindSafe(reading)) {
        Ok(Ok(read)) => Ok(read),
        Ok(Err(Refused::Engine(error))) => Err(of_engine(&settings.path, file, error)),
        Ok(Err(Refused::Table(error))) => Err(of_table(error)),
        Ok(Err(Refused::Newer(version))) => Err(OpenError::Newer {
            path: settings.path.clone(),
            format: Some(version),
        }),
        Ok(Err(Refused::Damaged(what))) => Err(damaged(file, what)),
        Err(_) => Err(damaged(file, "its pages make no sense".into())),
    }
}

enum Refused {
    Engine(redb::Error),
    Table(jeton_memory::SettingsError),
    Newer(u32),
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

fn read(
    settings: &Settings,
    now: Micros,
    db: &Database,
    closed_after: Option<u64>,
) -> Result<(Table, Opened, Standing), Refused> {
    let damaged = |what: &str| Refused::Damaged(what.into());
    let standing = {
        let reading = db.begin_read()?;
        let meta = reading.open_table(META);
        let meta = meta.map_err(|_| damaged("it has no table of meta data"))?;
        format::version(&meta)?
    };
    match standing {
        Standing::Present => {}
        Standing::Newer(version) => return Err(Refused::Newer(version)),
        Standing::Unknown => return Err(damaged("it names no format")),
        Standing::Older(version) => {
            let transaction = db.begin_write()?;
            format::migrate(&transaction, version)?;
            transaction.commit()?;
        }
    }
    let meta = db.begin_read()?.open_table(META)?;

    let seed = meta.get(SEED)?.ok_or_else(|| damaged("it has no seed"))?;
    let seed = seed.value().try_into();
    let seed = seed.map_err(|_| damaged("its seed makes no sense"))?;
    let number = |name: &str| {
        let wrong = || Refused::Damaged(format!("its {name} makes no sense"));
        format::number(&meta, name)?.ok_or_else(wrong)
    };
    let journal = Journal::read(&db.begin_read()?.open_table(JOURNAL)?)?;
    let (latest, batch) = (Micros::stored(number(LATEST)?), number(BATCH)?);
    let latest = journal.latest().unwrap_or(latest);
    let batch = journal.last().unwrap_or(batch).max(batch);
    if closed_after.is_some_and(|closed| batch < closed) {
        return Err(damaged("its latest changes are missing"));
    }
    let table = Table::new(&jeton_memory::Settings {
        seed: Some(Seed::new(seed)),
        ..settings.table.clone()
    })
    .map_err(Refused::Table)?;
    let mut opened = Opened {
        stepped_back: latest.since(now),
        ..Opened::default()
    };
    restore_states(db, &journal, &table, now, &mut opened)?;
    for note in notes::all(db)?.ok_or_else(|| damaged("a note makes no sense"))? {
        restore_note(&table, note, now, &mut opened);
    }
    Ok((table, opened, standing))
}

fn restore_states(
    db: &Database,
    journal: &Journal,
    table: &Table,
    now: Micros,
    opened: &mut Opened,
) -> Result<(), Refused> {
    let mut wrong = None;
    engine::states(db, journal, &mut |hash, kind, bytes| {
        format::step_back(kind, bytes, opened.stepped_back);
        let state = match codec::decode(bytes) {
            Ok(state) if state.kind as u8 == kind => state,
            Ok(_) => {
                wrong = Some(format!("the state at {hash:016x} is of another kind"));
                return false;
            }
            Err(error) => {
                wrong = Some(format!("the state at {hash:016x}: {error}"));
                return false;
            }
        };
        if state.until <= now {
            opened.expired += 1;
        } else if table.restore(hash, &state, now) {
            opened.restored += 1;
        } else {
            opened.left_out += 1;
        }
        true
    })?;
    wrong.map_or(Ok(()), |what| Err(Refused::Damaged(what)))
}

fn restore_note(table: &Table, mut note: Note, now: Micros, opened: &mut Opened) {
    note.until = note
        .until
        .map(|until| until.saturating_sub(opened.stepped_back));
    if note.is_in_force(now) {
        let put = at_once(table.note(NoteEdit::Put(note), When::At(now)));
        opened.left_out += u64::from(!matches!(put, Some(Ok(_))));
    }
}

fn new_seed() -> Result<[u8; 16], OpenError> {
    let mut seed = [0; 16];
    let drawn = getrandom::fill(&mut seed);
    drawn.map_err(|_| of_table(jeton_memory::SettingsError::NoRandomness))?;
    Ok(seed)
}

fn of_table(error: jeton_memory::SettingsError) -> OpenError {
    OpenError::Settings(SettingsError::Table(error))
}

fn damaged(file: &Path, what: String) -> OpenError {
    OpenError::Damaged {
        path: file.to_owned(),
        what,
    }
}

fn unusable(path: &Path, error: io::Error) -> OpenError {
    OpenError::Folder {
        path: path.to_owned(),
        error,
    }
}

fn of_engine(path: &Path, file: &Path, error: redb::Error) -> OpenError {
    let not_ours = |kind| {
        matches!(
            kind,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        )
    };
    match error {
        redb::Error::Io(error) if not_ours(error.kind()) => damaged(file, error.to_string()),
        redb::Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock => OpenError::InUse {
            path: path.to_owned(),
        },
        redb::Error::Io(error) => unusable(path, error),
        redb::Error::DatabaseAlreadyOpen => OpenError::InUse {
            path: path.to_owned(),
        },
        redb::Error::UpgradeRequired(_) => OpenError::Newer {
            path: path.to_owned(),
            format: None,
        },
        error => {
            let trouble = crate::Trouble::from(error);
            match trouble.kind {
                TroubleKind::Io => unusable(path, io::Error::other(trouble.said)),
                _ => damaged(file, trouble.said),
            }
        }
    }
}
