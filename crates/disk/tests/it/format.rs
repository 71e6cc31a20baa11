//! What lies in a folder: files of every release, and files that are none.

use std::fs;
use std::path::{Path, PathBuf};

use jeton_core::{Act, Cost, Micros, Note, NoteEdit, Quota, Receipt, Store, When};
use jeton_disk::{DiskStore, OpenError, Settings};
use jeton_testkit::random::Random;
use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use crate::support::{
    BOTH, DAY, SECOND, START, act, kinds, log, open, quick_folder, remaining, settings, span, take,
    wait_for,
};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/1")
}

fn note() -> Note {
    Note {
        name: (*b"block alice").into(),
        value: (*b"forever").into(),
        until: None,
    }
}

/// What is done to the folders that are kept as golden files; the receipt of what is reserved.
fn fill(store: &DiskStore) -> Receipt {
    for (number, quota) in kinds(1000, 3000 * DAY).iter().enumerate() {
        for n in 0..3_u64 {
            let key = [number as u64, n].map(u64::to_be_bytes).concat();
            let cost = Act::Take {
                cost: Cost::new(n + 1),
            };
            assert!(act(store, &key, quota, cost, START).unwrap().fit.passes());
        }
    }
    let long = log(1000, 3000 * DAY);
    for n in 0..300 {
        assert_eq!(take(store, b"long", &long, START + n), Ok(true));
    }
    let ticket = Quota::ticket(span(3000 * DAY)).unwrap();
    let lease = Quota::concurrency(100, span(3000 * DAY)).unwrap();
    for n in 0..80 {
        let hold = Act::Hold { cost: Cost::ONE };
        assert!(
            act(store, b"held", &lease, hold, START + n)
                .unwrap()
                .fit
                .passes()
        );
    }
    let hold = Act::Hold { cost: Cost::new(5) };
    let reserved = act(store, b"reserved", &ticket, hold, START).unwrap();
    let put = store.note(NoteEdit::Put(note()), When::At(Micros::new(START)));
    assert_eq!(wait_for(put), Ok(false));
    reserved.receipt
}

fn holds_what_was_filled_in(store: &DiskStore) {
    let now = START + SECOND;
    for (number, quota) in kinds(1000, 3000 * DAY).iter().enumerate() {
        for n in 0..3_u32 {
            let key = [number as u64, n.into()].map(u64::to_be_bytes).concat();
            assert_eq!(
                remaining(store, &key, quota, now),
                1000 - 1 - n,
                "{quota:?}"
            );
        }
    }
    assert_eq!(remaining(store, b"long", &log(1000, 3000 * DAY), now), 700);
    let lease = Quota::concurrency(100, span(3000 * DAY)).unwrap();
    assert_eq!(remaining(store, b"held", &lease, now), 20);
    let notes = wait_for(store.notes(When::At(Micros::new(now)))).unwrap();
    assert_eq!(notes, [note()]);
    assert_eq!(store.opened().restored, 15 + 3);
    assert_eq!(store.opened().left_out, 0);
}

/// A copy of a file in a folder of its own.
fn copy(file: &Path) -> tempfile::TempDir {
    let folder = quick_folder();
    fs::copy(file, folder.path().join("states.redb")).unwrap();
    if file.ends_with("closed.redb") {
        fs::copy(golden().join("closed"), folder.path().join("closed")).unwrap();
    }
    folder
}

#[test]
fn folders_of_every_release_are_read() {
    for name in ["closed.redb", "killed.redb"] {
        for sync in BOTH {
            let folder = copy(&golden().join(name));
            holds_what_was_filled_in(&open(folder.path(), sync, START + SECOND));
            // And again, as this release has left it.
            holds_what_was_filled_in(&open(folder.path(), sync, START + SECOND));
        }
    }
}

/// One of the golden files was left with rows in its journal, which say more than its other tables.
#[test]
fn golden_files_hold_a_journal() {
    let folder = copy(&golden().join("killed.redb"));
    let [_, states, parts, _, journal] = rows(&folder.path().join("states.redb"));
    assert!(states.len() < 15 && !parts.is_empty() && !journal.is_empty());
}

type Row = (Vec<u8>, Vec<u8>);

