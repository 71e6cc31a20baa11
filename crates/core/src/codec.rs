//! The bytes of a state, for stores that keep them outside the process.
//!
//! ```text
//! byte 0       version (1)
//! byte 1       kind
//! 2..10        until, µs, little endian like all that follow
//! 10..18       cell: at, µs
//! 18..30       cell: three words of 4 bytes
//! 30..34       number of entries
//! 34..         entries of 16 bytes: stamp (8), sum or holder (4), cost (4)
//! ```
//!
//! A release reads the version before its own, and writes that one until told otherwise, so that
//! mixed versions share counters. `vectors/decisions.jsonl` keeps bytes of every version.

use alloc::vec::Vec;
use core::fmt;

use crate::{Cell, Entry, Kind, MAX_LIMIT, Micros};

const VERSION: u8 = 1;
const HEAD: usize = 34;
const ENTRY: usize = 16;

/// A state as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What kind of state.
    pub kind: Kind,
    /// The instant from which on it may vanish.
    pub until: Micros,
    /// The small state.
    pub cell: Cell,
    /// The entries of a log, or the holders of a concurrency.
    pub tail: Vec<Entry>,
}

/// Why bytes are not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// Shorter or longer than it says.
    Length {
        /// How long it is.
        bytes: usize,
    },
    /// Written by a version this one does not read.
    Version {
        /// The version it names.
        version: u8,
    },
    /// No such kind.
    Kind {
        /// The kind it names.
        kind: u8,
    },
    /// An instant beyond all time.
    Time,
    /// Entries out of order, or sums that do not add up.
    Entries,
    /// Numbers that no quota could have left behind.
    Units,
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { bytes } => write!(f, "{bytes} bytes are not one state"),
            Self::Version { version } => {
                write!(f, "state version {version}; this release reads {VERSION}")
            }
            Self::Kind { kind } => write!(f, "no kind of state is number {kind}"),
            Self::Time => f.write_str("an instant beyond the year 2112"),
            Self::Entries => f.write_str("log entries out of order or with a wrong sum"),
            Self::Units => f.write_str("more units than any quota allows"),
        }
    }
}

impl core::error::Error for CodecError {}

/// Appends the bytes of a state to `out`.
pub fn encode(kind: Kind, until: Micros, cell: &Cell, tail: &[Entry], out: &mut Vec<u8>) {
    out.reserve(HEAD + ENTRY * tail.len());
    out.extend_from_slice(&[VERSION, kind as u8]);
    out.extend_from_slice(&until.get().to_le_bytes());
    out.extend_from_slice(&cell.at.get().to_le_bytes());
    for word in cell.words {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&u32::try_from(tail.len()).unwrap_or(u32::MAX).to_le_bytes());
    for entry in tail {
        out.extend_from_slice(&entry.stamp.to_le_bytes());
        out.extend_from_slice(&entry.sum.to_le_bytes());
        out.extend_from_slice(&entry.cost.to_le_bytes());
    }
}

/// Reads the bytes of a state.
///
/// # Errors
/// [`CodecError`] if they are not exactly one state of a version this release reads.
pub fn decode(bytes: &[u8]) -> Result<Stored, CodecError> {
    let mut reader = Reader {
        rest: bytes,
        bytes: bytes.len(),
    };
    let version = reader.u8()?;
    if version != VERSION {
        return Err(CodecError::Version { version });
    }
    let number = reader.u8()?;
    let kind = Kind::from_number(number).ok_or(CodecError::Kind { kind: number })?;
    let until = instant(reader.u64()?)?;
    let at = instant(reader.u64()?)?;
    let words = [reader.u32()?, reader.u32()?, reader.u32()?];
    let entries = reader.u32()? as usize;
    if reader.rest.len() != entries.saturating_mul(ENTRY) {
        return Err(CodecError::Length { bytes: bytes.len() });
    }
    let mut tail = Vec::with_capacity(entries);
    for _ in 0..entries {
        tail.push(Entry {
            stamp: reader.u64()?,
            sum: reader.u32()?,
            cost: reader.u32()?,
        });
    }
    if kind == Kind::Log {
        in_order(&tail)?;
    }
    in_domain(kind, words, &tail)?;
    Ok(Stored {
        kind,
        until,
        cell: Cell { at, words },
        tail,
    })
}

fn instant(us: u64) -> Result<Micros, CodecError> {
    if us > Micros::HORIZON.get() {
        Err(CodecError::Time)
    } else {
        Ok(Micros::stored(us))
    }
}

fn in_order(tail: &[Entry]) -> Result<(), CodecError> {
    let follows = |(a, b): (&Entry, &Entry)| a.stamp < b.stamp && b.base() == a.sum;
    if tail.iter().zip(tail.iter().skip(1)).all(follows) {
        Ok(())
    } else {
        Err(CodecError::Entries)
    }
}

