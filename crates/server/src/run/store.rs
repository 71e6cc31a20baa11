//! The table that a policy's `[store]` asks for.

use jeton::policy::{Overflow as Word, Store};
use jeton::{Overflow, Seed, Settings, SettingsError, Table};

/// How keys are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeding {
    /// By a secret, so that no client can aim at another's place.
    Secret,
    /// The same in every run, so that a simulation ends alike even where the table is full.
    Repeatable,
}

/// Makes the table.
///
/// # Errors
/// [`SettingsError`] for bounds that could hold nobody.
pub fn table_for(store: &Store, seeding: Seeding) -> Result<Table, SettingsError> {
    let overflow = match store.overflow {
        Word::Share => Overflow::Share,
        Word::Deny => Overflow::Deny,
        Word::Allow => Overflow::Allow,
    };
    let seed = match seeding {
        Seeding::Secret => None,
        Seeding::Repeatable => Some(Seed::new([0; 16])),
    };
    let (max_keys, max_memory_bytes) = (store.max_keys, store.max_memory);
    Table::new(&Settings {
        max_keys,
        max_memory_bytes,
        overflow,
        seed,
    })
}
