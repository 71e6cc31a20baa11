//! The bytes of a state at its key, and their way to and from those of `jeton_core::codec`.
//!
//! `lua/state.lua` has the layout. It says the same as the codec's in fewer bytes: 28 for a small
//! state, which is what fits beside Redis's own bookkeeping into one block of its memory.

use jeton_core::codec::{self, CodecError, Stored};
use jeton_core::{Cell, Entry, Kind, Micros};

const VERSION: u8 = 1;
const CELL_BYTES: usize = 28;
const TAIL_HEAD_BYTES: usize = 32;
const ENTRY_BYTES: usize = 16;
/// The most units that a state can hold or owe.
const MAX_UNITS: u32 = 2 * jeton_core::MAX_LIMIT;

/// Reads a state as it stands at a key.
///
/// # Errors
/// [`CodecError`] if these bytes are not exactly one state.
pub fn decode(bytes: &[u8]) -> Result<Stored, CodecError> {
    let (head, entries) = split(bytes)?;
    let forgotten = head.forgotten.min(head.count).saturating_mul(ENTRY_BYTES);
    let used = head.count.saturating_mul(ENTRY_BYTES);
    let tail = entries
        .get(forgotten..used)
        .ok_or(CodecError::Length { bytes: bytes.len() })?;
    let tail: Vec<Entry> = tail.chunks_exact(ENTRY_BYTES).filter_map(entry).collect();
    let mut checked = Vec::new();
    codec::encode(head.kind, head.until, &head.cell, &tail, &mut checked);
    codec::decode(&checked)
}

/// Reads the old state that the script tells: as it stands at its key, or of a log the head and those
/// entries that the decision went by.
pub(crate) fn decode_told(kind: Kind, bytes: &[u8]) -> Result<(Cell, Vec<Entry>), CodecError> {
    let (head, entries) = split(bytes)?;
    if head.kind != kind {
        return Err(CodecError::Kind {
            kind: head.kind as u8,
        });
    }
    if kind == Kind::Log {
        let tail: Vec<Entry> = entries
            .chunks_exact(ENTRY_BYTES)
            .filter_map(entry)
            .collect();
        in_order(&tail)?;
        return Ok((head.cell, tail));
    }
    let stored = decode(bytes)?;
    Ok((stored.cell, stored.tail))
}

/// Writes a state as it stands at a key.
pub fn encode(state: &Stored) -> Vec<u8> {
    let mut bytes = vec![VERSION, state.kind as u8];
    let (until, at) = (
        state.until.get().to_le_bytes(),
        state.cell.at.get().to_le_bytes(),
    );
    // Instants are below 2^56.
    bytes.extend_from_slice(until.get(..7).unwrap_or_default());
    bytes.extend_from_slice(at.get(..7).unwrap_or_default());
    let [a, b, c] = state.cell.words;
    let count = u32::try_from(state.tail.len()).unwrap_or(u32::MAX);
    let third = if state.kind.has_tail() { count } else { c };
    for word in [a, b, third] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    if state.kind.has_tail() {
        bytes.extend_from_slice(&0_u32.to_le_bytes());
    }
    for entry in &state.tail {
        bytes.extend_from_slice(&entry.stamp.to_le_bytes());
        bytes.extend_from_slice(&entry.sum.to_le_bytes());
        bytes.extend_from_slice(&entry.cost.to_le_bytes());
    }
    bytes
}

struct Head {
    kind: Kind,
    until: Micros,
    cell: Cell,
    count: usize,
    forgotten: usize,
}

