//! How a folder says what it is: a version, which grows when a release could not read what another
//! wrote.
//!
//! ```text
//! table    key                       value
//! meta     "format"                  version, u32 little endian like all numbers in values
//! meta     "seed"                    the secret of the key hash, 16 bytes
//! meta     "latest"                  instant of the latest change kept, µs, u64; a row of the journal
//!                                    names a later one
//! meta     "batch"                   how many batches had been written when the journal was empty
//!                                    last, u64
//! journal  number of a batch, u64    a row as crate::row writes it; what the last row says of a state
//!                                    counts, not what stands below
//! states   (hash u64, kind u8)       a state as jeton_core::codec writes it; of one with more than
//!                                    64 entries, all but the entries
//! parts    (hash u64, kind u8,       entries of such a state, as the codec writes them
//!           name u64)
//! notes    name                      its end in µs, u64 (all ones: none), and its value
//! ```
//!
//! A release reads every version before its own, and brings it to its own in one step that is on disk
//! whole or not at all. It refuses a later one.

use core::ops::Range;

use jeton_core::{Kind, Span};
use redb::{ReadableTable, TableDefinition, WriteTransaction};

/// The version this release writes.
pub(crate) const FORMAT: u32 = 1;

pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
pub(crate) const STATES: TableDefinition<'_, (u64, u8), &[u8]> = TableDefinition::new("states");
pub(crate) const PARTS: TableDefinition<'_, (u64, u8, u64), &[u8]> = TableDefinition::new("parts");
pub(crate) const NOTES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("notes");
pub(crate) const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");

pub(crate) const SEED: &str = "seed";
pub(crate) const LATEST: &str = "latest";
pub(crate) const BATCH: &str = "batch";
const VERSION: &str = "format";

/// Brings a folder from one version to the next.
type Step = fn(&WriteTransaction) -> Result<(), redb::Error>;

/// The steps from version 1 on.
const STEPS: &[Step] = &[];

/// Where a folder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It names no version that was ever written.
    Unknown,
    /// Written by a later release.
    Newer(u32),
    /// This release's version.
    Present,
    /// Written by an earlier release.
    Older(u32),
}

/// What the version kept as these bytes is to this release.
pub(crate) fn standing(version: Option<&[u8]>) -> Standing {
    match version.map(<[u8; 4]>::try_from) {
        Some(Ok(bytes)) => match u32::from_le_bytes(bytes) {
            0 => Standing::Unknown,
            FORMAT => Standing::Present,
            version if version > FORMAT => Standing::Newer(version),
            version => Standing::Older(version),
        },
        _ => Standing::Unknown,
    }
}

/// The version that a folder names.
pub(crate) fn version(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
) -> Result<Standing, redb::Error> {
    let version = meta.get(VERSION)?;
    Ok(standing(version.as_ref().map(redb::AccessGuard::value)))
}

/// Marks a folder as one of this release.
pub(crate) fn stamp(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    let mut meta = transaction.open_table(META)?;
    meta.insert(VERSION, FORMAT.to_le_bytes().as_slice())?;
    Ok(())
}

/// A number of the meta data; 0 if there is none.
pub(crate) fn number(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> Result<Option<u64>, redb::Error> {
    let kept = meta.get(name)?;
    let bytes = kept.as_ref().map_or(&[0; 8][..], redb::AccessGuard::value);
    Ok(bytes.try_into().ok().map(u64::from_le_bytes))
}

/// Where a state names its end and its instant.
const UNTIL: Range<usize> = 2..10;
const AT: Range<usize> = 10..18;

/// The end of a state, in µs.
pub(crate) fn until(state: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(state.get(UNTIL)?.try_into().ok()?))
}

/// Moves a state back with the clock, so that it ends after the time it had left. Windows that begin
/// at the epoch stay where they are: one that lies ahead counts as the present one.
pub(crate) fn step_back(kind: u8, state: &mut [u8], difference: Span) {
    let moved = if kind == Kind::FixedEpoch as u8 {
        &[UNTIL][..]
    } else {
        &[UNTIL, AT]
    };
    for range in moved {
        let field = state.get_mut(range.clone());
        if let Some(bytes) = field.and_then(|field| field.first_chunk_mut()) {
            let us = u64::from_le_bytes(*bytes).saturating_sub(difference.as_micros());
            *bytes = us.to_le_bytes();
        }
    }
}

/// Brings a folder of version `from` to this release's.
pub(crate) fn migrate(transaction: &WriteTransaction, from: u32) -> Result<(), redb::Error> {
    take(transaction, from, STEPS)
}

fn take(transaction: &WriteTransaction, from: u32, steps: &[Step]) -> Result<(), redb::Error> {
    let done = usize::try_from(from)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
    for step in steps.iter().skip(done) {
        step(transaction)?;
    }
    stamp(transaction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_but_one_is_told_apart() {
        let standing = |version: u32| standing(Some(&version.to_le_bytes()));
        assert_eq!(standing(FORMAT), Standing::Present);
        assert_eq!(standing(FORMAT + 1), Standing::Newer(FORMAT + 1));
        assert_eq!(standing(0), Standing::Unknown);
        assert_eq!(super::standing(None), Standing::Unknown);
        assert_eq!(super::standing(Some(b"1")), Standing::Unknown);
        assert_eq!(STEPS.len() + 1, FORMAT as usize, "a step to every version");
    }

    #[test]
    fn a_folder_takes_the_steps_it_is_behind() {
        const STEPS: &[Step] = &[
            |transaction| note(transaction, "to 2"),
            |transaction| note(transaction, "to 3"),
        ];
        fn note(transaction: &WriteTransaction, step: &str) -> Result<(), redb::Error> {
            transaction.open_table(META)?.insert(step, [].as_slice())?;
            Ok(())
        }
        for (from, steps) in [(1, vec!["to 2", "to 3"]), (2, vec!["to 3"]), (3, vec![])] {
            let memory = redb::backends::InMemoryBackend::new();
            let db = redb::Builder::new().create_with_backend(memory).unwrap();
            let transaction = db.begin_write().unwrap();
            take(&transaction, from, STEPS).unwrap();
            let meta = transaction.open_table(META).unwrap();
            let taken = meta
                .iter()
                .unwrap()
                .map(|row| row.unwrap().0.value().to_owned());
            let taken: Vec<String> = taken.filter(|key| key != VERSION).collect();
            assert_eq!(taken, steps);
            assert_eq!(version(&meta).unwrap(), Standing::Present);
        }
    }
}
