//! The entries of logs and of holders: one contiguous row each, whose memory follows its use.
//!
//! Entries that have left are skipped by moving the start, and the row is closed up only when a
//! quarter of it is skipped and it needs the room, so that a charge costs the same however many are
//! in force: at most three entries are moved for each one appended.

use jeton_core::{Entry, TailEdit};

use crate::budget::Budget;
use crate::slot::MAX_TAILS;

/// Rows made at a time.
const ROWS_STEP: usize = 16;
/// Entries in the first allocation of a row.
const FIRST_ENTRIES: usize = 4;
/// What an allocation costs besides its bytes.
const ALLOCATION_BYTES: usize = 16;

/// One state's entries. A free row has none, and names the next free one.
#[derive(Debug, Default)]
struct Row {
    entries: Vec<Entry>,
    /// Entries at the front that have left.
    start: usize,
}

/// The rows of one region.
#[derive(Debug, Default)]
pub(crate) struct Tails {
    rows: Vec<Row>,
    free: Vec<u16>,
}

impl Tails {
    /// Opens an empty row with room for two entries; none if that is not in the budget.
    pub(crate) fn open(&mut self, budget: &Budget) -> Option<u16> {
        if self.free.is_empty() && !self.extend(budget) {
            return None;
        }
        let number = self.free.pop()?;
        if self.reserve(number, 2, budget) {
            return Some(number);
        }
        self.close(number, budget);
        None
    }

    /// What [`Tails::open`] takes from the budget.
    pub(crate) fn bytes_to_open(&self) -> u64 {
        let rows = if self.free.is_empty() {
            rows_bytes(ROWS_STEP)
        } else {
            0
        };
        rows + entries_bytes(FIRST_ENTRIES)
    }

    /// Makes more rows.
    fn extend(&mut self, budget: &Budget) -> bool {
        let first = self.rows.len();
        let last = (first + ROWS_STEP).min(usize::from(MAX_TAILS));
        if last == first || !budget.take_bytes(rows_bytes(last - first)) {
            return false;
        }
        self.rows.reserve_exact(last - first);
        self.free.reserve_exact(last - self.free.len());
        self.rows.resize_with(last, Row::default);
        let numbers = (first..last).rev().filter_map(|n| u16::try_from(n).ok());
        self.free.extend(numbers);
        true
    }

    /// Forgets a row and gives its memory back; the last one takes the rows themselves with it.
    pub(crate) fn close(&mut self, number: u16, budget: &Budget) {
        let Some(row) = self.rows.get_mut(usize::from(number)) else {
            return;
        };
        let entries = core::mem::take(row).entries;
        budget.give_bytes(entries_bytes(entries.capacity()));
        self.free.push(number);
        if self.free.len() == self.rows.len() {
            budget.give_bytes(rows_bytes(self.rows.len()));
            *self = Self::default();
        }
    }

    /// The entries of a row, those that have left excepted.
    #[inline]
    pub(crate) fn entries(&self, number: u16) -> &[Entry] {
        let row = self.rows.get(usize::from(number));
        row.and_then(|row| row.entries.get(row.start..))
            .unwrap_or_default()
    }

    /// Whether a row could take `extra` more entries, or can be made to within the budget.
    pub(crate) fn reserve(&mut self, number: u16, extra: usize, budget: &Budget) -> bool {
        let Some(row) = self.rows.get_mut(usize::from(number)) else {
            return false;
        };
        let capacity = row.entries.capacity();
        if capacity - row.entries.len() >= extra {
            return true;
        }
        if row.start >= extra && row.start >= capacity / 4 {
            row.close_up();
            return true;
        }
        let live = row.entries.len() - row.start;
        let grown = (live + extra.max(live / 2)).max(FIRST_ENTRIES);
        if grown <= capacity {
            row.close_up();
            return true;
        }
        row.grow(grown, budget)
    }

    /// Whether an edit fits the memory that a row has, once what has left makes room.
    pub(crate) fn fits(&self, number: u16, edit: &TailEdit) -> bool {
        let TailEdit::Splice {
            drop_front,
            keep,
            append,
        } = *edit
        else {
            return true;
        };
        let row = self.rows.get(usize::from(number));
        let kept = keep.saturating_sub(drop_front) as usize + append.iter().flatten().count();
        row.is_some_and(|row| kept <= row.entries.capacity())
    }

    /// Carries out an edit that [`Tails::reserve`] or [`Tails::fits`] has found room for.
    #[inline]
    pub(crate) fn apply(&mut self, number: u16, edit: &TailEdit, budget: &Budget) {
        let Some(row) = self.rows.get_mut(usize::from(number)) else {
            return;
        };
        match *edit {
            TailEdit::None => {}
            TailEdit::Splice {
                drop_front,
                keep,
                append,
            } => {
                let before = row.entries.capacity();
                row.splice(drop_front as usize, keep as usize, append);
                if row.entries.capacity() > before {
                    // Nothing reserved it; it counts all the same.
                    let more = entries_bytes(row.entries.capacity()) - entries_bytes(before);
                    budget.charge_bytes(more);
                }
                row.shrink(budget);
            }
            TailEdit::Lower { index, units } => row.lower(index as usize, units),
            TailEdit::Set { index, entry } => row.set(index as usize, entry),
            TailEdit::Remove { index } => {
                row.remove(index as usize);
                row.shrink(budget);
            }
        }
    }