/// Nothing read from outside may take the arithmetic of a decision out of its domain.
fn in_domain(kind: Kind, [a, b, c]: [u32; 3], tail: &[Entry]) -> Result<(), CodecError> {
    let most = 2 * u64::from(MAX_LIMIT);
    let units = match kind {
        Kind::Bucket => u64::from(b),
        Kind::FixedEpoch | Kind::FixedFirst => u64::from(a) + u64::from(b),
        Kind::Counter => u64::from(a) + u64::from(b) + u64::from(c),
        Kind::Log | Kind::Concurrency if Cell::wide(a, b) > 2 * Micros::HORIZON.get() => {
            return Err(CodecError::Time);
        }
        Kind::Log => tail.iter().map(|entry| u64::from(entry.cost)).sum(),
        // Who was over when it was written is over for good, and may hold anything.
        Kind::Concurrency => {
            let live = tail.iter().filter(|e| e.stamp > Cell::wide(a, b));
            live.map(|entry| u64::from(entry.cost)).sum()
        }
        Kind::Ticket if a > 1 => return Err(CodecError::Units),
        Kind::Ticket => 0,
    };
    let ahead = tail
        .iter()
        .any(|entry| entry.stamp > 3 * Micros::HORIZON.get());
    let stray = !kind.has_tail() && !tail.is_empty();
    match () {
        () if units > most => Err(CodecError::Units),
        () if ahead => Err(CodecError::Time),
        () if stray => Err(CodecError::Entries),
        () => Ok(()),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    bytes: usize,
}

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(CodecError::Length { bytes: self.bytes })?;
        self.rest = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, CodecError> {
        self.array().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, CodecError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, CodecError> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn log() -> Stored {
        Stored {
            kind: Kind::Log,
            until: Micros::stored(1 << 51),
            cell: Cell {
                at: Micros::new(1_800_000_000_000_000),
                words: [1, 2, 3],
            },
            tail: vec![
                Entry {
                    stamp: 5,
                    sum: u32::MAX,
                    cost: 1,
                },
                Entry {
                    stamp: 9,
                    sum: 1,
                    cost: 2,
                },
            ],
        }
    }

    fn bytes_of(state: &Stored) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(
            state.kind,
            state.until,
            &state.cell,
            &state.tail,
            &mut bytes,
        );
        bytes
    }

    #[test]
    fn a_state_reads_back_to_the_last_digit() {
        assert_eq!(decode(&bytes_of(&log())), Ok(log()));
    }

    #[test]
    fn bad_bytes_are_refused_by_name() {
        let good = bytes_of(&log());
        for cut in 0..good.len() {
            assert!(
                matches!(decode(&good[..cut]), Err(CodecError::Length { .. })),
                "{cut}"
            );
        }
        let with = |at: usize, byte: u8| {
            let mut bad = good.clone();
            bad[at] = byte;
            decode(&bad)
        };
        assert_eq!(with(0, 2), Err(CodecError::Version { version: 2 }));
        assert_eq!(with(1, 99), Err(CodecError::Kind { kind: 99 }));
        assert_eq!(with(9, 255), Err(CodecError::Time));
        assert_eq!(with(34, 9), Err(CodecError::Entries));
        assert_eq!(with(25, 255), Err(CodecError::Time));
    }

    fn holders() -> Stored {
        let holder = |stamp, sum, cost| Entry { stamp, sum, cost };
        Stored {
            kind: Kind::Concurrency,
            until: Micros::stored(1 << 51),
            cell: Cell {
                at: Micros::new(50),
                words: [100, 0, 0],
            },
            // In no order, and two that are over, whose units no longer count.
            tail: vec![
                holder(200, 7, MAX_LIMIT),
                holder(100, 9, MAX_LIMIT),
                holder(99, 9, MAX_LIMIT),
                holder(150, 3, MAX_LIMIT),
            ],
        }
    }

    #[test]
    fn holders_and_tickets_read_back_to_the_last_digit() {
        assert_eq!(decode(&bytes_of(&holders())), Ok(holders()));
        for (words, read) in [
            ([0, 0, 0], Ok(())),
            ([1, u32::MAX, 0], Ok(())),
            ([2, 0, 0], Err(CodecError::Units)),
        ] {
            let ticket = Stored {
                kind: Kind::Ticket,
                cell: Cell {
                    at: Micros::new(9),
                    words,
                },
                tail: Vec::new(),
                ..holders()
            };
            assert_eq!(decode(&bytes_of(&ticket)), read.map(|()| ticket));
        }
    }

    #[test]
    fn holders_that_no_quota_lets_in_are_refused() {
        let mut many = holders();
        many.tail[1].stamp = 101;
        assert_eq!(decode(&bytes_of(&many)), Err(CodecError::Units));
        let mut ahead = holders();
        ahead.tail[0].stamp = u64::MAX;
        assert_eq!(decode(&bytes_of(&ahead)), Err(CodecError::Time));
        let mut raw = holders();
        raw.cell.words = [0, 1 << 30, 0];
        assert_eq!(decode(&bytes_of(&raw)), Err(CodecError::Time));
        for kind in [Kind::Ticket, Kind::Bucket, Kind::FixedFirst, Kind::Counter] {
            let mut stray = holders();
            (stray.kind, stray.cell.words) = (kind, [0; 3]);
            assert_eq!(decode(&bytes_of(&stray)), Err(CodecError::Entries));
        }
    }

    #[test]
    fn f34_units_that_no_quota_leaves_are_refused() {
        for kind in [
            Kind::Bucket,
            Kind::FixedEpoch,
            Kind::FixedFirst,
            Kind::Counter,
        ] {
            let mut bytes = Vec::new();
            let cell = Cell {
                at: Micros::ZERO,
                words: [0, u32::MAX, 0],
            };
            encode(kind, Micros::ZERO, &cell, &[], &mut bytes);
            assert_eq!(decode(&bytes), Err(CodecError::Units), "{kind:?}");
        }
    }
}
