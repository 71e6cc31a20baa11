//! Long tails in parts: a log of many entries changes at its ends, and only those are written.
//!
//! Where a part ends, its entries say themselves: about one in 64 begins a new one, by a hash of its
//! name (the stamp of a log's entry, the id of a holder). So entries that leave at the front, or come
//! at the back, leave the parts in between as they are. A part is kept under the name of its first
//! entry.

use core::hash::Hasher;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;

use jeton_core::Kind;

use crate::batch::Key;

/// What `jeton_core::codec` puts before the entries.
const HEAD: usize = 34;
const ENTRY: usize = 16;
/// So many entries stay with their state.
const FEW: usize = 64;
/// One entry in so many begins a part.
const EVERY: u64 = 64;

type Entry = [u8; ENTRY];

/// A state whose entries are kept apart from it.
pub(crate) struct Split<'a> {
    /// Its bytes without the entries, whose number it still names.
    pub(crate) head: &'a [u8],
    entries: Vec<Entry>,
    /// Where parts begin.
    starts: Vec<usize>,
    kind: Kind,
}

/// Whether a state has so many entries that they are kept apart from it.
pub(crate) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() >= HEAD + (FEW + 1) * ENTRY
}

/// Splits a state with many entries.
pub(crate) fn split(kind: Kind, bytes: &[u8]) -> Option<Split<'_>> {
    if !is_long(bytes) {
        return None;
    }
    let (head, tail) = bytes.split_at_checked(HEAD)?;
    let (entries, _) = tail.as_chunks::<ENTRY>();
    let mut entries = entries.to_vec();
    if kind == Kind::Concurrency {
        // Holders stand in any order.
        entries.sort_by_key(|entry| name(kind, entry));
    }
    let mut starts = Vec::new();
    let mut before = None;
    for (number, entry) in entries.iter().enumerate() {
        let name = name(kind, entry);
        if before.is_none() || (before != Some(name) && begins_part(name)) {
            starts.push(number);
        }
        before = Some(name);
    }
    Some(Split {
        head,
        entries,
        starts,
        kind,
    })
}

impl Split<'_> {
    /// The parts: name and bytes, in the order of names.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let ends = self
            .starts
            .iter()
            .skip(1)
            .copied()
            .chain([self.entries.len()]);
        self.starts.iter().zip(ends).filter_map(|(&start, end)| {
            let entries = self.entries.get(start..end)?;
            Some((name(self.kind, entries.first()?), entries.as_flattened()))
        })
    }
}

/// Whether entries of this state are kept apart from it.
pub(crate) fn is_split(bytes: &[u8]) -> bool {
    let entries = bytes.get(HEAD - 4..HEAD).and_then(|n| n.first_chunk());
    bytes.len() == HEAD && entries.is_some_and(|n| u32::from_le_bytes(*n) > 0)
}

fn name(kind: Kind, entry: &Entry) -> u64 {
    let [s0, s1, s2, s3, s4, s5, s6, s7, i0, i1, i2, i3, ..] = *entry;
    if kind == Kind::Concurrency {
        u64::from(u32::from_le_bytes([i0, i1, i2, i3]))
    } else {
        u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7])
    }
}

/// The finish of Steele, Lea and Flood's `SplitMix64`.
fn begins_part(name: u64) -> bool {
    let mut z = name.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).is_multiple_of(EVERY)
}

/// Which parts are on disk.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    of: HashMap<Key, Vec<Part>>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    name: u64,
    digest: u64,
    bytes: u64,
}

/// What has to happen to a part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    Put(u64, &'a [u8]),
    Remove(u64),
}

impl Parts {
    /// Notes a part that is on disk. They come in the order of names.
    pub(crate) fn note(&mut self, key: Key, name: u64, bytes: &[u8]) {
        let part = Part::new(name, bytes);
        self.bytes += part.bytes;
        self.of.entry(key).or_default().push(part);
    }

    /// What they take up.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a state has any.
    pub(crate) fn has(&self, key: Key) -> bool {
        key.kind.has_tail() && self.of.contains_key(&key)
    }

    /// Brings the parts of a state to those of `split`, and tells what that takes.
    pub(crate) fn become_those_of<'a>(
        &mut self,
        key: Key,
        split: Option<&'a Split<'_>>,
    ) -> Vec<Change<'a>> {
        let before = self.of.remove(&key).unwrap_or_default();
        self.bytes -= total(&before);
        let mut before = before.into_iter().peekable();
        let mut changes = Vec::new();
        let mut after = Vec::new();
        for (name, bytes) in split.iter().flat_map(|split| split.parts()) {
            while let Some(gone) = before.next_if(|old| old.name < name) {
                changes.push(Change::Remove(gone.name));
            }
            let part = Part::new(name, bytes);
            let old = before.next_if(|old| old.name == name);
            if old.is_none_or(|old| old.digest != part.digest) {
                changes.push(Change::Put(name, bytes));
            }
            after.push(part);
        }
        changes.extend(before.map(|gone| Change::Remove(gone.name)));
        self.bytes += total(&after);
        if !after.is_empty() {
            self.of.insert(key, after);
        }
        changes
    }
}

