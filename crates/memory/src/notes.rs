//! What operators have set: a handful of notes under one lock, drawing from the table's budget.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::{Micros, Note, NoteEdit, Reading, StoreError, StoreErrorKind, Written};

use crate::budget::Budget;

/// What a note weighs besides its own bytes: two allocations and its share of a node of the map.
const NOTE_BYTES: u64 = 128;

/// There was no room; what was there stays.
const REFUSED: StoreError = StoreError {
    kind: StoreErrorKind::OutOfMemory,
    written: Written::No,
};

type Name = Box<[u8]>;

/// The notes of a table.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_name: BTreeMap<Name, Value>,
    /// The latest steady reading.
    latest: Micros,
}

#[derive(Debug)]
struct Value {
    value: Box<[u8]>,
    until: Option<Micros>,
}

impl Notes {
    /// Changes a note; whether there was one of that name.
    pub(crate) fn edit(
        &self,
        edit: NoteEdit,
        reading: Reading,
        budget: &Budget,
    ) -> Result<bool, StoreError> {
        let mut kept = self.lock();
        let now = kept.tidy(reading, budget);
        match edit {
            NoteEdit::Put(note) if note.is_in_force(now) => kept.put(note, budget),
            NoteEdit::Put(Note { name, .. }) | NoteEdit::Remove { name } => {
                Ok(kept.remove(&name, budget))
            }
        }
    }

    /// The notes in force, ordered by name.
    pub(crate) fn list(&self, reading: Reading, budget: &Budget) -> Vec<Note> {
        let mut kept = self.lock();
        kept.tidy(reading, budget);
        let note = |(name, kept): (&Name, &Value)| Note {
            name: name.clone(),
            value: kept.value.clone(),
            until: kept.until,
        };
        kept.by_name.iter().map(note).collect()
    }

    /// No step of an operation leaves notes that later ones could not go on with.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Drops what is over; the instant to go by.
    fn tidy(&mut self, reading: Reading, budget: &Budget) -> Micros {
        let now = if reading.is_steady() {
            self.latest = self.latest.max(reading.at());
            self.latest
        } else {
            reading.at()
        };
        self.by_name.retain(|name, kept| {
            let over = kept.until.is_some_and(|until| until <= now);
            if over {
                budget.give_bytes(bytes_of(name, &kept.value));
            }
            !over
        });
        now
    }

    fn put(&mut self, note: Note, budget: &Budget) -> Result<bool, StoreError> {
        let Note { name, value, until } = note;
        let before = self.by_name.get(&name);
        let before = before.map_or(0, |kept| bytes_of(&name, &kept.value));
        let after = bytes_of(&name, &value);
        if after > before && !budget.take_bytes(after - before) {
            return Err(REFUSED);
        }
        budget.give_bytes(before.saturating_sub(after));
        let replaced = self.by_name.insert(name, Value { value, until });
        Ok(replaced.is_some())
    }

    fn remove(&mut self, name: &[u8], budget: &Budget) -> bool {
        let Some(kept) = self.by_name.remove(name) else {
            return false;
        };
        budget.give_bytes(bytes_of(name, &kept.value));
        true
    }
}

fn bytes_of(name: &[u8], value: &[u8]) -> u64 {
    NOTE_BYTES + name.len() as u64 + value.len() as u64
}
