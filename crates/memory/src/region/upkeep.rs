//! The upkeep of a region: moving to another array, and cleaning.
//!
//! Nothing here waits for a timer or a sweeper. A state is dead from its `until` on; its slot is
//! used again by an insert that searches past it, or emptied by the cleaning that rides on
//! operations. An array that has grown full (or idle) is replaced: new states go to the new array,
//! each operation moves a stride of the old one, and searches look at both until the old one is
//! empty.
//!
//! A decision on one key moves and cleans at most 64 slots, and each further key of a plan
//! adds less than that. An array is moved before the next one is due, whatever comes: each insert moves
//! [`INSERT_STRIDE`] slots of the old array, which has at most so many times the slots that the new
//! one has free when it is made.

use jeton_core::Micros;

use super::{Region, SEARCH};
use crate::array::{Array, bytes_of};
use crate::budget::Budget;
use crate::slot::Slot;

/// How many slots an operation moves.
const STRIDE: usize = 16;
/// How many slots an insert moves besides.
const INSERT_STRIDE: usize = 8;
/// An operation in so many tidies up: here, and in another region, in turn.
const TIDY_EVERY: u32 = 32;
/// How many slots are cleaned then.
const TIDY: usize = 8;
/// The smallest array.
const LEAST_SLOTS: usize = 8;
/// What a decision on one key moves and cleans at the most: a stride here or elsewhere, twice what an
/// insert moves, and six searches for dead states.
#[cfg(test)]
pub(crate) const MOST_SLOTS: usize = 64;
const _: () = assert!(STRIDE + 2 * INSERT_STRIDE + 6 * super::SEARCH <= 64);

impl Region {
    /// Counts an operation; whether it is one that carries [`Region::upkeep`].
    #[inline]
    pub(crate) const fn is_due(&mut self) -> bool {
        match self.due.checked_sub(1) {
            Some(due) => {
                self.due = due;
                false
            }
            None => true,
        }
    }

    /// The share of the upkeep that an operation carries; whether it is to tidy another region up.
    pub(crate) fn upkeep(&mut self, now: Micros, budget: &Budget) -> bool {
        if self.old.len() > 0 {
            self.move_some(STRIDE, now, budget);
            return false;
        }
        self.due = TIDY_EVERY - 1;
        self.elsewhere = !self.elsewhere;
        if !self.elsewhere {
            self.tidy(now, budget);
        }
        self.elsewhere
    }

    /// Cleans a little, and gives memory back that is no longer used.
    pub(crate) fn tidy(&mut self, now: Micros, budget: &Budget) {
        if self.old.len() > 0 {
            return self.move_some(STRIDE, now, budget);
        }
        self.clean(TIDY, now, budget);
        let shared = self.shared.as_ref();
        if shared.is_some_and(|shared| shared.is_idle(now)) {
            self.shared = None;
        }
        if self.slots.len() > LEAST_SLOTS && self.keys * 4 < self.slots.len() {
            // By halves, so that the smaller array does not fill up before this one is moved. Without
            // room for it the larger one stays: nothing is lost.
            let half = even(self.slots.len() / 2);
            self.replace(half.max(slots_for(self.keys)), budget);
        }
    }

    /// Starts moving to an array of `len` slots; `false` if the budget does not hold it.
    pub(super) fn replace(&mut self, len: usize, budget: &Budget) -> bool {
        // By then the one before has been moved: see above.
        if self.old.len() > 0 || !budget.take_bytes(bytes_of(len)) {
            return false;
        }
        self.old = core::mem::replace(&mut self.slots, Array::new(len));
        (self.moved, self.tombs, self.hand, self.due) = (0, 0, 0, 0);
        true
    }

    /// Moves a little for an insert.
    #[inline]
    pub(super) fn make_way(&mut self, now: Micros, budget: &Budget) {
        if self.old.len() > 0 {
            self.move_some(INSERT_STRIDE, now, budget);
        }
    }

    /// Moves on with `most` slots of the old array; its dead are left behind.
    fn move_some(&mut self, most: usize, now: Micros, budget: &Budget) {
        let end = self.moved.saturating_add(most).min(self.old.len());
        #[cfg(test)]
        {
            self.worked += end - self.moved;
        }
        for at in self.moved..end {
            let Some(slot) = self.old.get_mut(at) else {
                break;
            };
            if slot.is_empty() || slot.is_tomb() {
                continue;
            }
            let slot = core::mem::replace(slot, Slot::TOMB);
            if slot.is_dead(now) {
                self.forget(slot, budget);
            } else {
                self.settle(slot);
            }
        }
        self.moved = end;
        if end == self.old.len() {
            budget.give_bytes(self.old.bytes());
            self.old = Array::default();
        }
    }

    /// Puts a slot from the old array into the new one, which was made with room for it.
    pub(super) fn settle(&mut self, slot: Slot) -> Option<usize> {
        let at = self.slots.free(slot.hash())?;
        let target = self.slots.get_mut(at)?;
        self.tombs -= usize::from(target.is_tomb());
        *target = slot;
        Some(at)
    }

    /// Looks at `most` slots and buries the dead among them; how many it buried.
    pub(crate) fn clean(&mut self, most: usize, now: Micros, budget: &Budget) -> usize {
        let mut buried = 0;
        #[cfg(test)]
        {
            self.worked += most.min(self.slots.len());
        }
        for _ in 0..most.min(self.slots.len()) {
            let at = match self.hand {
                0 => self.slots.len() - 1,
                hand => hand - 1,
            };
            self.hand = at;
            let next = self.slots.after(at);
            let last = self.slots.get(next).is_some_and(Slot::is_empty);
            let Some(slot) = self.slots.get_mut(at) else {
                break;
            };
            if slot.is_dead(now) {
                self.bury(at, budget);
                buried += 1;
            } else if last && slot.is_tomb() {
                *slot = Slot::EMPTY;
                self.tombs -= 1;
            }
        }
        buried
    }

    /// Whether cleaning for an insert would bury anything.
    pub(super) fn dead_ahead(&self, now: Micros) -> bool {
        let below = (0..self.hand).rev();
        let above = (self.hand..self.slots.len()).rev();
        let dead = |at| self.slots.get(at).is_some_and(|slot| slot.is_dead(now));
        below.chain(above).take(SEARCH).any(dead)
    }
}

/// The slots in which `keys` keys fill not quite two thirds: a quarter more fit before the next
/// array is due.
pub(super) fn slots_for(keys: usize) -> usize {
    even((keys * 25).div_ceil(16))
}

fn even(slots: usize) -> usize {
    slots.max(LEAST_SLOTS).next_multiple_of(2)
}
