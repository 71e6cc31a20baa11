//! States that stand in rows of the journal, and not in their places yet.
//!
//! A small batch of random states would touch a page for each. So it is written as one row at the end
//! of a table of its own, and its states move to their places later, a stretch of the key space at a
//! time, many to a page. The stretches go round like a hand; when it has gone once round since a row was
//! written, every state of that row has moved, and the row goes. Rows go in their order: as long as one
//! names a state, the last that does says what counts.

use core::ops::Bound::{Excluded, Unbounded};
use std::collections::{BTreeMap, VecDeque};

use jeton_core::Micros;
use redb::ReadableTable;

use crate::batch::Key;
use crate::row::{WORD_BYTES, Word, read};

/// From so many bytes on, a batch is as well written to its places at once.
const LARGE_BYTES: usize = 32 << 10;
/// So many states move in one batch, at least.
const STRETCH: usize = 512;
/// So many rows go in one batch, at most.
const ROWS: usize = 64;
/// What a row takes up besides its bytes.
const ROW_BYTES: usize = 32;

/// A state's bytes; none: it is removed.
type State = Option<Box<[u8]>>;

/// What the rows of the journal say.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The last word on each state that is not in its place.
    states: BTreeMap<Key, State>,
    rows: VecDeque<Kept>,
    /// Of all rows.
    bytes: usize,
    hand: Hand,
    latest: Option<Micros>,
}

/// A row that is on disk.
#[derive(Debug)]
struct Kept {
    number: u64,
    bytes: usize,
    /// Where the hand stood when it was written.
    written_at: Hand,
}

/// How often the hand has been round, and which state it has moved last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Hand {
    rounds: u64,
    last: Option<Key>,
}

impl Journal {
    /// Reads the rows of a file.
    pub(crate) fn read(rows: &impl ReadableTable<u64, &'static [u8]>) -> Result<Self, redb::Error> {
        let mut journal = Self::default();
        for row in rows.iter()? {
            let (number, bytes) = row?;
            let number = number.value();
            let no_sense =
                || redb::Error::Corrupted(format!("row {number} of its journal makes no sense"));
            let (latest, words) = read(bytes.value()).ok_or_else(no_sense)?;
            if journal.last().is_some_and(|last| last + 1 != number) {
                return Err(redb::Error::Corrupted(format!(
                    "a row of its journal is missing before {number}"
                )));
            }
            for (key, word) in words {
                journal.hear(key, word);
            }
            journal.note(number, latest, bytes.value().len());
        }
        Ok(journal)
    }

    /// The number of the last row.
    pub(crate) fn last(&self) -> Option<u64> {
        self.rows.back().map(|row| row.number)
    }

    /// The instant that the last row names.
    pub(crate) fn latest(&self) -> Option<Micros> {
        self.latest
    }

    /// Whether these are few enough for a row.
    pub(crate) fn takes(states: &[(Key, Option<&[u8]>)]) -> bool {
        let bytes = |(_, state): &(_, Option<&[u8]>)| WORD_BYTES + state.map_or(0, <[u8]>::len);
        states.iter().map(bytes).sum::<usize>() < LARGE_BYTES
    }

    /// How many states are not in their places.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether rows should go, when there may be so many bytes of them.
    pub(crate) fn is_full(&self, most_bytes: usize) -> bool {
        self.bytes > most_bytes
    }

    /// Whether it says what has become of a state.
    pub(crate) fn says(&self, key: Key) -> bool {
        self.states.contains_key(&key)
    }

    /// What all rows say together.
    pub(crate) fn states(&self) -> impl Iterator<Item = (Key, Option<&[u8]>)> {
        self.states
            .iter()
            .map(|(key, state)| (*key, state.as_deref()))
    }

    /// Hears a word that a row brings.
    pub(crate) fn hear(&mut self, key: Key, word: Word<'_>) {
        match word {
            Word::Put(bytes) => drop(self.states.insert(key, Some(bytes.into()))),
            Word::Removed => drop(self.states.insert(key, None)),
            Word::InPlace => drop(self.states.remove(&key)),
        }
    }

