//! The engine's file: batches into it, states out of it.

use core::fmt;
use std::path::{Path, PathBuf};

use jeton_core::{Kind, Micros, Note, Span};
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend, Table,
};

use crate::batch::{Batch, Key};
use crate::format::{
    BATCH, LATEST, META, NOTES, PARTS, SEED, STATES, migrate, number, stamp, step_back,
};
use crate::health::Trouble;
use crate::medium::Medium;
use crate::parts::{Change, Parts, is_split, split};
use crate::sweep::{Hand, Space};

/// Pages of the file that are kept in memory, in bytes.
const CACHE_BYTES: usize = 16 << 20;

/// The engine's file, open.
pub(crate) struct Engine {
    db: Database,
    file: PathBuf,
    parts: Parts,
    hand: Hand,
    batches: u64,
}

/// What a batch brings besides states.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// Notes set, or removed, in their order.
    pub(crate) notes: Vec<(Box<[u8]>, Option<Note>)>,
    /// The instant of the latest change.
    pub(crate) latest: Option<Micros>,
}

/// Shown every state, says whether to go on.
type Each<'a> = &'a mut dyn FnMut(u64, u8, &mut [u8]) -> bool;

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Engine").field(&self.file).finish()
    }
}

/// Opens a database; with `check`, every page of it is read and compared with its checksum.
pub(crate) fn database(backend: impl StorageBackend, check: bool) -> Result<Database, redb::Error> {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder.set_check_integrity_on_open(check);
    Ok(builder.create_with_backend(backend)?)
}

/// A backend in a box.
#[derive(Debug)]
pub(crate) struct Boxed(pub(crate) Box<dyn StorageBackend>);

impl StorageBackend for Boxed {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }
    fn close(&self) -> std::io::Result<()> {
        self.0.close()
    }
}

/// Makes an empty file with this seed.
pub(crate) fn make(medium: &dyn Medium, file: &Path, seed: [u8; 16]) -> Result<(), redb::Error> {
    let db = database(Boxed(medium.open(file, true)?), false)?;
    let transaction = db.begin_write()?;
    stamp(&transaction)?;
    transaction
        .open_table(META)?
        .insert(SEED, seed.as_slice())?;
    transaction.open_table(STATES)?;
    transaction.open_table(PARTS)?;
    transaction.open_table(NOTES)?;
    transaction.commit()?;
    Ok(())
}

impl Engine {
    /// Opens a file that has been read on trial, or written to before.
    pub(crate) fn open(medium: &dyn Medium, file: &Path) -> Result<Self, redb::Error> {
        let db = database(Boxed(medium.open(file, false)?), false)?;
        let mut parts = Parts::default();
        let reading = db.begin_read()?;
        for row in reading.open_table(PARTS)?.iter()? {
            let (key, bytes) = row?;
            let (hash, kind, name) = key.value();
            if let Some(kind) = Kind::from_number(kind) {
                parts.note(Key { hash, kind }, name, bytes.value());
            }
        }
        let meta = reading.open_table(META)?;
        let batches = number(&meta, BATCH)?.unwrap_or(0);
        drop(meta);
        reading.close()?;
        Ok(Self {
            batches,
            db,
            file: file.to_owned(),
            parts,
            hand: Hand::default(),
        })
    }

    /// Writes a batch, and removes some of what is over at `now`; all of it is on disk then, or none.
    /// After an error the engine is of no more use.
    pub(crate) fn commit(
        &mut self,
        batch: &Batch,
        aside: &Aside,
        now: Micros,
    ) -> Result<(), Trouble> {
        Ok(self.write(batch, aside, now)?)
    }

    fn write(&mut self, batch: &Batch, aside: &Aside, now: Micros) -> Result<(), redb::Error> {
        let transaction = self.db.begin_write()?;
        {
            let mut rows = Rows {
                states: transaction.open_table(STATES)?,
                parts: transaction.open_table(PARTS)?,
                kept: &mut self.parts,
            };
            for (key, bytes) in batch.iter() {
                rows.set(key, bytes)?;
            }
            let pace = self.hand.pace(batch.len());
            for key in self.hand.find(&rows.states, pace, now)? {
                rows.set(key, None)?;
            }
            let mut notes = transaction.open_table(NOTES)?;
            for (name, note) in &aside.notes {
                match note {
                    Some(note) => drop(notes.insert(&**name, &*note_bytes(note))?),
                    None => drop(notes.remove(&**name)?),
                }
            }
            if self.hand.is_round() {
                let over = |note: Note| !note.is_in_force(now);
                notes.retain(|_, bytes| !read_note(&[], bytes).is_some_and(over))?;
            }
            let mut meta = transaction.open_table(META)?;
            if let Some(latest) = aside.latest {
                meta.insert(LATEST, &latest.get().to_le_bytes()[..])?;
            }
            self.batches += 1;
            meta.insert(BATCH, &self.batches.to_le_bytes()[..])?;
        }
        Ok(transaction.commit()?)
    }

