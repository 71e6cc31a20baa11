//! The engine's file: batches into it, states out of it.

use core::fmt;
use std::path::{Path, PathBuf};

use jeton_core::{Kind, Micros, Span};
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageBackend,
    WriteTransaction,
};

use crate::batch::{Batch, Key};
use crate::format::{
    BATCH, JOURNAL, LATEST, META, NOTES, PARTS, SEED, STATES, migrate, number, stamp, step_back,
};
use crate::health::Trouble;
use crate::inner::NoteChange;
use crate::journal::Journal;
use crate::medium::Medium;
use crate::notes;
use crate::parts::{Parts, is_long, is_split};
use crate::places::Places;
use crate::row::{Row, Word};
use crate::sweep::{Hand, Space};

/// Pages of the file that are kept in memory, in bytes.
const CACHE_BYTES: usize = 16 << 20;

/// The engine's file, open.
pub(crate) struct Engine {
    db: Database,
    file: PathBuf,
    parts: Parts,
    journal: Journal,
    /// So much of the journal stays.
    journal_bytes: usize,
    hand: Hand,
    batches: u64,
    /// The instant of the latest change.
    latest: Micros,
}

/// What a batch brings besides states.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    /// Notes set, or removed, in their order.
    pub(crate) notes: Vec<NoteChange>,
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
    transaction.open_table(JOURNAL)?;
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
        let journal = Journal::read(&reading.open_table(JOURNAL)?)?;
        let meta = reading.open_table(META)?;
        let (batches, latest) = (number(&meta, BATCH)?, number(&meta, LATEST)?);
        drop(meta);
        reading.close()?;
        Ok(Self {
            batches: journal.last().max(batches).unwrap_or(0),
            latest: journal
                .latest()
                .unwrap_or(Micros::stored(latest.unwrap_or(0))),
            db,
            file: file.to_owned(),
            parts,
            journal,
            journal_bytes: medium.journal_bytes(),
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
        self.batches += 1;
        self.latest = aside.latest.unwrap_or(self.latest);
        self.hand.owe(batch.len());
        let apart = |&(key, bytes): &(Key, Option<&[u8]>)| {
            bytes.is_some_and(is_long) || self.parts.has(key)
        };
        let (apart, rest): (Vec<_>, Vec<_>) = batch.iter().partition(apart);
        if Journal::takes(&rest) {
            self.note_down(&transaction, &apart, &rest)?;
        } else {
            self.move_all(&transaction)?;
            let mut places = Places::open(&transaction, &mut self.parts)?;
            for (key, bytes) in batch.iter() {
                places.set(key, bytes)?;
            }
        }
        if self.hand.is_due() {
            self.sweep(&transaction, now)?;
        }
        notes::write(&transaction, &aside.notes)?;
        Ok(transaction.commit()?)
    }

    /// Writes a row of the journal; states with parts go to their places at once.
    fn note_down(
        &mut self,
        transaction: &WriteTransaction,
        apart: &[(Key, Option<&[u8]>)],
        rest: &[(Key, Option<&[u8]>)],
    ) -> Result<(), redb::Error> {
        let mut row = Row::new(self.latest);
        let gone_ahead = apart.iter().map(|&(key, _)| (key, Word::InPlace));
        let word = |&(key, bytes): &(Key, Option<_>)| (key, bytes.map_or(Word::Removed, Word::Put));
        for (key, word) in gone_ahead.chain(rest.iter().map(word)) {
            row.add(key, word);
            self.journal.hear(key, word);
        }
        let mut rows = transaction.open_table(JOURNAL)?;
        rows.insert(self.batches, row.bytes())?;
        self.journal
            .note(self.batches, self.latest, row.bytes().len());
        let stretch = if self.journal.is_full(self.journal_bytes) {
            self.journal.stretch(rest.len())
        } else {
            Vec::new()
        };
        for number in self.journal.take_moved() {
            rows.remove(number)?;
        }
        if apart.is_empty() && stretch.is_empty() {
            return Ok(());
        }
        let mut places = Places::open(transaction, &mut self.parts)?;
        for &(key, bytes) in apart {
            places.set(key, bytes)?;
        }
        for (key, bytes) in stretch {
            places.set(key, bytes.as_deref())?;
        }
        Ok(())
    }

    /// Moves all states to their places, and says so in the meta data.
    fn move_all(&mut self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        if self.journal.last().is_some() {
            let mut places = Places::open(transaction, &mut self.parts)?;
            for (key, bytes) in self.journal.take_all() {
                places.set(key, bytes.as_deref())?;
            }
            transaction.delete_table(JOURNAL)?;
            transaction.open_table(JOURNAL)?;
        }
        let mut meta = transaction.open_table(META)?;
        meta.insert(LATEST, &self.latest.get().to_le_bytes()[..])?;
        meta.insert(BATCH, &self.batches.to_le_bytes()[..])?;
        Ok(())
    }

    /// Removes some of what is over at `now`.
    fn sweep(&mut self, transaction: &WriteTransaction, now: Micros) -> Result<(), redb::Error> {
        let mut places = Places::open(transaction, &mut self.parts)?;
        for key in self.hand.find(&places.states, now)? {
            places.set(key, None)?;
        }
        if self.hand.is_round() {
            notes::sweep(transaction, now)?;
        }
        Ok(())
    }

    /// Moves everything back with the clock, which shows `now`.
    pub(crate) fn step_back(&mut self, difference: Span, now: Micros) -> Result<(), redb::Error> {
        let kept = notes::all(&self.db)?.unwrap_or_default();
        let transaction = self.db.begin_write()?;
        self.latest = now;
        self.move_all(&transaction)?;
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
        }
        notes::step_back(&transaction, kept, difference)?;
        Ok(transaction.commit()?)
    }

    /// Closes the file, with all states in their places; how many batches it holds.
    pub(crate) fn close(mut self) -> Result<u64, Trouble> {
        let mut settle = || -> Result<(), redb::Error> {
            if self.journal.last().is_some() {
                let transaction = self.db.begin_write()?;
                self.move_all(&transaction)?;
                transaction.commit()?;
            }
            Ok(())
        };
        settle()?;
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
            states: states()? + self.journal.len() as u64,
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

/// Shows `each` every state of a file, whole; it says whether to go on.
pub(crate) fn states(db: &Database, journal: &Journal, each: Each<'_>) -> Result<(), redb::Error> {
    let reading = db.begin_read()?;
    let parts = reading.open_table(PARTS)?;

    let mut whole = Vec::new();
    for row in reading.open_table(STATES)?.iter()? {
        let (key, bytes) = row?;
        let (hash, kind) = key.value();
        let known = Kind::from_number(kind).map(|kind| Key { hash, kind });
        if known.is_some_and(|key| journal.says(key)) {
            continue;
        }
        whole.clear();
        whole.extend_from_slice(bytes.value());
        if is_split(&whole) {
            for part in parts.range((hash, kind, 0)..=(hash, kind, u64::MAX))? {
                whole.extend_from_slice(part?.1.value());
            }
        }
        if !each(hash, kind, &mut whole) {
            return Ok(());
        }
    }
    for (key, bytes) in journal.states() {
        let Some(bytes) = bytes else { continue };
        whole.clear();
        whole.extend_from_slice(bytes);
        if !each(key.hash, key.kind as u8, &mut whole) {
            return Ok(());
        }
    }
    Ok(())
}
