//! What the store, its writer and those who wait share.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::{Answers, Note, Plan, Reading};
use jeton_memory::Table;

use crate::changes::Changes;
use crate::progress::Progress;

/// A note that was set or removed.
pub(crate) type NoteChange = (Box<[u8]>, Option<Note>);

/// What the store, its writer and those who wait share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) table: Table,
    pub(crate) changes: Changes,
    pub(crate) progress: Progress,
    notes: Mutex<Vec<NoteChange>>,
    /// How many batches are on disk.
    pub(crate) batches: AtomicU64,
}

impl Inner {
    pub(crate) fn new(table: Table, progress: Progress) -> Self {
        Self {
            table,
            changes: Changes::new(),
            progress,
            notes: Mutex::default(),
            batches: AtomicU64::new(0),
        }
    }

    /// Decides plans; in which epoch they changed something last, 0 for none.
    #[inline]
    pub(crate) fn decide(&self, plans: &[Plan<'_>], reading: Reading, out: &mut Answers) -> u64 {
        let stir = || self.progress.stir();
        let ops = plans.iter().map(|plan| plan.ops().len()).max();
        let mut journal = self.changes.journal(ops.unwrap_or(0), reading.at(), stir);
        self.table.decide_each(plans, reading, &mut journal, out);
        journal.epoch
    }

    /// Notes that are not on disk yet, in the order in which they were changed.
    pub(crate) fn notes(&self) -> MutexGuard<'_, Vec<NoteChange>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