    /// Moves everything back with the clock, which shows `now`.
    pub(crate) fn step_back(&mut self, difference: Span, now: Micros) -> Result<(), redb::Error> {
        let kept = notes(&self.db)?.unwrap_or_default();
        let transaction = self.db.begin_write()?;
        {
            let mut states = transaction.open_table(STATES)?;
            let mut moved = Vec::new();
            for row in states.iter()? {
                let (key, bytes) = row?;
                let mut bytes = bytes.value().to_vec();
                step_back(key.value().1, &mut bytes, difference);
                moved.push((key.value(), bytes));
            }
            for (key, bytes) in moved {
                states.insert(key, &*bytes)?;
            }
            let mut notes = transaction.open_table(NOTES)?;
            for mut note in kept {
                note.until = note.until.map(|until| until.saturating_sub(difference));
                notes.insert(&*note.name, &*note_bytes(&note))?;
            }
            let mut meta = transaction.open_table(META)?;
            meta.insert(LATEST, &now.get().to_le_bytes()[..])?;
        }
        Ok(transaction.commit()?)
    }

    /// Closes the file; how many batches it holds.
    pub(crate) fn close(self) -> Result<u64, Trouble> {
        self.db.close().map_err(redb::Error::from)?;
        Ok(self.batches)
    }

    /// Brings an older file to this release's format.
    pub(crate) fn migrate(&mut self, from: u32) -> Result<(), redb::Error> {
        let transaction = self.db.begin_write()?;
        migrate(&transaction, from)?;
        Ok(transaction.commit()?)
    }

    /// Whether an idle look at some more states finds any that are over at `now`.
    pub(crate) fn has_over(&mut self, now: Micros) -> Result<bool, Trouble> {
        let look = |hand: &mut Hand, db: &Database| -> Result<bool, redb::Error> {
            let reading = db.begin_read()?;
            hand.skip_to_over(&reading.open_table(STATES)?, now)
        };
        Ok(look(&mut self.hand, &self.db)?)
    }

    /// What is kept, and what it takes up.
    pub(crate) fn space(&self) -> Result<Space, Trouble> {
        let states =
            || -> Result<u64, redb::Error> { Ok(self.db.begin_read()?.open_table(STATES)?.len()?) };
        Ok(Space {
            states: states()?,
            parts_bytes: self.parts.bytes(),
            file_bytes: std::fs::metadata(&self.file)?.len(),
        })
    }

    /// Gives room back to the file system that is no longer needed.
    pub(crate) fn compact(&mut self) -> Result<(), Trouble> {
        self.db.compact().map_err(redb::Error::from)?;
        Ok(())
    }
}

/// The states of a file that is being written to.
struct Rows<'t> {
    states: Table<'t, (u64, u8), &'static [u8]>,
    parts: Table<'t, (u64, u8, u64), &'static [u8]>,
    kept: &'t mut Parts,
}

impl Rows<'_> {
    /// Sets a state, or removes it.
    fn set(&mut self, key: Key, bytes: Option<&[u8]>) -> Result<(), redb::Error> {
        let Key { hash, kind } = key;
        let id = (hash, kind as u8);
        let split = bytes.and_then(|bytes| split(kind, bytes));
        match (&split, bytes) {
            (Some(split), _) => drop(self.states.insert(id, split.head)?),
            (None, Some(bytes)) => drop(self.states.insert(id, bytes)?),
            (None, None) => drop(self.states.remove(id)?),
        }
        if !kind.has_tail() {
            return Ok(());
        }
        for change in self.kept.become_those_of(key, split.as_ref()) {
            match change {
                Change::Put(name, bytes) => {
                    self.parts.insert((hash, kind as u8, name), bytes)?;
                }
                Change::Remove(name) => {
                    self.parts.remove((hash, kind as u8, name))?;
                }
            }
        }
        Ok(())
    }
}

/// Shows `each` every state of a file, whole; it says whether to go on.
pub(crate) fn states(db: &Database, each: Each<'_>) -> Result<(), redb::Error> {
    let reading = db.begin_read()?;
    let parts = reading.open_table(PARTS)?;

    let mut whole = Vec::new();
    for row in reading.open_table(STATES)?.iter()? {
        let (key, bytes) = row?;
        let (hash, kind) = key.value();
        whole.clear();
        whole.extend_from_slice(bytes.value());
        if is_split(&whole) {
            for part in parts.range((hash, kind, 0)..=(hash, kind, u64::MAX))? {
                whole.extend_from_slice(part?.1.value());
            }
        }
        if !each(hash, kind, &mut whole) {
            break;
        }
    }
    Ok(())
}

/// The notes of a file; none for bytes that are no note.
pub(crate) fn notes(db: &Database) -> Result<Option<Vec<Note>>, redb::Error> {
    let mut notes = Vec::new();
    for row in db.begin_read()?.open_table(NOTES)?.iter()? {
        let (name, bytes) = row?;
        match read_note(name.value(), bytes.value()) {
            Some(note) => notes.push(note),
            None => return Ok(None),
        }
    }
    Ok(Some(notes))
}

fn note_bytes(note: &Note) -> Vec<u8> {
    let until = note.until.map_or(u64::MAX, Micros::get);
    [&until.to_le_bytes(), &*note.value].concat()
}

fn read_note(name: &[u8], bytes: &[u8]) -> Option<Note> {
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
