//! What a process grants by itself while the store is away.

use std::sync::OnceLock;

use jeton_core::{Answers, Plan, Reading};
use jeton_memory::{Overflow, Settings, Table};
use jeton_policy::{Overflow as Word, Store};

/// A table of this process's own, made when it is first needed. It stays: whoever has used up its
/// share finds that so when the store goes away again, until the share would be full.
#[derive(Debug)]
pub(super) struct Local {
    settings: Settings,
    /// None if there can be no table with such settings.
    table: OnceLock<Option<Table>>,
}

impl Local {
    pub(super) const fn new(settings: Settings) -> Self {
        Self {
            settings,
            table: OnceLock::new(),
        }
    }

    /// Decides plans; gives no answers if there is nothing to decide them on.
    pub(super) fn decide(&self, plans: &[Plan<'_>], reading: Reading, answers: &mut Answers) {
        let table = self.table.get_or_init(|| Table::new(&self.settings).ok());
        answers.clear();
        if let Some(table) = table {
            for plan in plans {
                table.decide(*plan, reading, &mut (), answers);
            }
        }
    }

    /// What the table holds, once there is one.
    pub(super) fn stats(&self) -> Option<jeton_memory::Stats> {
        self.table.get()?.as_ref().map(Table::stats)
    }
}

/// The settings of a table as a policy's `[store]` asks for: hard caps, and what becomes of keys that
/// find no room.
///
/// ```
/// use jeton::policy::Store;
/// assert_eq!(jeton::table_settings(&Store::default()).max_keys, 1_000_000);
/// ```
pub fn table_settings(store: &Store) -> Settings {
    Settings {
        max_keys: store.max_keys,
        max_memory_bytes: store.max_memory,
        overflow: match store.overflow {
            Word::Share => Overflow::Share,
            Word::Deny => Overflow::Deny,
            Word::Allow => Overflow::Allow,
        },
        seed: None,
    }
}
