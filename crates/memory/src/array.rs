//! Slots in a row, searched from a key's home onwards until an empty one (linear probing).

use jeton_core::Micros;

use crate::Place;
use crate::slot::Slot;

#[derive(Debug, Default)]
pub(crate) struct Array(Box<[Slot]>);

impl Array {
    pub(crate) fn new(slots: usize) -> Self {
        Self(vec![Slot::EMPTY; slots].into_boxed_slice())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        bytes_of(self.len())
    }

    /// The most slots that may be other than empty: above four fifths, searches grow long.
    pub(crate) fn most(&self) -> usize {
        self.len() * 4 / 5
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Slot> {
        self.0.get(at)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut Slot> {
        self.0.get_mut(at)
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, Slot> {
        self.0.iter()
    }

    /// Where the slots stand in memory.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        home(hash, self.len())
    }

    #[inline]
    pub(crate) fn after(&self, at: usize) -> usize {
        if at + 1 < self.len() { at + 1 } else { 0 }
    }

    /// The slots from the home of `hash` onwards, each once.
    #[inline]
    fn run(&self, hash: u64) -> impl Iterator<Item = (usize, &Slot)> {
        let (before, after) = self.0.split_at(self.home(hash));
        let home = before.len();
        let wrapped = before.iter().enumerate();
        let onwards = after
            .iter()
            .enumerate()
            .map(move |(i, slot)| (home + i, slot));
        onwards.chain(wrapped)
    }

    /// The slot of a state.
    #[inline]
    pub(crate) fn find(&self, place: Place) -> Option<usize> {
        let home = self.home(place.hash);
        let (before, after) = self.0.split_at(home);
        // Nearly always the first slot or the one beside it.
        match search(after, place) {
            Search::Found(at) => Some(home + at),
            Search::Ended => None,
            Search::GoOn => match search(before, place) {
                Search::Found(at) => Some(at),
                Search::Ended | Search::GoOn => None,
            },
        }
    }

    /// The slot of a bucket, unless the search for it goes over the end.
    #[inline]
    pub(crate) fn bucket_mut(&mut self, hash: u64) -> Option<&mut Slot> {
        let home = self.home(hash);
        for slot in self.0.get_mut(home..)? {
            if slot.is_bucket(hash) {
                return Some(slot);
            }
            if slot.is_empty() {
                break;
            }
        }
        None
    }

    /// The first free slot of the search for `hash`.
    pub(crate) fn free(&self, hash: u64) -> Option<usize> {
        let free = |slot: &Slot| slot.is_empty() || slot.is_tomb();
        self.run(hash)
            .find(|(_, slot)| free(slot))
            .map(|(at, _)| at)
    }

    /// The first dead state on the way to the first free slot of the search for `hash`.
    pub(crate) fn dead(&self, hash: u64, now: Micros) -> Option<usize> {
        for (at, slot) in self.run(hash) {
            if slot.is_dead(now) {
                return Some(at);
            }
            if slot.is_empty() || slot.is_tomb() {
                return None;
            }
        }
        None
    }
}

/// Where the search for a hash begins in an array of this length: its high half as a fraction of the
/// length. The low half has chosen the region.
#[allow(clippy::cast_possible_truncation)] // below the length
#[inline]
pub(crate) const fn home(hash: u64, len: usize) -> usize {
    ((hash >> 32).wrapping_mul(len as u64) >> 32) as usize
}

enum Search {
    Found(usize),
    Ended,
    GoOn,
}

#[inline]
fn search(slots: &[Slot], place: Place) -> Search {
    for (at, slot) in slots.iter().enumerate() {
        if slot.is(place) {
            return Search::Found(at);
        }
        if slot.is_empty() {
            return Search::Ended;
        }
    }
    Search::GoOn
}

/// What `slots` slots weigh.
pub(crate) const fn bytes_of(slots: usize) -> u64 {
    (slots * size_of::<Slot>()) as u64
}
