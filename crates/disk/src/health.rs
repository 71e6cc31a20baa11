//! How the disk is doing.

use core::fmt;
use std::io;

use jeton_core::StoreErrorKind;

/// How the disk is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Health {
    /// What is decided reaches it in time.
    Up,
    /// It is slow: decisions wait for it.
    Behind,
    /// It keeps nothing. It is tried again and again.
    Down(TroubleKind),
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TroubleKind {
    /// No space is left, or a quota is used up.
    Full,
    /// It takes no writes.
    ReadOnly,
    /// What was read is not what was written.
    Damaged,
    /// Anything else.
    Io,
}

/// What is wrong with it, in the system's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: TroubleKind,
    /// The system's words.
    pub said: String,
}

impl TroubleKind {
    /// What the store answers meanwhile: it could not keep what it decides.
    pub(crate) const STORE_ERROR: StoreErrorKind = StoreErrorKind::CannotPersist;
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fix = match self.kind {
            TroubleKind::Full => "the disk is full; make room",
            TroubleKind::ReadOnly => {
                "the disk takes no writes; check how it is mounted and who owns it"
            }
            TroubleKind::Damaged => "the disk gave back other bytes than were written; check it",
            TroubleKind::Io => "the disk cannot be written to",
        };
        write!(f, "{fix} ({})", self.said)
    }
}

impl core::error::Error for Trouble {}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => TroubleKind::Full,
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                TroubleKind::ReadOnly
            }
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => TroubleKind::Damaged,
            _ => TroubleKind::Io,
        };
        Self {
            kind,
            said: error.to_string(),
        }
    }
}

impl From<redb::Error> for Trouble {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => error.into(),
            redb::Error::Corrupted(said) => Self {
                kind: TroubleKind::Damaged,
                said,
            },
            error => Self {
                kind: TroubleKind::Io,
                said: error.to_string(),
            },
        }
    }
}