/// The head of a state, and the bytes of its entries.
fn split(bytes: &[u8]) -> Result<(Head, &[u8]), CodecError> {
    let wrong = CodecError::Length { bytes: bytes.len() };
    let (head, rest) = bytes.split_first_chunk::<CELL_BYTES>().ok_or(wrong)?;
    let version = head[0];
    if version != VERSION {
        return Err(CodecError::Version { version });
    }
    let kind = Kind::from_number(head[1]).ok_or(CodecError::Kind { kind: head[1] })?;
    let (until, at) = (number(&head[2..9]), number(&head[9..16]));
    if until.max(at) > Micros::HORIZON.get() {
        return Err(CodecError::Time);
    }
    let words = [
        word(&head[16..20]),
        word(&head[20..24]),
        word(&head[24..28]),
    ];
    let mut head = Head {
        kind,
        until: Micros::stored(until),
        cell: Cell {
            at: Micros::stored(at),
            words,
        },
        count: 0,
        forgotten: 0,
    };
    if !kind.has_tail() {
        return if rest.is_empty() {
            Ok((head, rest))
        } else {
            Err(wrong)
        };
    }
    let (forgotten, entries) = rest
        .split_at_checked(TAIL_HEAD_BYTES - CELL_BYTES)
        .ok_or(wrong)?;
    (head.count, head.forgotten) = (words[2] as usize, word(forgotten) as usize);
    head.cell.words[2] = 0;
    Ok((head, entries))
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let (stamp, rest) = bytes.split_at_checked(8)?;
    let (sum, cost) = rest.split_at_checked(4)?;
    Some(Entry {
        stamp: number(stamp),
        sum: word(sum),
        cost: word(cost),
    })
}

fn number(little_endian: &[u8]) -> u64 {
    little_endian
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn word(little_endian: &[u8]) -> u32 {
    little_endian
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Some entries of a log: later ones have later stamps and larger sums, and no more units are in force
/// than there can be.
fn in_order(tail: &[Entry]) -> Result<(), CodecError> {
    let pairs = || tail.iter().zip(tail.iter().skip(1));
    if !pairs().all(|(a, b)| a.stamp < b.stamp && b.sum.wrapping_sub(a.sum) >= b.cost) {
        return Err(CodecError::Entries);
    }
    let (Some(first), Some(last)) = (tail.first(), tail.last()) else {
        return Ok(());
    };
    let units = last.sum.wrapping_sub(first.sum).checked_add(first.cost);
    if units.is_none_or(|units| units > MAX_UNITS) {
        return Err(CodecError::Units);
    }
    if last.stamp > 3 * Micros::HORIZON.get() {
        return Err(CodecError::Time);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Stored {
        let entry = |stamp, sum, cost| Entry { stamp, sum, cost };
        Stored {
            kind: Kind::Log,
            until: Micros::HORIZON,
            cell: Cell {
                at: Micros::new(1_800_000_000_000_001),
                words: [1, 2, 0],
            },
            tail: vec![entry(5, u32::MAX, 1), entry(9, 1, 2)],
        }
    }

    #[test]
    fn states_read_back_to_the_last_digit() {
        let cell = Cell {
            at: Micros::new(1_800_000_000_000_003),
            words: [1, 2, 0],
        };
        for kind in [Kind::Bucket, Kind::FixedEpoch, Kind::Counter, Kind::Ticket] {
            let words = if kind == Kind::Ticket {
                [1, 2, 0]
            } else {
                [7, 8, 9]
            };
            let cell = Cell { words, ..cell };
            let state = Stored {
                kind,
                until: Micros::stored(1 << 51),
                cell,
                tail: vec![],
            };
            assert_eq!(decode(&encode(&state)), Ok(state), "{kind:?}");
        }
        assert_eq!(decode(&encode(&log())), Ok(log()));
    }

    #[test]
    fn forgotten_entries_are_not_read() {
        let mut bytes = encode(&log());
        bytes[28] = 1;
        assert_eq!(decode(&bytes).unwrap().tail, log().tail[1..]);
    }

    #[test]
    fn f34_foreign_bytes_are_refused_by_name() {
        let good = encode(&log());
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
        assert_eq!(with(0, 9), Err(CodecError::Version { version: 9 }));
        assert_eq!(with(1, 99), Err(CodecError::Kind { kind: 99 }));
        assert_eq!(with(8, 255), Err(CodecError::Time));
        assert!(decode_told(Kind::Bucket, &good).is_err());
        let mut unordered = good;
        unordered[32] = 77;
        assert_eq!(decode_told(Kind::Log, &unordered), Err(CodecError::Entries));
    }
}