    /// Notes that a row has been written.
    pub(crate) fn note(&mut self, number: u64, latest: Micros, bytes: usize) {
        let bytes = bytes + ROW_BYTES;
        self.bytes += bytes;
        self.latest = Some(latest);
        self.rows.push_back(Kept {
            number,
            bytes,
            written_at: self.hand,
        });
    }

    /// The next states to be moved to their places: twice as many as a batch of so many has brought.
    pub(crate) fn stretch(&mut self, batch: usize) -> Vec<(Key, State)> {
        let many = STRETCH.max(batch.saturating_mul(2));
        let from = self.hand.last.map_or(Unbounded, Excluded);
        let ahead = self.states.range((from, Unbounded));
        let stretch: Vec<Key> = ahead.take(many).map(|(key, _)| *key).collect();
        self.hand = match stretch.last() {
            Some(&last) if stretch.len() == many => Hand {
                last: Some(last),
                ..self.hand
            },
            _ => Hand {
                rounds: self.hand.rounds + 1,
                last: None,
            },
        };
        let moved = stretch.into_iter();
        moved
            .filter_map(|key| self.states.remove_entry(&key))
            .collect()
    }

    /// Rows whose states have all been moved; they are not the journal's any more. One row stays, for it
    /// tells how many batches there have been, and when.
    pub(crate) fn take_moved(&mut self) -> Vec<u64> {
        let mut moved = Vec::new();
        while self.rows.len() > 1
            && moved.len() < ROWS
            && let Some(row) = self.rows.front()
        {
            let round = Hand {
                rounds: row.written_at.rounds + 1,
                ..row.written_at
            };
            if self.hand < round {
                break;
            }
            moved.push(row.number);
            self.bytes -= row.bytes;
            self.rows.pop_front();
        }
        moved
    }

    /// All states, to be moved now; all rows can go then.
    pub(crate) fn take_all(&mut self) -> BTreeMap<Key, State> {
        core::mem::take(self).states
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::Kind;

    const MOST_BYTES: usize = 64 << 10;

    /// What batches of so many words leave behind, and the most bytes of rows that there were.
    fn feed(batches: u64, words: u64, hash: impl Fn(u64) -> u64) -> usize {
        let (mut journal, mut most) = (Journal::default(), 0);
        // The number of the batch that said the last word on a key: the last of all, the last in rows
        // that stand, and what its place has.
        let mut last = BTreeMap::new();
        let mut in_rows = VecDeque::new();
        let mut places = BTreeMap::new();
        for number in 1..=batches {
            let row: Vec<Key> = (0..words)
                .map(|word| Key {
                    hash: hash(number * words + word),
                    kind: Kind::Bucket,
                })
                .collect();
            for &key in &row {
                journal.hear(key, Word::Put(&number.to_le_bytes()));
                last.insert(key, number);
            }
            journal.note(number, Micros::new(number), row.len() * (WORD_BYTES + 34));
            in_rows.push_back((number, row));
            if journal.is_full(MOST_BYTES) {
                for (key, state) in journal.stretch(usize::try_from(words).unwrap()) {
                    let number = state.unwrap()[..].try_into().map(u64::from_le_bytes);
                    places.insert(key, number.unwrap());
                }
            }
            for gone in journal.take_moved() {
                assert_eq!(in_rows.pop_front().unwrap().0, gone, "rows go in order");
            }
            assert_eq!(journal.last(), Some(number));
            most = most.max(journal.bytes);
            if number % 64 == 0 {
                let mut found = places.clone();
                for (number, row) in &in_rows {
                    found.extend(row.iter().map(|&key| (key, *number)));
                }
                assert_eq!(found, last, "after batch {number}");
            }
        }
        most
    }

    #[test]
    fn rows_go_when_their_states_have_moved_and_never_pile_up() {
        let random = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        let new = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (batches, words) in [(6_000, 1), (1_500, 20), (300, 300)] {
            for most in [
                feed(batches, words, random),
                feed(batches, words, new),
                feed(batches, words, |n| n % 3),
            ] {
                assert!(
                    (MOST_BYTES / 2..=2 * MOST_BYTES).contains(&most),
                    "{most} bytes, batches of {words}"
                );
            }
        }
    }
}
