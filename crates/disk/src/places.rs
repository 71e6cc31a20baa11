//! The places of states: the table they stand in, and the one that holds the entries of long ones.

use redb::{Table, WriteTransaction};

use crate::batch::Key;
use crate::format::{PARTS, STATES};
use crate::parts::{Change, Parts, split};

/// The places of states in a file that is being written to.
pub(crate) struct Places<'t> {
    pub(crate) states: Table<'t, (u64, u8), &'static [u8]>,
    parts: Table<'t, (u64, u8, u64), &'static [u8]>,
    kept: &'t mut Parts,
}

impl<'t> Places<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        kept: &'t mut Parts,
    ) -> Result<Self, redb::Error> {
        Ok(Self {
            states: transaction.open_table(STATES)?,
            parts: transaction.open_table(PARTS)?,
            kept,
        })
    }

    /// Sets a state, or removes it.
    pub(crate) fn set(&mut self, key: Key, bytes: Option<&[u8]>) -> Result<(), redb::Error> {
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
