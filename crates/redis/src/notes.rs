//! Notes: one hash under the prefix, changed and listed by a script of its own.

use jeton_core::{Micros, Note, NoteEdit, StoreError, StoreErrorKind, When, Written};
use redis::Value;
use tokio::time::Instant;

use crate::line::{Call, Line};
use crate::reply::BAD_ANSWER;
use crate::request::clock;
use crate::script::NOTES;

/// The most notes there may be.
const MOST_NOTES: &[u8] = b"65536";
/// What stands for an end that a note does not have.
const NO_END: u64 = u64::MAX;

/// Changes a note; whether there was one in force.
pub(crate) async fn change(
    line: Line,
    key: Vec<u8>,
    edit: NoteEdit,
    when: When,
    deadline: Instant,
) -> Result<bool, StoreError> {
    let clock = clock(when);
    let until;
    let arguments: Vec<&[u8]> = match &edit {
        NoteEdit::Put(note) => {
            until = note.until.map_or(NO_END, Micros::get).to_le_bytes();
            vec![&clock, b"put", &note.name, &until, &note.value, MOST_NOTES]
        }
        NoteEdit::Remove { name } => vec![&clock, b"remove", name],
    };
    let call = Call {
        script: &NOTES,
        keys: vec![&key],
        arguments,
    };
    match line.call(&call, deadline).await? {
        Value::Int(was @ 0..=1) => Ok(was == 1),
        Value::Int(_) => Err(StoreError {
            kind: StoreErrorKind::OutOfMemory,
            written: Written::No,
        }),
        _ => Err(BAD_ANSWER),
    }
}

/// The notes in force, ordered by name.
pub(crate) async fn list(
    line: Line,
    key: Vec<u8>,
    when: When,
    deadline: Instant,
) -> Result<Vec<Note>, StoreError> {
    let clock = clock(when);
    let call = Call {
        script: &NOTES,
        keys: vec![&key],
        arguments: vec![&clock, b"list"],
    };
    let Value::Array(listed) = line.call(&call, deadline).await? else {
        return Err(BAD_ANSWER);
    };
    let pairs = listed.chunks_exact(2);
    let notes: Option<Vec<Note>> = pairs.map(|pair| read(&pair[0], &pair[1])).collect();
    let mut notes = notes.ok_or(BAD_ANSWER)?;
    notes.sort_unstable();
    Ok(notes)
}

fn read(name: &Value, note: &Value) -> Option<Note> {
    let (Value::BulkString(name), Value::BulkString(note)) = (name, note) else {
        return None;
    };
    let (until, value) = note.split_first_chunk()?;
    let until = u64::from_le_bytes(*until);
    Some(Note {
        name: name.as_slice().into(),
        value: value.into(),
        until: (until != NO_END).then(|| Micros::stored(until)),
    })
}