    /// Sets a row to these entries; `false` if the budget does not hold them.
    pub(crate) fn fill(&mut self, number: u16, entries: &[Entry], budget: &Budget) -> bool {
        if !self.reserve(number, entries.len(), budget) {
            return false;
        }
        if let Some(row) = self.rows.get_mut(usize::from(number)) {
            row.entries.extend_from_slice(entries);
        }
        true
    }
}

impl Row {
    fn close_up(&mut self) {
        #[cfg(test)]
        tests::count_moved(self.entries.len() - self.start);
        self.entries.drain(..self.start);
        self.start = 0;
    }

    /// Moves the entries in force to a larger allocation. While they move both are there, so that both
    /// must be in the budget.
    fn grow(&mut self, capacity: usize, budget: &Budget) -> bool {
        if !budget.take_bytes(entries_bytes(capacity)) {
            return false;
        }
        #[cfg(test)]
        tests::count_moved(self.entries.len() - self.start);
        let mut entries = Vec::with_capacity(capacity);
        entries.extend_from_slice(self.entries.get(self.start..).unwrap_or_default());
        let before = core::mem::replace(&mut self.entries, entries).capacity();
        budget.give_bytes(entries_bytes(before));
        self.start = 0;
        true
    }

    #[inline]
    fn splice(&mut self, drop_front: usize, keep: usize, append: [Option<Entry>; 2]) {
        self.entries.truncate(self.start + keep);
        self.start = (self.start + drop_front).min(self.entries.len());
        let more = append.iter().flatten().count();
        if self.start == self.entries.len() || self.entries.len() + more > self.entries.capacity() {
            self.close_up();
        }
        self.entries.extend(append.into_iter().flatten());
    }

    /// Takes units from one entry, and from the running sums of it and all after it.
    fn lower(&mut self, index: usize, units: u32) {
        let from = self.start + index;
        if let Some(entry) = self.entries.get_mut(from) {
            entry.cost = entry.cost.saturating_sub(units);
        }
        for entry in self.entries.iter_mut().skip(from) {
            entry.sum = entry.sum.wrapping_sub(units);
        }
    }

    fn set(&mut self, index: usize, entry: Entry) {
        if let Some(place) = self.entries.get_mut(self.start + index) {
            *place = entry;
        }
    }

    fn remove(&mut self, index: usize) {
        let at = self.start + index;
        if at < self.entries.len() {
            self.entries.swap_remove(at);
        }
    }

    /// Gives memory back once three quarters of it are idle.
    #[inline]
    fn shrink(&mut self, budget: &Budget) {
        let live = self.entries.len() - self.start;
        if self.entries.capacity() > 4 * FIRST_ENTRIES && live * 4 < self.entries.capacity() {
            let before = self.entries.capacity();
            self.close_up();
            self.entries.shrink_to((live * 2).max(FIRST_ENTRIES));
            budget.give_bytes(entries_bytes(before) - entries_bytes(self.entries.capacity()));
        }
    }
}

const fn rows_bytes(rows: usize) -> u64 {
    (rows * (size_of::<Row>() + size_of::<u16>())) as u64
}

