//! The folder: one file of the engine, and a lock that one process holds.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The engine's file.
const STATES: &str = "states.redb";
/// The engine's file while it is made.
const NEW: &str = "states.new";
const LOCK: &str = "lock";
/// How many batches the engine's file held when it was closed.
const CLOSED: &str = "closed";

/// A folder that is ours alone.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

/// Why a folder is not ours.
#[derive(Debug)]
pub(crate) enum Taken {
    /// By another store.
    InUse,
    /// By the system.
    Io(io::Error),
}

/// Makes a folder for its owner alone: what it holds is a secret.
fn make(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl From<io::Error> for Taken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Folder {
    /// Makes the folder if there is none, and locks it.
    pub(crate) fn take(path: &Path) -> Result<Self, Taken> {
        make(path)?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Taken::InUse),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path.join(STATES)
    }

    /// How many batches the engine's file held when it was closed, if it was. The engine takes a
    /// damaged end for a batch that was never finished: this tells.
    pub(crate) fn closed_after(&self) -> io::Result<Option<u64>> {
        match fs::read_to_string(self.path.join(CLOSED)) {
            Ok(text) => Ok(text.trim().parse().ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes that the engine's file is closed.
    pub(crate) fn note_closed(&self, batches: u64) -> io::Result<()> {
        let mut file = File::create(self.path.join(CLOSED))?;
        writeln!(file, "{batches}")?;
        file.sync_all()
    }

    /// Whether the engine's file has been here and is gone: it was closed once.
    pub(crate) fn has_lost_its_file(&self) -> io::Result<bool> {
        Ok(!self.file().try_exists()? && self.path.join(CLOSED).try_exists()?)
    }

    /// Makes the engine's file by `make`, unless there is one. It is there whole or not at all.
    pub(crate) fn ensure_file<E: From<io::Error>>(
        &self,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let (file, new) = (self.file(), self.path.join(NEW));
        if file.try_exists()? {
            return Ok(());
        }
        make(&new)?;
        fs::rename(&new, &file)?;
        // The name is on disk when its folder is.
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }
}
