//! A row of the journal: what one batch says of states, one word for each.
//!
//! ```text
//! latest    the instant of the latest change kept by then, µs, u64 little endian like all numbers
//! words     hash u64, kind u8, length u16, and so many bytes: the state
//!           length 0: the state is removed
//!           length all ones: what stands in the table of states is what counts
//! ```

use jeton_core::{Kind, Micros};

use crate::batch::Key;

/// What a word takes up besides its state.
pub(crate) const WORD_BYTES: usize = 8 + 1 + 2;

const REMOVED: u16 = 0;
const IN_PLACE: u16 = u16::MAX;

/// What a batch says of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    /// It is this.
    Put(&'a [u8]),
    /// It is gone.
    Removed,
    /// It has been written to its place, or removed from it.
    InPlace,
}

/// A row in the making.
#[derive(Debug)]
pub(crate) struct Row(Vec<u8>);

impl Row {
    pub(crate) fn new(latest: Micros) -> Self {
        Self(latest.get().to_le_bytes().to_vec())
    }

    /// Adds a word. A state without parts is neither empty nor as long as would be mistaken.
    pub(crate) fn add(&mut self, key: Key, word: Word<'_>) {
        let (len, bytes) = match word {
            Word::Put(bytes) => (u16::try_from(bytes.len()).unwrap_or(IN_PLACE), bytes),
            Word::Removed => (REMOVED, &[][..]),
            Word::InPlace => (IN_PLACE, &[][..]),
        };
        debug_assert!(bytes.is_empty() || len != IN_PLACE);
        self.0.extend_from_slice(&key.hash.to_le_bytes());
        self.0.push(key.kind as u8);
        self.0.extend_from_slice(&len.to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads a row: its instant and its words; none if it is no row.
pub(crate) fn read(row: &[u8]) -> Option<(Micros, Vec<(Key, Word<'_>)>)> {
    let (latest, mut left) = row.split_first_chunk()?;
    let mut words = Vec::new();
    while !left.is_empty() {
        let (word, rest) = read_word(left)?;
        words.push(word);
        left = rest;
    }
    Some((Micros::stored(u64::from_le_bytes(*latest)), words))
}

fn read_word(bytes: &[u8]) -> Option<((Key, Word<'_>), &[u8])> {
    let (hash, bytes) = bytes.split_first_chunk()?;
    let (&kind, bytes) = bytes.split_first()?;
    let (len, bytes) = bytes.split_first_chunk()?;
    let key = Key {
        hash: u64::from_le_bytes(*hash),
        kind: Kind::from_number(kind)?,
    };
    Some(match u16::from_le_bytes(*len) {
        REMOVED => ((key, Word::Removed), bytes),
        IN_PLACE => ((key, Word::InPlace), bytes),
        len => {
            let (state, rest) = bytes.split_at_checked(len.into())?;
            ((key, Word::Put(state)), rest)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(hash: u64) -> Key {
        let kind = Kind::Log;
        Key { hash, kind }
    }

    #[test]
    fn a_row_reads_back_and_half_a_row_is_none() {
        let words = [
            (key(7), Word::Put(&[1, 2, 3])),
            (key(1 << 60), Word::Removed),
            (key(9), Word::InPlace),
        ];
        let mut row = Row::new(Micros::new(5));
        for (key, word) in words {
            row.add(key, word);
        }
        assert_eq!(read(row.bytes()), Some((Micros::new(5), words.to_vec())));
        let whole = [8, 8 + 11 + 3, 8 + 11 + 3 + 11];
        for len in 0..row.bytes().len() {
            let read = read(&row.bytes()[..len]);
            assert_eq!(read.is_some(), whole.contains(&len), "{len} bytes");
        }
        let mut other = row.bytes().to_vec();
        other[16] = 99;
        assert_eq!(read(&other), None, "a kind that there is not");
    }
}
