//! One part of the table under one lock: its states and their tails.

mod known;
pub(crate) mod upkeep;

use jeton_core::codec::Stored;
use jeton_core::{Cell, Entry, Micros, Reading, TailEdit, View};

use self::upkeep::slots_for;
use crate::array::{Array, bytes_of};
use crate::budget::Budget;
use crate::overflow::Shared;
use crate::slot::Slot;
use crate::tail::Tails;
use crate::{Place, Standing};

/// At how many slots an insert looks for dead states, here and in another region, when the table is
/// nearly full, and once more when it is full.
pub(crate) const SEARCH: usize = 5;

/// A state's place, and where its slot was last seen, so that it is searched for once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) place: Place,
    at: usize,
}

impl Spot {
    /// A state that has not been searched for.
    pub(crate) const fn new(place: Place) -> Self {
        Self {
            place,
            at: usize::MAX,
        }
    }
}

/// What every decision reads comes first, so that it is one cache line with the lock.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Region {
    slots: Array,
    /// The latest steady reading at which a state in here was decided about.
    latest: Micros,
    /// How many operations pass before one does upkeep.
    due: u32,
    /// Whether the last upkeep was elsewhere.
    elsewhere: bool,
    /// The array before this one, while some of it is still to be moved.
    old: Array,
    /// How much of `old` has been moved.
    moved: usize,
    /// States and claims, in both arrays.
    keys: usize,
    /// Tombs in `slots`.
    tombs: usize,
    /// Where cleaning goes on; it walks down, so that tombs before an empty slot fall in a row.
    hand: usize,
    tails: Tails,
    /// Cells for keys that found no room.
    pub(crate) shared: Option<Box<Shared>>,
    pub(crate) overflowed: u64,
    pub(crate) dropped: u64,
    /// Slots that were moved or cleaned.
    #[cfg(test)]
    pub(crate) worked: usize,
}

impl Region {
    /// The instant to decide at: not before one at which a state in here was decided about, if the
    /// clock never goes back.
    #[inline]
    pub(crate) fn not_before(&self, reading: Reading) -> Micros {
        if reading.is_steady() {
            self.latest.max(reading.at())
        } else {
            reading.at()
        }
    }

    /// The array in which states are looked for first.
    #[inline]
    pub(crate) const fn slots(&self) -> &Array {
        &self.slots
    }

    /// Remembers that a state in here is decided about at `now`.
    #[inline]
    pub(crate) fn reached(&mut self, now: Micros) {
        self.latest = now;
    }

    /// Remembers that what was over by `reading` may have been cleaned up: a thread that read a clock
    /// that never goes back before that must not go by a time at which it was not.
    pub(crate) fn cleaned(&mut self, reading: Reading) {
        if reading.is_steady() {
            self.latest = self.latest.max(reading.at());
        }
    }

    /// Whether decisions in here are made by a clock that never goes back, which stands at `now`.
    pub(crate) fn reading(&self, now: Micros) -> Reading {
        if self.latest == now {
            Reading::steady(now)
        } else {
            now.into()
        }
    }

    /// Searches for a state; one that stands in `old` is moved first.
    #[inline]
    pub(crate) fn spot(&mut self, place: Place) -> Spot {
        let mut spot = Spot::new(place);
        if let Some(at) = self.locate(&spot) {
            spot.at = at;
        }
        spot
    }

    /// The slot of a state or claim, dead or alive.
    #[inline]
    fn slot(&self, spot: &Spot) -> Option<&Slot> {
        match self.slots.get(spot.at) {
            Some(found) if found.is(spot.place) => Some(found),
            _ => self.find(spot.place),
        }
    }

    fn find(&self, place: Place) -> Option<&Slot> {
        let at = self.slots.find(place).and_then(|at| self.slots.get(at));
        if at.is_some() || self.old.len() == 0 {
            return at;
        }
        self.old.find(place).and_then(|at| self.old.get(at))
    }