/// Every row of a file, in the tables that the format names.
fn rows(file: &Path) -> [Vec<Row>; 5] {
    const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    const STATES: TableDefinition<'_, (u64, u8), &[u8]> = TableDefinition::new("states");
    const PARTS: TableDefinition<'_, (u64, u8, u64), &[u8]> = TableDefinition::new("parts");
    const NOTES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("notes");
    const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
    macro_rules! all {
        ($reading:ident, $table:ident, $key:expr) => {{
            let table = $reading.open_table($table).unwrap();
            let rows = table.iter().unwrap().map(|row| {
                let (key, value) = row.unwrap();
                (
                    format!("{:?}", $key(key.value())).into_bytes(),
                    value.value().to_vec(),
                )
            });
            rows.collect()
        }};
    }
    let db = redb::Database::open(file).unwrap();
    let reading = db.begin_read().unwrap();
    [
        all!(reading, META, |key: &str| key.to_owned()),
        all!(reading, STATES, |key: (u64, u8)| key),
        all!(reading, PARTS, |key: (u64, u8, u64)| key),
        all!(reading, NOTES, |key: &[u8]| key.to_owned()),
        all!(reading, JOURNAL, |key: u64| key),
    ]
}

/// This release writes, of the same states under the same seed, the same rows.
#[test]
fn this_release_writes_the_format_of_the_golden_files() {
    let [old, new] = [(); 2].map(|()| copy(&golden().join("empty.redb")));
    for folder in [&old, &new] {
        fill(&open(folder.path(), BOTH[0], START));
    }
    fs::copy(golden().join("closed.redb"), old.path().join("states.redb")).unwrap();
    let [mut old, mut new] = [old, new].map(|folder| rows(&folder.path().join("states.redb")));
    // How many batches it took depends on when they were written.
    let in_time = |(key, _): &Row| key == b"\"batch\"" || key == b"\"latest\"";
    for meta in [&mut old[0], &mut new[0]] {
        let taken: Vec<Row> = meta.extract_if(.., |row| in_time(row)).collect();
        assert!(taken.len() == 2 && taken.iter().all(|(_, value)| value.len() == 8));
    }
    assert_eq!(old.each_ref().map(Vec::len), new.each_ref().map(Vec::len));
    assert_eq!(old, new);
    assert_eq!(new[4], [], "at rest, all states are in their places");
    // And what a row is made of does not change with it.
    let meta: Vec<&[u8]> = new[0].iter().map(|(key, _)| &**key).collect();
    assert_eq!(meta, [&b"\"format\""[..], b"\"seed\""]);
    assert_eq!(new[0][0].1, 1_u32.to_le_bytes());
    assert_eq!(
        new[3][0].1,
        [&u64::MAX.to_le_bytes()[..], b"forever"].concat()
    );
}

/// Makes the golden files, when told to: once, by the release that brings a format.
#[test]
fn golden_files_are_made() {
    let Some(target) = std::env::var_os("JETON_DISK_GOLDEN") else {
        assert!(golden().join("closed.redb").is_file());
        return;
    };
    let target = PathBuf::from(target);
    let folder = quick_folder();
    let file = folder.path().join("states.redb");
    drop(open(folder.path(), BOTH[0], START));
    fs::copy(&file, target.join("empty.redb")).unwrap();
    let store = open(folder.path(), BOTH[0], START);
    fill(&store);
    wait_for(store.flush()).unwrap();
    fs::copy(&file, target.join("killed.redb")).unwrap();
    drop(store);
    fs::copy(&file, target.join("closed.redb")).unwrap();
    fs::copy(folder.path().join("closed"), target.join("closed")).unwrap();
}

fn refused(folder: &Path) -> OpenError {
    let settings: Settings = settings(folder, BOTH[0]);
    DiskStore::open(&settings, Micros::new(START)).unwrap_err()
}

/// Changes the meta data of a file.
fn with_meta(name: &str, value: Option<&[u8]>) -> tempfile::TempDir {
    const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let folder = copy(&golden().join("closed.redb"));
    let db = redb::Database::open(folder.path().join("states.redb")).unwrap();
    let transaction = db.begin_write().unwrap();
    {
        let mut meta = transaction.open_table(META).unwrap();
        match value {
            Some(value) => drop(meta.insert(name, value).unwrap()),
            None => drop(meta.remove(name).unwrap()),
        }
    }
    transaction.commit().unwrap();
    folder
}