impl Part {
    fn new(name: u64, bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self {
            name,
            digest: hasher.finish(),
            bytes: bytes.len() as u64,
        }
    }
}

fn total(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::{Cell, Entry, Micros, codec};
    use std::collections::BTreeMap;

    const KEY: Key = Key {
        hash: 1,
        kind: Kind::Log,
    };

    fn bytes(kind: Kind, entries: &[Entry]) -> Vec<u8> {
        let mut out = Vec::new();
        let cell = Cell::default();
        codec::encode(kind, Micros::new(9), &cell, entries, &mut out);
        out
    }

    fn log(stamps: core::ops::Range<u64>) -> Vec<Entry> {
        let entry = |n: u64| Entry {
            stamp: n * 1_000,
            sum: u32::try_from(n).unwrap(),
            cost: 1,
        };
        stamps.map(entry).collect()
    }

    #[derive(Default)]
    struct Kept(Parts, BTreeMap<u64, Vec<u8>>);

    impl Kept {
        /// How many bytes it took to keep `state`, which reads back.
        fn keep(&mut self, kind: Kind, state: &[u8]) -> usize {
            let key = Key { kind, ..KEY };
            let split = split(kind, state);
            let mut written = 0;
            for change in self.0.become_those_of(key, split.as_ref()) {
                match change {
                    Change::Put(name, bytes) => {
                        written += bytes.len();
                        self.1.insert(name, bytes.to_vec());
                    }
                    Change::Remove(name) => assert!(self.1.remove(&name).is_some()),
                }
            }
            if let Some(split) = &split {
                assert!(is_split(split.head));
                let tail = self.1.values().flatten().copied();
                let whole: Vec<u8> = split.head.iter().copied().chain(tail).collect();
                let (read, mut kept) = (codec::decode(&whole), codec::decode(state).unwrap());
                if kind == Kind::Concurrency {
                    kept.tail.sort_by_key(|entry| entry.sum);
                }
                assert_eq!(read.unwrap(), kept);
            } else {
                assert!(self.1.is_empty() && !is_split(state));
            }
            written
        }
    }

    #[test]
    fn a_long_log_that_moves_on_is_written_at_its_ends() {
        let mut kept = Kept::default();
        let log = |range| bytes(Kind::Log, &log(range));
        let whole = kept.keep(Kind::Log, &log(0..70_000));
        assert_eq!(whole, 70_000 * 16);
        let mut written = 0;
        for step in 1..=20 {
            written += kept.keep(Kind::Log, &log(step..70_000 + step));
        }
        assert!(written / 20 < whole / 200, "{written} of {whole}");
        // Short again, and gone.
        assert_eq!(kept.keep(Kind::Log, &log(70_000..70_064)), 0);
        kept.keep(Kind::Log, &log(70_000..70_065));
        assert_eq!(kept.keep(Kind::Log, &log(0..0)), 0);
    }

    #[test]
    fn a_log_whose_sums_change_is_written_again() {
        let mut kept = Kept::default();
        let mut entries = log(0..1_000);
        kept.keep(Kind::Log, &bytes(Kind::Log, &entries));
        for entry in &mut entries[900..] {
            entry.sum += 3;
        }
        entries[900].cost += 3;
        let written = kept.keep(Kind::Log, &bytes(Kind::Log, &entries));
        assert!((100 * 16..1_000 * 16).contains(&written), "{written}");
    }

    #[test]
    fn holders_come_and_go_part_by_part() {
        let mut kept = Kept::default();
        let holder = |id: u32| Entry {
            stamp: 1 << 40 | u64::from(id % 7),
            sum: id.wrapping_mul(0x9e37_79b9),
            cost: 1,
        };
        let mut holders: Vec<Entry> = (0..5_000).map(holder).collect();
        let whole = kept.keep(Kind::Concurrency, &bytes(Kind::Concurrency, &holders));
        let mut written = 0;
        for id in 0..100 {
            holders.swap_remove(usize::try_from(id * 31 % 4_000).unwrap());
            holders.push(holder(5_000 + id));
            written += kept.keep(Kind::Concurrency, &bytes(Kind::Concurrency, &holders));
        }
        assert!(written / 100 < whole / 10, "{written} of {whole}");
    }
}
