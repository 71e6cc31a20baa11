//! Notes on disk: blocks, overrides and modes.

use jeton_core::{Micros, Note, Span};
use redb::{Database, ReadableDatabase, ReadableTable, WriteTransaction};

use crate::format::NOTES;
use crate::inner::NoteChange;

/// Brings changes of notes to the disk, in their order.
pub(crate) fn write(
    transaction: &WriteTransaction,
    changes: &[NoteChange],
) -> Result<(), redb::Error> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut notes = transaction.open_table(NOTES)?;
    for (name, note) in changes {
        match note {
            Some(note) => drop(notes.insert(&**name, &*bytes(note))?),
            None => drop(notes.remove(&**name)?),
        }
    }
    Ok(())
}

/// Removes those that are over at `now`.
pub(crate) fn sweep(transaction: &WriteTransaction, now: Micros) -> Result<(), redb::Error> {
    let over = |note: Note| !note.is_in_force(now);
    let mut notes = transaction.open_table(NOTES)?;
    notes.retain(|_, bytes| !note(&[], bytes).is_some_and(over))?;
    Ok(())
}

/// Moves them back with the clock.
pub(crate) fn step_back(
    transaction: &WriteTransaction,
    kept: Vec<Note>,
    difference: Span,
) -> Result<(), redb::Error> {
    let mut notes = transaction.open_table(NOTES)?;
    for mut note in kept {
        note.until = note.until.map(|until| until.saturating_sub(difference));
        notes.insert(&*note.name, &*bytes(&note))?;
    }
    Ok(())
}

/// The notes of a file; none for bytes that are no note.
pub(crate) fn all(db: &Database) -> Result<Option<Vec<Note>>, redb::Error> {
    let mut notes = Vec::new();
    for row in db.begin_read()?.open_table(NOTES)?.iter()? {
        let (name, bytes) = row?;
        match note(name.value(), bytes.value()) {
            Some(note) => notes.push(note),
            None => return Ok(None),
        }
    }
    Ok(Some(notes))
}

fn bytes(note: &Note) -> Vec<u8> {
    let until = note.until.map_or(u64::MAX, Micros::get);
    [&until.to_le_bytes(), &*note.value].concat()
}

fn note(name: &[u8], bytes: &[u8]) -> Option<Note> {
    let (until, value) = bytes.split_first_chunk()?;
    let until = match u64::from_le_bytes(*until) {
        u64::MAX => None,
        until if until <= Micros::HORIZON.get() => Some(Micros::stored(until)),
        _ => return None,
    };
    Some(Note {
        name: name.into(),
        value: value.into(),
        until,
    })
}
