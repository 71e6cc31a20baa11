//! Where a limiter stands: a cell of fixed size, and for logs and concurrency a tail of entries.

use crate::Micros;

/// A small state: one instant and three words, whose meaning the [`Kind`](crate::Kind) gives.
///
/// | kind | `at` | `words` |
/// |---|---|---|
/// | bucket | anchor, whole µs | n-ths of a µs, units owed, 0 |
/// | fixed window | end | count, debt, 0 |
/// | counter | start | previous, current, debt |
/// | log | newest write | raw stamp of the same instant (low, high), 0 |
/// | concurrency | newest write | raw time of the same instant (low, high), 0 |
/// | ticket | end | 0 open or 1 settled, units it was settled at, 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Cell {
    /// The instant of the state.
    pub at: Micros,
    /// Its numbers.
    pub words: [u32; 3],
}

impl Cell {
    /// Two words as one number.
    pub(crate) const fn wide(low: u32, high: u32) -> u64 {
        low as u64 | (high as u64) << 32
    }

    /// One number as two words: low, high.
    #[allow(clippy::cast_possible_truncation)] // splitting is the purpose
    pub(crate) const fn split(number: u64) -> (u32, u32) {
        (number as u32, (number >> 32) as u32)
    }
}

/// One stamp of a log with the units charged at it, or one holder with its units.
///
/// Stamps are raw: they never move. The head says how far raw time is ahead of real time, so that
/// a clock that steps back moves all stamps with one write, and a receipt keeps naming its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Entry {
    /// Raw stamp in µs; of a holder, the end of its lease.
    pub stamp: u64,
    /// Units of this and all earlier entries, modulo 2^32: a difference of two is exact, since no
    /// log ever holds that many. Of a holder, its id.
    pub sum: u32,
    /// Units of this entry.
    pub cost: u32,
}

impl Entry {
    /// The running sum before this entry.
    #[inline]
    pub(crate) const fn base(&self) -> u32 {
        self.sum.wrapping_sub(self.cost)
    }
}

/// What a decision sees of one state.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// The state, if there is one.
    pub cell: Option<Cell>,
    /// A log's entries in order of their stamps, or holders in any order; else empty.
    pub tail: &'a [Entry],
}

impl View<'_> {
    /// A key never seen.
    pub const ABSENT: Self = Self {
        cell: None,
        tail: &[],
    };
}

/// How the tail changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TailEdit {
    /// Not at all.
    #[default]
    None,
    /// Keep the first `keep` entries, of which `drop_front` may be forgotten, and append.
    Splice {
        /// Entries at the front that are out of force.
        drop_front: u32,
        /// Entries that stay, counted from the front before anything is dropped.
        keep: u32,
        /// At most two entries to append; the second may be a debt.
        append: [Option<Entry>; 2],
    },
    /// Take `units` from the cost of one entry, and from its sum and all later ones.
    Lower {
        /// Which entry.
        index: u32,
        /// How many units.
        units: u32,
    },
    /// Put `entry` in the place of another.
    Set {
        /// Which one.
        index: u32,
        /// What stands there from now on.
        entry: Entry,
    },
    /// Remove one entry and put the last one in its place.
    Remove {
        /// Which one.
        index: u32,
    },
}

impl TailEdit {
    /// Carries the edit out on a plain vector: what every store does in its own way.
    pub fn apply(&self, tail: &mut alloc::vec::Vec<Entry>) {
        match *self {
            Self::None => {}
            Self::Splice {
                drop_front,
                keep,
                append,
            } => {
                tail.truncate(keep as usize);
                tail.drain(..(drop_front as usize).min(tail.len()));
                tail.extend(append.into_iter().flatten());
            }
            Self::Lower { index, units } => {
                for (i, entry) in tail.iter_mut().enumerate().skip(index as usize) {
                    entry.sum = entry.sum.wrapping_sub(units);
                    if i == index as usize {
                        entry.cost = entry.cost.saturating_sub(units);
                    }
                }
            }
            Self::Set { index, entry } => {
                if let Some(place) = tail.get_mut(index as usize) {
                    *place = entry;
                }
            }
            Self::Remove { index } => {
                if (index as usize) < tail.len() {
                    tail.swap_remove(index as usize);
                }
            }
        }
    }
}

/// What a store has to do with a state after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    /// Nothing.
    Keep,
    /// Write.
    Put {
        /// The new state.
        cell: Cell,
        /// From this instant on it would answer as if absent, and may vanish.
        until: Micros,
        /// What happens to the tail.
        tail: TailEdit,
    },
    /// Forget it; an absent state answers the same.
    Erase,
}

/// A decision and what it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The answer.
    pub decision: crate::Decision,
    /// The change.
    pub edit: Edit,
}
