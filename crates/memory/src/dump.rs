//! A table's states as bytes, for a restart: region by region, while it goes on deciding.
//!
//! ```text
//! 4 bytes      "JTD" and the version (1)
//! 8 bytes      which seed the states were hashed with
//! then states: hash (8), length (4), and the bytes of jeton_core::codec
//! ```
//!
//! All numbers are little endian. A dump of one region is whole in itself; several may be loaded in
//! any order.

use core::fmt;

use jeton_core::Micros;
use jeton_core::codec::{self, CodecError};

use crate::Table;

const MAGIC: [u8; 4] = *b"JTD\x01";
const HEAD: usize = MAGIC.len() + 8;

/// What became of the states of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Loaded {
    /// States that stand in the table now.
    pub kept: u64,
    /// States that were over.
    pub over: u64,
    /// States that found no room.
    pub lost: u64,
}

/// Why bytes are not a dump of this table's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// They do not begin as a dump of a known version does.
    NotADump,
    /// The states were hashed with another seed: no key would find its own.
    OtherSeed,
    /// They end within a state.
    CutOff {
        /// Where that state begins.
        at: usize,
    },
    /// What stands there is not a state.
    State {
        /// Where it begins.
        at: usize,
        /// What is wrong with it.
        error: CodecError,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADump => f.write_str("these bytes are not a dump that this release reads"),
            Self::OtherSeed => f.write_str(
                "the dump was made under another seed, so that no key would find its state; give \
                 the table the seed of the one that was dumped",
            ),
            Self::CutOff { at } => write!(f, "the dump ends within the state at byte {at}"),
            Self::State { at, error } => write!(f, "at byte {at} of the dump: {error}"),
        }
    }
}

impl core::error::Error for LoadError {}

impl Table {
    /// Appends the states of one of the [`Table::regions`] that are not over at `now`. Its lock is
    /// held while they are copied, no other is. What operators have set is not in it
    /// ([`Store::notes`](jeton_core::Store::notes) tells that), nor what keys without room share.
    ///
    /// Nothing is dumped of a region that does not exist.
    pub fn dump(&self, region: usize, now: Micros, out: &mut Vec<u8>) {
        let mut held = Vec::new();
        if region < self.regions() {
            self.held(region, now, &mut held);
        }
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.hashing.mark());
        for one in held {
            let state = one.state;
            out.extend_from_slice(&one.hash.to_le_bytes());
            let len = out.len();
            out.extend_from_slice(&[0; 4]);
            codec::encode(state.kind, state.until, &state.cell, &state.tail, out);
            let written = u32::try_from(out.len() - len - 4).unwrap_or(u32::MAX);
            if let Some(place) = out.get_mut(len..len + 4) {
                place.copy_from_slice(&written.to_le_bytes());
            }
        }
    }

    /// Puts the states of a dump in the place of those that this table has under the same hashes: for
    /// a table that has just been made. Those that are over at `now` are left out.
    ///
    /// # Errors
    /// [`LoadError`] if the bytes are not a dump under this table's seed. States before the fault have
    /// been loaded.
    pub fn load(&self, dump: &[u8], now: Micros) -> Result<Loaded, LoadError> {
        let Some((head, mut rest)) = dump.split_at_checked(HEAD) else {
            return Err(LoadError::NotADump);
        };
        match head.split_at(MAGIC.len()) {
            (magic, _) if magic != MAGIC => return Err(LoadError::NotADump),
            (_, mark) if mark != self.hashing.mark() => return Err(LoadError::OtherSeed),
            _ => {}
        }
        let mut loaded = Loaded::default();
        while !rest.is_empty() {
            let at = dump.len() - rest.len();
            let (hash, state, after) = split(rest).ok_or(LoadError::CutOff { at })?;
            let state = codec::decode(state).map_err(|error| LoadError::State { at, error })?;
            if state.until <= now {
                loaded.over += 1;
            } else if self.restore(hash, &state, now) {
                loaded.kept += 1;
            } else {
                loaded.lost += 1;
            }
            rest = after;
        }
        Ok(loaded)
    }
}

/// The first state: its hash, its bytes, and what comes after it.
fn split(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (hash, rest) = bytes.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let (state, after) = rest.split_at_checked(len)?;
    Some((u64::from_le_bytes(*hash), state, after))
}