#[test]
fn what_a_later_release_wrote_is_refused_and_stays_as_it_is() {
    let folder = with_meta("format", Some(&2_u32.to_le_bytes()));
    let file = folder.path().join("states.redb");
    let before = fs::read(&file).unwrap();
    let error = refused(folder.path());
    assert!(matches!(
        error,
        OpenError::Newer {
            format: Some(2),
            ..
        }
    ));
    let text = error.to_string();
    assert!(
        text.contains("format 2") && text.contains("untouched"),
        "{text}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn what_is_no_folder_of_ours_is_refused_by_name() {
    for (name, value, what) in [
        ("format", None, "names no format"),
        ("format", Some(&b"1"[..]), "names no format"),
        ("format", Some(&[0; 4]), "names no format"),
        ("seed", None, "no seed"),
        ("seed", Some(&[0; 15]), "seed makes no sense"),
        ("latest", Some(&[0; 7]), "latest makes no sense"),
        ("batch", Some(&[0; 8]), "latest changes are missing"),
    ] {
        let folder = with_meta(name, value);
        let file = folder.path().join("states.redb");
        let before = fs::read(&file).unwrap();
        let text = refused(folder.path()).to_string();
        assert!(
            text.contains(what) && text.contains("states.redb"),
            "{text}"
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
    for bytes in [&b"not a database at all"[..], &[0; 8192]] {
        let folder = quick_folder();
        let file = folder.path().join("states.redb");
        fs::write(&file, bytes).unwrap();
        let error = refused(folder.path());
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

#[test]
fn a_damaged_file_is_refused_and_stays_as_it_is() {
    let rounds = if jeton_testkit::laws::full_size() {
        4_000
    } else {
        150
    };
    let (mut random, mut damaged) = (Random::new(3), 0);
    for round in 0..rounds {
        let name = if round % 2 == 0 {
            "closed.redb"
        } else {
            "killed.redb"
        };
        let folder = copy(&golden().join(name));
        let file = folder.path().join("states.redb");
        let mut bytes = fs::read(&file).unwrap();
        match random.below(8) {
            0 => bytes.truncate(random.index(bytes.len())),
            _ => {
                for _ in 0..random.between(1, 4) {
                    let at = random.index(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
            }
        }
        fs::write(&file, &bytes).unwrap();
        match DiskStore::open(&settings(folder.path(), BOTH[0]), Micros::new(START)) {
            // It hit what nobody reads. Of a file that was not closed, a damaged end is like a batch
            // that was never finished.
            Ok(store) if name == "closed.redb" => holds_what_was_filled_in(&store),
            Ok(_) => {}
            Err(error) => {
                damaged += 1;
                assert!(
                    matches!(error, OpenError::Damaged { .. }),
                    "round {round}: {error}"
                );
                assert_eq!(fs::read(&file).unwrap(), bytes, "round {round}");
            }
        }
    }
    assert!(damaged > rounds / 10, "{damaged} of {rounds}");
}

#[test]
fn a_folder_has_one_store_at_a_time() {
    let folder = quick_folder();
    let store = open(folder.path(), BOTH[0], START);
    let error = refused(folder.path());
    assert!(matches!(error, OpenError::InUse { .. }));
    let text = error.to_string();
    assert!(text.contains("in use by another process"), "{text}");
    drop(store);
    drop(open(folder.path(), BOTH[0], START));
}

#[test]
fn a_path_that_is_no_folder_is_refused_with_the_systems_words() {
    let folder = quick_folder();
    let path = folder.path().join("file");
    fs::write(&path, b"").unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenError::Folder { .. }), "{error}");
    assert!(error.to_string().contains("file"), "{error}");
}

#[test]
fn a_start_that_was_cut_short_is_made_up_for() {
    let folder = quick_folder();
    fs::write(folder.path().join("states.new"), b"half a file").unwrap();
    let store = open(folder.path(), BOTH[0], START);
    assert_eq!(store.opened().restored, 0);
}
