//! The table that a policy's `[store]` asks for.

use jeton::policy::Store;
use jeton::{Seed, Settings, SettingsError, Table, table_settings};

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
    let seed = match seeding {
        Seeding::Secret => None,
        Seeding::Repeatable => Some(Seed::new([0; 16])),
    };
    Table::new(&Settings {
        seed,
        ..table_settings(store)
    })
}