    /// Where the slot stands in `slots`; one that stands in `old` is moved first.
    #[inline]
    fn locate(&mut self, spot: &Spot) -> Option<usize> {
        let seen = self.slots.get(spot.at);
        if seen.is_some_and(|found| found.is(spot.place)) {
            return Some(spot.at);
        }
        match self.slots.find(spot.place) {
            None if self.old.len() > 0 => {
                let at = self.old.find(spot.place)?;
                let found = core::mem::replace(self.old.get_mut(at)?, Slot::TOMB);
                self.settle(found)
            }
            at => at,
        }
    }

    /// Whether there is a state that would answer otherwise than an absent one.
    #[inline]
    pub(crate) fn is_alive(&self, spot: &Spot, now: Micros) -> bool {
        self.slot(spot).is_some_and(|slot| slot.is_alive(now))
    }

    /// The state.
    #[inline]
    pub(crate) fn view(&self, spot: &Spot, now: Micros) -> View<'_> {
        match self.slot(spot) {
            Some(found) if found.is_alive(now) => View {
                cell: Some(found.cell()),
                tail: found
                    .tail()
                    .map_or(&[], |number| self.tails.entries(number)),
            },
            _ => View::ABSENT,
        }
    }

    /// What stands there, dead or alive.
    #[inline]
    pub(crate) fn standing(&self, spot: &Spot) -> Option<Standing<'_>> {
        let found = self.slot(spot)?;
        let tail = found.tail();
        found.standing(tail.map_or(&[], |number| self.tails.entries(number)))
    }

    /// Marks a state that is there or has been claimed.
    #[inline]
    pub(crate) fn mark(&mut self, spot: &Spot, mark: u8) {
        let at = self.locate(spot);
        if let Some(found) = at.and_then(|at| self.slots.get_mut(at)) {
            found.set_mark(mark);
        }
    }

    /// Writes a state that is there or has been claimed.
    #[inline]
    pub(crate) fn put(
        &mut self,
        spot: &Spot,
        cell: &Cell,
        until: Micros,
        tail: &TailEdit,
        budget: &Budget,
    ) {
        if let Some(at) = self.locate(spot) {
            self.put_at(at, cell, until, tail, budget);
        }
    }

    /// Forgets a state; nothing if there is none.
    pub(crate) fn erase(&mut self, spot: &Spot, budget: &Budget) {
        if let Some(at) = self.locate(spot) {
            self.bury(at, budget);
        }
    }

    /// Claims a slot for a state that is not there, or no longer; `false` if there is no room. What
    /// is claimed must be written or given up before the lock is.
    pub(crate) fn claim(&mut self, spot: &mut Spot, now: Micros, budget: &Budget) -> bool {
        self.erase(spot, budget);
        let Some(at) = self.open(spot.place, now, budget) else {
            return false;
        };
        spot.at = at;
        if !spot.place.kind.has_tail() {
            return true;
        }
        let Some(number) = self.tails.open(budget) else {
            self.bury(at, budget);
            return false;
        };
        if let Some(slot) = self.slots.get_mut(at) {
            slot.set_tail(number);
        }
        true
    }

    /// Gives up a claim that was not written.
    pub(crate) fn release(&mut self, spot: &Spot, budget: &Budget) {
        if self.slot(spot).is_some_and(Slot::is_claimed) {
            self.erase(spot, budget);
        }
    }

    fn open(&mut self, place: Place, now: Micros, budget: &Budget) -> Option<usize> {
        self.make_way(now, budget);
        // A dead state on the way gives up its slot, and with it its part of the budget.
        if let Some(at) = self.slots.dead(place.hash, now) {
            self.bury(at, budget);
        }
        if !budget.take_key() {
            return None;
        }
        let mut at = self.make_room(place.hash, budget);
        if at.is_none() && self.clean(SEARCH, now, budget) > 0 {
            at = self.make_room(place.hash, budget);
        }
        let Some(slot) = at.and_then(|at| self.slots.get_mut(at)) else {
            budget.give_key();
            return None;
        };
        self.tombs -= usize::from(slot.is_tomb());
        *slot = Slot::claimed(place);
        self.keys += 1;
        at
    }

    /// A free slot for `hash`, in a new array if this one is full.
    fn make_room(&mut self, hash: u64, budget: &Budget) -> Option<usize> {
        let at = self.slots.free(hash);
        let tomb = at
            .and_then(|at| self.slots.get(at))
            .is_some_and(Slot::is_tomb);
        if tomb || self.keys + self.tombs < self.slots.most() {
            return at;
        }
        if !self.replace(slots_for(self.keys + 1), budget) {
            return None;
        }
        self.slots.free(hash)
    }

    /// Forgets the state in a slot.
    pub(crate) fn bury(&mut self, at: usize, budget: &Budget) {
        let next = self.slots.after(at);
        let last = self.slots.get(next).is_some_and(Slot::is_empty);
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        // Behind an empty slot no search goes on, so that none needs to pass this one.
        let free = if last { Slot::EMPTY } else { Slot::TOMB };
        let slot = core::mem::replace(slot, free);
        self.tombs += usize::from(!last);
        self.forget(slot, budget);
    }

    fn forget(&mut self, slot: Slot, budget: &Budget) {
        if let Some(number) = slot.tail() {
            self.tails.close(number, budget);
        }
        self.keys -= 1;
        budget.give_key();
    }

    /// Whether [`Region::claim`] would find room, without changing anything.
    pub(crate) fn has_room(&self, place: Place, now: Micros, budget: &Budget) -> bool {
        let dead = self.slots.dead(place.hash, now);
        let dead = dead.and_then(|at| self.slots.get(at));
        let tail = match dead {
            // Its row is used again.
            Some(dead) if dead.tail().is_some() => 0,
            _ if place.kind.has_tail() => self.tails.bytes_to_open(),
            _ => 0,
        };
        if dead.is_some() {
            return budget.has_bytes(tail);
        }
        let full = self.keys + self.tombs >= self.slots.most();
        let array = if full {
            bytes_of(slots_for(self.keys + 1))
        } else {
            0
        };
        let key = budget.has_key() || self.dead_ahead(now);
        key && budget.has_bytes(array + tail)
    }

    /// The states that are not over, each under its hash.
    pub(crate) fn held(&self, now: Micros) -> impl Iterator<Item = (u64, Stored)> {
        let slots = self.slots.iter().chain(self.old.iter());
        let alive = slots.filter(move |slot| slot.is_alive(now));
        alive.filter_map(|slot| Some((slot.hash(), self.store(slot)?)))
    }

    /// The state at a place, as it is kept outside.
    pub(crate) fn stored(&self, place: Place, now: Micros) -> Option<Stored> {
        let slot = self.find(place).filter(|slot| slot.is_alive(now))?;
        self.store(slot)
    }

    fn store(&self, slot: &Slot) -> Option<Stored> {
        let tail = slot
            .tail()
            .map_or(&[][..], |number| self.tails.entries(number));
        Some(Stored {
            kind: slot.kind()?,
            until: slot.until()?,
            cell: slot.cell(),
            tail: tail.to_vec(),
        })
    }

    /// Whether a tail can take `extra` more entries.
    pub(crate) fn reserve(&mut self, spot: &Spot, extra: usize, budget: &Budget) -> bool {
        match self.slot(spot).and_then(Slot::tail) {
            Some(number) => self.tails.reserve(number, extra, budget),
            None => true,
        }
    }

    /// The entries of a state.
    pub(crate) fn entries(&self, spot: &Spot) -> &[Entry] {
        let number = self.slot(spot).and_then(Slot::tail);
        number.map_or(&[], |number| self.tails.entries(number))
    }

    /// Whether an edit of a tail fits the memory that the tail has.
    pub(crate) fn fits(&self, spot: &Spot, edit: &TailEdit) -> bool {
        match self.slot(spot).and_then(Slot::tail) {
            Some(number) => self.tails.fits(number, edit),
            None => true,
        }
    }

    /// Sets the tail of a claimed state; `false` if the budget does not hold it.
    pub(crate) fn fill(&mut self, spot: &Spot, entries: &[Entry], budget: &Budget) -> bool {
        match self.slot(spot).and_then(Slot::tail) {
            Some(number) => self.tails.fill(number, entries, budget),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests;
