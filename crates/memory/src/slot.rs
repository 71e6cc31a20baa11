//! One state in 32 bytes, two to a cache line and none across one.
//!
//! ```text
//! hash   64 bits
//! low    64 bits of the words
//! at     52 bits | state 2 | kind 3 | mark 2
//! until  52 bits | high 12 bits of the words, or the number of the tail
//! ```
//!
//! Words are packed by kind: a counter's three are below 2^25 each (its limit is at most 3 * 10^7),
//! every other kind has two.

use jeton_core::{Cell, Entry, Kind, Micros};

use crate::{MAX_MARK, Place, Standing};

const INSTANT: u64 = (1 << 52) - 1;
const COUNTER_WORD: u32 = (1 << 25) - 1;

const STATE_SHIFT: u32 = 52;
const KIND_SHIFT: u32 = 54;
const MARK_SHIFT: u32 = 57;

const KIND: u64 = 0b111;
/// State and kind, but for what tells a claim from a state.
const TAG: u64 = 0b1_1110;

const EMPTY: u64 = 0;
const TOMB: u64 = 1;
const FULL: u64 = 2;
const CLAIMED: u64 = 3;

const KINDS: [Kind; 7] = [
    Kind::Bucket,
    Kind::FixedEpoch,
    Kind::FixedFirst,
    Kind::Counter,
    Kind::Log,
    Kind::Concurrency,
    Kind::Ticket,
];

/// The most tails that slots can name.
pub(crate) const MAX_TAILS: u16 = (1 << 12) - 1;

/// A place for one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(32))]
pub(crate) struct Slot {
    hash: u64,
    low: u64,
    at: u64,
    until: u64,
}

impl Slot {
    /// Never used since the array was made; ends a search.
    pub(crate) const EMPTY: Self = Self {
        hash: 0,
        low: 0,
        at: EMPTY,
        until: 0,
    };

    /// Free again, but a search goes on behind it.
    pub(crate) const TOMB: Self = Self {
        hash: 0,
        low: 0,
        at: TOMB << STATE_SHIFT,
        until: 0,
    };

    /// Taken for a state that is about to be written.
    pub(crate) const fn claimed(place: Place) -> Self {
        Self {
            hash: place.hash,
            low: 0,
            at: CLAIMED << STATE_SHIFT | (place.kind as u64) << KIND_SHIFT,
            until: 0,
        }
    }

    const fn state(&self) -> u64 {
        self.at >> STATE_SHIFT & 0b11
    }

    /// Whether it holds, or is claimed for, the state at `place`.
    #[inline]
    pub(crate) const fn is(&self, place: Place) -> bool {
        let tag = FULL | (place.kind as u64) << (KIND_SHIFT - STATE_SHIFT);
        self.hash == place.hash && (self.at >> STATE_SHIFT) & TAG == tag
    }

    /// Whether it holds a bucket under `hash`.
    #[inline]
    pub(crate) const fn is_bucket(&self, hash: u64) -> bool {
        const BUCKET: u64 = FULL | (Kind::Bucket as u64) << (KIND_SHIFT - STATE_SHIFT);
        self.hash == hash && self.at >> STATE_SHIFT & (TAG | 1) == BUCKET
    }

    /// The state of a slot that holds a bucket: no other kind's packing has to be thought of.
    #[allow(clippy::cast_possible_truncation)] // taking numbers apart is the purpose
    #[inline]
    pub(crate) const fn bucket(&self) -> Cell {
        Cell {
            at: Micros::stored(self.at & INSTANT),
            words: [self.low as u32, (self.low >> 32) as u32, 0],
        }
    }

    /// Writes a charge to a bucket. The kind, the hash and the mark stay.
    #[inline]
    pub(crate) const fn charge_bucket(&mut self, cell: &Cell, until: Micros) {
        let [part, owed, _] = cell.words;
        self.low = part as u64 | (owed as u64) << 32;
        self.at = self.at & !INSTANT | within(cell.at);
        self.until = within(until);
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.at == EMPTY
    }

    pub(crate) const fn is_tomb(&self) -> bool {
        self.state() == TOMB
    }

    pub(crate) const fn is_claimed(&self) -> bool {
        self.state() == CLAIMED
    }

    /// Whether it holds a state that would still answer otherwise than an absent one.
    #[inline]
    pub(crate) const fn is_alive(&self, now: Micros) -> bool {
        self.state() == FULL && self.until & INSTANT > now.get()
    }

    /// Whether it holds a state that may vanish.
    #[inline]
    pub(crate) const fn is_dead(&self, now: Micros) -> bool {
        self.state() == FULL && self.until & INSTANT <= now.get()
    }

    const fn is_counter(&self) -> bool {
        self.at >> KIND_SHIFT & KIND == Kind::Counter as u64
    }

    /// The instant from which on it may vanish, if it holds a state.
    #[inline]
    pub(crate) const fn until(&self) -> Option<Micros> {
        if self.state() == FULL {
            Some(Micros::stored(self.until & INSTANT))
        } else {
            None
        }
    }

