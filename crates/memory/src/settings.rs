//! How large a table may grow, and what happens to keys that come after that.

use core::fmt;

use crate::Seed;

/// The most keys a table can be told to hold.
pub const MAX_KEYS: u64 = 1 << 30;

/// The least memory a table works in: enough for several hundred keys.
pub const LEAST_MEMORY_BYTES: u64 = 64 * 1024;

/// What a full table answers for a key that it does not hold. Keys that it holds are never pushed
/// out to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Overflow {
    /// New keys share coarse cells that err towards denying.
    #[default]
    Share,
    /// New keys are denied.
    Deny,
    /// New keys pass uncounted.
    Allow,
}

/// The bounds of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The most keys held at a time, 1 to [`MAX_KEYS`].
    pub max_keys: u64,
    /// The most memory in bytes, at least [`LEAST_MEMORY_BYTES`]; reached before `max_keys`, it is
    /// the bound. [`Stats::bytes`](crate::Stats::bytes) says what counts.
    pub max_memory_bytes: u64,
    /// What a full table answers for new keys.
    pub overflow: Overflow,
    /// The secret of the key hash; drawn at random when none is given. A store that keeps states
    /// outside the process gives the one it keeps beside them.
    pub seed: Option<Seed>,
}

impl Default for Settings {
    /// A million keys in 256 MiB; new keys share when full; a random seed.
    fn default() -> Self {
        Self {
            max_keys: 1_000_000,
            max_memory_bytes: 256 << 20,
            overflow: Overflow::Share,
            seed: None,
        }
    }
}

/// Why a table cannot be made. A table that could hold nothing would silently limit nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// `max_keys` is 0.
    NoKeys,
    /// `max_keys` is above [`MAX_KEYS`].
    TooManyKeys {
        /// What was asked for.
        max_keys: u64,
    },
    /// `max_memory_bytes` is below [`LEAST_MEMORY_BYTES`].
    MemoryTooSmall {
        /// What was asked for, in bytes.
        max_memory_bytes: u64,
    },
    /// The system gave no random bytes for the seed.
    NoRandomness,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys => f.write_str(
                "max_keys = 0 leaves no room to count anybody; give the most keys to hold at a \
                 time, such as 1000000",
            ),
            Self::TooManyKeys { max_keys } => {
                write!(f, "max_keys = {max_keys} is too many; at most {MAX_KEYS}")
            }
            Self::MemoryTooSmall { max_memory_bytes } => write!(
                f,
                "max_memory of {max_memory_bytes} bytes is too little to count anybody; give at \
                 least {LEAST_MEMORY_BYTES} bytes (64KiB), and about 50 bytes for each key",
            ),
            Self::NoRandomness => f.write_str(
                "the system gave no random bytes to seed the key hash; without a secret seed a \
                 client could aim at another's counter",
            ),
        }
    }
}

impl core::error::Error for SettingsError {}

impl Settings {
    /// Refuses what could hold nothing.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let &Self {
            max_keys,
            max_memory_bytes,
            ..
        } = self;
        if max_keys == 0 {
            return Err(SettingsError::NoKeys);
        }
        if max_keys > MAX_KEYS {
            return Err(SettingsError::TooManyKeys { max_keys });
        }
        if max_memory_bytes < LEAST_MEMORY_BYTES {
            return Err(SettingsError::MemoryTooSmall { max_memory_bytes });
        }
        Ok(())
    }
}
