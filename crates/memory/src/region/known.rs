//! States that are where they are looked for first, and stay there: nothing is moved or made room for.

use jeton_core::{Bucket, Cell, Cost, Decision, Micros, TailEdit, View};

use super::Region;
use crate::budget::Budget;
use crate::slot::Slot;
use crate::{Journal, Place};

/// A slot that was found, and whether the state in it still answers otherwise than an absent one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) at: usize,
    pub(crate) is_alive: bool,
}

impl Region {
    /// The slot of a state that is alive and has room for `more` entries, or that is over and can be
    /// written again as it is; nearly always the one that is asked for.
    #[inline]
    pub(crate) fn known(
        &mut self,
        place: Place,
        more: usize,
        now: Micros,
        budget: &Budget,
    ) -> Option<Known> {
        let at = self.slots.find(place)?;
        let slot = self.slots.get(at)?;
        let is_alive = slot.is_alive(now);
        let usable = match (slot.tail(), is_alive) {
            (None, true) => true,
            // What keys without room have shared must not be forgotten.
            (None, false) => self.shared.is_none(),
            (Some(number), true) => more == 0 || self.tails.reserve(number, more, budget),
            (Some(_), false) => false,
        };
        usable.then_some(Known { at, is_alive })
    }

    /// Takes from a bucket whose slot is there, if that is quickly done.
    #[allow(clippy::inline_always)] // see `Table::single`
    #[inline(always)]
    pub(crate) fn take_quickly<J: Journal>(
        &mut self,
        place: Place,
        bucket: &Bucket,
        cost: Cost,
        now: Micros,
        journal: &mut J,
    ) -> Option<Decision> {
        let slot = self.slots.bucket_mut(place.hash)?;
        let before = if slot.is_alive(now) {
            Some(slot.bucket())
        } else if self.shared.is_none() {
            None
        } else {
            // What keys without room have shared must not be forgotten.
            return None;
        };
        bucket.take_quickly(before, cost, now, |charged| {
            if J::HEARS {
                slot.set_mark(journal.changes(place, slot.standing(&[])));
            }
            slot.charge_bucket(&charged.cell, charged.until);
        })
    }

    /// Whether the entries of the state in a slot can become `more`. They may be moved, and stay in order.
    #[inline]
    pub(crate) fn reserve_at(&mut self, at: usize, more: usize, budget: &Budget) -> bool {
        match self.slots.get(at).and_then(Slot::tail) {
            Some(number) if more > 0 => self.tails.reserve(number, more, budget),
            _ => true,
        }
    }

    /// Tells `journal` that the state in a slot is about to change, and marks it as it says.
    #[inline]
    pub(crate) fn tell_at<J: Journal>(&mut self, at: usize, place: Place, journal: &mut J) {
        if J::HEARS
            && let Some(slot) = self.slots.get_mut(at)
        {
            let tail = slot.tail();
            let tail = tail.map_or(&[][..], |number| self.tails.entries(number));
            slot.set_mark(journal.changes(place, slot.standing(tail)));
        }
    }

    /// The state in a slot that was found by [`Region::known`].
    #[inline]
    pub(crate) fn view_at(&self, known: Known) -> View<'_> {
        match self.slots.get(known.at) {
            Some(slot) if known.is_alive => View {
                cell: Some(slot.cell()),
                tail: slot.tail().map_or(&[], |number| self.tails.entries(number)),
            },
            _ => View::ABSENT,
        }
    }

    /// Writes a state to its slot.
    #[inline]
    pub(crate) fn put_at(
        &mut self,
        at: usize,
        cell: &Cell,
        until: Micros,
        tail: &TailEdit,
        budget: &Budget,
    ) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        slot.write(cell, until);
        if let (Some(number), true) = (slot.tail(), *tail != TailEdit::None) {
            self.tails.apply(number, tail, budget);
        }
    }
}