    /// What stands in it, with the entries of its tail.
    #[inline]
    pub(crate) fn standing<'a>(&self, tail: &'a [Entry]) -> Option<Standing<'a>> {
        Some(Standing {
            cell: self.cell(),
            tail,
            until: self.until()?,
            mark: self.mark(),
        })
    }

    /// What a journal has marked it with.
    #[allow(clippy::cast_possible_truncation)] // masked
    #[inline]
    pub(crate) const fn mark(&self) -> u8 {
        (self.at >> MARK_SHIFT) as u8 & MAX_MARK
    }

    #[inline]
    pub(crate) const fn set_mark(&mut self, mark: u8) {
        let kept = self.at & !((MAX_MARK as u64) << MARK_SHIFT);
        self.at = kept | ((mark & MAX_MARK) as u64) << MARK_SHIFT;
    }

    /// What kind of state it holds.
    pub(crate) fn kind(&self) -> Option<Kind> {
        let number = self.at >> KIND_SHIFT & KIND;
        KINDS.into_iter().find(|kind| *kind as u64 == number)
    }

    /// The hash it was written under.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The number of its tail, if it has one.
    #[allow(clippy::cast_possible_truncation)] // 12 bits
    #[inline]
    pub(crate) const fn tail(&self) -> Option<u16> {
        if self.is_counter() {
            return None;
        }
        match (self.until >> 52) as u16 {
            0 => None,
            number => Some(number - 1),
        }
    }

    /// Names its tail, which is below [`MAX_TAILS`].
    pub(crate) const fn set_tail(&mut self, tail: u16) {
        self.until = self.until & INSTANT | (tail as u64 + 1) << 52;
    }

    /// The state it holds.
    #[allow(clippy::cast_possible_truncation)] // taking numbers apart is the purpose
    #[inline]
    pub(crate) const fn cell(&self) -> Cell {
        let words = if self.is_counter() {
            let third = self.low >> 50 | (self.until >> 52) << 14;
            [
                self.low as u32 & COUNTER_WORD,
                (self.low >> 25) as u32 & COUNTER_WORD,
                third as u32,
            ]
        } else {
            [self.low as u32, (self.low >> 32) as u32, 0]
        };
        Cell {
            at: Micros::stored(self.at & INSTANT),
            words,
        }
    }

    /// Writes a state. The kind, the hash, the mark and the tail stay.
    #[inline]
    pub(crate) fn write(&mut self, cell: &Cell, until: Micros) {
        let [a, b, c] = cell.words;
        let high = if self.is_counter() {
            let [a, b, c] = [a, b, c].map(|word| u64::from(word.min(COUNTER_WORD)));
            self.low = a | b << 25 | c << 50;
            c >> 14
        } else {
            self.low = u64::from(a) | u64::from(b) << 32;
            self.until >> 52
        };
        let kind_and_mark = self.at >> KIND_SHIFT;
        self.at = within(cell.at) | FULL << STATE_SHIFT | kind_and_mark << KIND_SHIFT;
        self.until = within(until) | high << 52;
    }
}

/// An instant in its bits.
#[inline]
const fn within(instant: Micros) -> u64 {
    if instant.get() > INSTANT {
        INSTANT
    } else {
        instant.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::RuleId;

    fn place(kind: Kind) -> Place {
        Place {
            rule: RuleId::new(1),
            kind,
            hash: 0xfeed_beef_dead_cafe,
        }
    }

    #[test]
    fn a_slot_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 32);
        assert_eq!(align_of::<Slot>(), 32);
    }

    #[test]
    fn every_kind_reads_back_to_the_last_bit() {
        let until = Micros::stored(INSTANT);
        for kind in KINDS {
            for words in [
                [0, 0, 0],
                [1, 2, 3],
                [30_000_000, 29_999_999, 29_999_998],
                [u32::MAX; 3],
            ] {
                let words = if kind == Kind::Counter {
                    words.map(|w| w.min(COUNTER_WORD))
                } else {
                    [words[0], words[1], 0]
                };
                let cell = Cell {
                    at: Micros::stored(INSTANT - 1),
                    words,
                };
                let mut slot = Slot::claimed(place(kind));
                if kind.has_tail() {
                    slot.set_tail(MAX_TAILS - 1);
                }
                assert_eq!(slot.until(), None);
                slot.set_mark(MAX_MARK);
                slot.write(&cell, until);
                assert_eq!(slot.cell(), cell, "{kind:?}");
                assert_eq!((slot.mark(), slot.until()), (MAX_MARK, Some(until)));
                assert_eq!(slot.kind(), Some(kind));
                assert!(slot.is(place(kind)));
                slot.set_mark(0);
                assert_eq!((slot.mark(), slot.cell()), (0, cell));
                assert_eq!(slot.tail(), kind.has_tail().then_some(MAX_TAILS - 1));
                assert!(slot.is(place(kind)));
                assert!(slot.is_alive(Micros::stored(INSTANT - 1)) && slot.is_dead(until));
            }
        }
    }

    #[test]
    fn kinds_with_one_hash_do_not_meet() {
        for a in KINDS {
            for b in KINDS {
                assert_eq!(Slot::claimed(place(a)).is(place(b)), a == b);
            }
        }
        assert!(!Slot::EMPTY.is(place(Kind::Bucket)) && !Slot::TOMB.is(place(Kind::Bucket)));
    }

    #[test]
    fn an_instant_at_the_horizon_is_clipped_into_the_slot() {
        let mut slot = Slot::claimed(place(Kind::Bucket));
        let cell = Cell {
            at: Micros::HORIZON,
            words: [0; 3],
        };
        slot.write(&cell, Micros::HORIZON);
        assert_eq!(slot.cell().at.get(), INSTANT);
        assert!(slot.is(place(Kind::Bucket)) && slot.is_alive(Micros::MAX));
    }
}
