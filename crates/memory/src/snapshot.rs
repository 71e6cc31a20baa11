//! The states of a table while it goes on deciding: one region is copied at a time, under its own lock.

use std::vec;

use jeton_core::Micros;
use jeton_core::codec::Stored;

use crate::{Place, Table};

/// A state that a table held when its region was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The keyed hash of rule, key and kind: see [`Place::hash`].
    pub hash: u64,
    /// The state.
    pub state: Stored,
}

/// The states of a table, region by region: see [`Table::snapshot`].
#[derive(Debug)]
pub struct Snapshot<'t> {
    table: &'t Table,
    now: Micros,
    /// The region that is next to be looked at.
    next: usize,
    held: vec::IntoIter<Held>,
}

impl Iterator for Snapshot<'_> {
    type Item = Held;

    fn next(&mut self) -> Option<Held> {
        loop {
            if let Some(held) = self.held.next() {
                return Some(held);
            }
            if self.next == self.table.regions() {
                return None;
            }
            let mut held = Vec::new();
            self.table.held(self.next, self.now, &mut held);
            self.held = held.into_iter();
            self.next += 1;
        }
    }
}

impl Table {
    /// The states that are not over at `now`. No lock is held between two regions, so each state is
    /// as it was at some instant of the iteration, and what several states say together (the two
    /// charges of one plan) may be of different instants.
    ///
    /// ```
    /// use jeton_core::{Cost, Micros, Quota, RuleId, Span};
    /// use jeton_memory::{Settings, Table};
    /// let table = Table::new(&Settings::default())?;
    /// let quota = Quota::sliding_log(5, Span::SECOND)?;
    /// table.take(RuleId::new(1), b"alice", &quota, Cost::ONE, Micros::new(7));
    /// let held: Vec<_> = table.snapshot(Micros::new(8)).collect();
    /// assert_eq!((held.len(), held[0].state.tail.len()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self, now: Micros) -> Snapshot<'_> {
        Snapshot {
            table: self,
            now,
            next: 0,
            held: Vec::new().into_iter(),
        }
    }

    /// How many regions there are: parts of the table under one lock each.
    pub fn regions(&self) -> usize {
        self.region_count()
    }

    /// The state at `place`, if there is one that is not over at `now`.
    pub fn get(&self, place: Place, now: Micros) -> Option<Stored> {
        self.lock(self.region_of(place)).stored(place, now)
    }

    /// Appends the states of one region that are not over at `now`.
    pub(crate) fn held(&self, region: usize, now: Micros, into: &mut Vec<Held>) {
        let region = self.lock(region);
        into.extend(region.held(now).map(|(hash, state)| Held { hash, state }));
    }
}