const fn entries_bytes(capacity: usize) -> u64 {
    match capacity {
        0 => 0,
        n => (n * size_of::<Entry>() + ALLOCATION_BYTES) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    std::thread_local! {
        /// Entries that were moved to another place.
        static MOVED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn count_moved(entries: usize) {
        MOVED.set(MOVED.get() + entries);
    }

    fn budget(bytes: u64) -> Budget {
        Budget::new(1, bytes)
    }

    /// One charge of one unit at `stamp`, after `dropped` have left.
    fn push(tails: &Tails, number: u16, stamp: u64, dropped: u32) -> TailEdit {
        let entries = tails.entries(number);
        let entry = Entry {
            stamp,
            sum: entries.last().map_or(0, |e| e.sum).wrapping_add(1),
            cost: 1,
        };
        TailEdit::Splice {
            drop_front: dropped,
            keep: u32::try_from(entries.len()).unwrap(),
            append: [Some(entry), None],
        }
    }

    #[test]
    fn a_row_edits_like_a_plain_vector() {
        let budget = budget(1 << 20);
        let mut tails = Tails::default();
        let number = tails.open(&budget).unwrap();
        let mut plain = Vec::new();
        let mut random: u64 = 1;
        for stamp in 0..20_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let len = u32::try_from(tails.entries(number).len()).unwrap();
            let some = u32::try_from(random >> 40).unwrap();
            let edit = match some % 16 {
                0 if len > 0 => TailEdit::Lower {
                    index: some / 16 % len,
                    units: 1,
                },
                15 if len > 0 => TailEdit::Remove {
                    index: some / 16 % len,
                },
                14 if len > 0 => TailEdit::Set {
                    index: some / 16 % len,
                    entry: Entry {
                        stamp,
                        sum: some,
                        cost: some % 9,
                    },
                },
                1 => TailEdit::Splice {
                    drop_front: some / 16 % (len + 1),
                    keep: some / 256 % (len + 1),
                    append: [None, None],
                },
                2..7 => push(&tails, number, stamp, some / 16 % (len + 1).min(3)),
                _ => push(&tails, number, stamp, 0),
            };
            assert!(tails.reserve(number, 1, &budget));
            edit.apply(&mut plain);
            tails.apply(number, &edit, &budget);
            assert_eq!(tails.entries(number), plain);
        }
        tails.close(number, &budget);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn memory_follows_use_both_ways() {
        let budget = budget(u64::MAX);
        let mut tails = Tails::default();
        let number = tails.open(&budget).unwrap();
        assert!(budget.bytes() < 1_000);
        for stamp in 0..70_000 {
            assert!(tails.reserve(number, 1, &budget));
            let edit = push(&tails, number, stamp, 0);
            tails.apply(number, &edit, &budget);
        }
        let full = budget.bytes();
        assert!((70_000 * 16..70_000 * 25).contains(&full), "{full}");
        // One leaves for each that comes: the row stays as it is.
        for stamp in 70_000..700_000 {
            assert!(tails.reserve(number, 1, &budget));
            let edit = push(&tails, number, stamp, 1);
            tails.apply(number, &edit, &budget);
        }
        assert!(budget.bytes() <= full * 3 / 2, "{}", budget.bytes());
        let last = push(&tails, number, 700_000, 69_999);
        assert!(tails.reserve(number, 1, &budget));
        tails.apply(number, &last, &budget);
        assert!(budget.bytes() < 1_000, "{}", budget.bytes());
    }

    #[test]
    fn f56_a_charge_moves_three_entries_at_the_most_whatever_the_limit() {
        for limit in [70, 70_000] {
            let budget = budget(u64::MAX);
            let mut tails = Tails::default();
            let number = tails.open(&budget).unwrap();
            MOVED.set(0);
            // It fills up, and then one leaves for each that comes, in tens.
            let charges = 20 * limit;
            for stamp in 0..charges {
                assert!(tails.reserve(number, 1, &budget));
                let leave = stamp >= limit && stamp % 10 == 0;
                let edit = push(&tails, number, stamp, if leave { 10 } else { 0 });
                tails.apply(number, &edit, &budget);
            }
            let moved = MOVED.get() as u64;
            assert!(moved > 0 && moved <= 3 * charges, "{moved} of {charges}");
            // Denials make room once, and then move nothing, however many they are.
            assert!(tails.reserve(number, 1, &budget));
            MOVED.set(0);
            (0..charges).for_each(|_| assert!(tails.reserve(number, 1, &budget)));
            assert_eq!(MOVED.get(), 0);
        }
    }

    #[test]
    fn memory_follows_holders_that_leave_in_any_order() {
        let budget = budget(u64::MAX);
        let mut tails = Tails::default();
        let number = tails.open(&budget).unwrap();
        for stamp in 0..50_000 {
            assert!(tails.reserve(number, 1, &budget));
            let edit = push(&tails, number, stamp, 0);
            tails.apply(number, &edit, &budget);
        }
        for left in (0..50_000).rev() {
            let index = left * 7 % (left + 1);
            tails.apply(number, &TailEdit::Remove { index }, &budget);
            assert_eq!(tails.entries(number).len(), left as usize);
        }
        assert!(budget.bytes() < 1_000, "{}", budget.bytes());
    }

    #[test]
    fn without_memory_only_what_replaces_something_fits() {
        let budget = budget(rows_bytes(ROWS_STEP) + entries_bytes(FIRST_ENTRIES));
        let mut tails = Tails::default();
        let number = tails.open(&budget).unwrap();
        for stamp in 0..4 {
            assert!(tails.reserve(number, 1, &budget));
            let edit = push(&tails, number, stamp, 0);
            tails.apply(number, &edit, &budget);
        }
        assert!(!tails.reserve(number, 1, &budget));
        assert!(!tails.fits(number, &push(&tails, number, 9, 0)));
        let edit = push(&tails, number, 9, 1);
        assert!(tails.fits(number, &edit));
        tails.apply(number, &edit, &budget);
        assert_eq!(tails.entries(number).len(), 4);
        let set = TailEdit::Set {
            index: 3,
            entry: Entry::default(),
        };
        assert!(tails.fits(number, &set) && tails.fits(number, &TailEdit::Remove { index: 0 }));
        assert_eq!(tails.open(&budget), None);
    }
}
