//! States on their way to the disk.

use core::ops::Range;

use jeton_core::Kind;

/// What a state is kept under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) hash: u64,
    pub(crate) kind: Kind,
}

/// What becomes of states.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Where a state's bytes are; none: it is removed.
    states: Vec<(Key, Option<Range<usize>>)>,
}

impl Batch {
    pub(crate) fn put(&mut self, key: Key, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        self.states.push((key, Some(start..self.bytes.len())));
    }

    pub(crate) fn remove(&mut self, key: Key) {
        self.states.push((key, None));
    }

    /// Adds what comes after.
    pub(crate) fn append(&mut self, other: &Self) {
        for (key, bytes) in other.iter() {
            match bytes {
                Some(bytes) => self.put(key, |out| out.extend_from_slice(bytes)),
                None => self.remove(key),
            }
        }
    }

    /// Puts it in the order of keys, and keeps the last word on each.
    pub(crate) fn settle(&mut self) {
        self.states.reverse();
        self.states.sort_by_key(|(key, _)| *key);
        self.states.dedup_by_key(|(key, _)| *key);
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, Option<&[u8]>)> {
        self.states.iter().map(|(key, range)| {
            let bytes = range.clone().and_then(|range| self.bytes.get(range));
            (*key, bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_key_stays() {
        let key = |hash| Key {
            hash,
            kind: Kind::Bucket,
        };
        let mut batch = Batch::default();
        batch.put(key(2), |out| out.push(1));
        batch.remove(key(1));
        batch.remove(key(2));
        let mut after = Batch::default();
        after.put(key(2), |out| out.push(3));
        after.put(key(0), |out| out.push(4));
        batch.append(&after);
        batch.settle();
        let kept: Vec<_> = batch.iter().collect();
        let expected: [(Key, Option<&[u8]>); 3] =
            [(key(0), Some(&[4])), (key(1), None), (key(2), Some(&[3]))];
        assert_eq!(kept, expected);
    }
}
