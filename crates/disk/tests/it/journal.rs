//! States that stand in the journal, in their places, or in both: a reader finds no difference.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jeton_core::{Act, Cost, Micros, Op, Plan, Quota, RuleId, Store, Submitted, When};
use jeton_disk::{DiskStore, Opened, Settings, Sync};
use jeton_memory::Table;
use jeton_testkit::random::Random;
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use tempfile::TempDir;

use crate::media::Moody;
use crate::support::{
    DAY, SECOND, START, act, bucket, kinds, log, open, quick_folder, remaining, settings, take,
    wait_for,
};

/// A store on a disk with a small journal, and its folder.
struct Small {
    disk: Moody,
    folder: TempDir,
    store: Option<DiskStore>,
}

impl Small {
    fn open(folder: TempDir, now: u64) -> Self {
        let disk = Moody::new();
        let at = settings(folder.path(), Sync::Always);
        let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(now)).unwrap();
        Self {
            disk,
            folder,
            store: Some(store),
        }
    }

    fn store(&self) -> &DiskStore {
        self.store.as_ref().unwrap()
    }

    /// A folder with what is on disk now, as kill -9 or a power cut would leave it.
    fn killed(&self, random: &mut Random) -> TempDir {
        let folder = quick_folder();
        let bytes = self.disk.after_power_cut(random);
        fs::write(folder.path().join("states.redb"), bytes).unwrap();
        folder
    }

    fn reopen(mut self, now: u64) -> Self {
        drop(self.store.take());
        Self::open(self.folder, now)
    }
}

/// How many rows a file has in its journal, and how many states in their places.
fn rows(folder: &Path) -> [u64; 2] {
    const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
    const STATES: TableDefinition<'_, (u64, u8), &[u8]> = TableDefinition::new("states");
    let other = quick_folder();
    let file = other.path().join("copy");
    fs::copy(folder.join("states.redb"), &file).unwrap();
    let db = redb::Database::open(file).unwrap();
    let reading = db.begin_read().unwrap();
    let journal = reading.open_table(JOURNAL).unwrap().len().unwrap();
    [journal, reading.open_table(STATES).unwrap().len().unwrap()]
}

const KEYS: u64 = 90;

fn quotas() -> Vec<Quota> {
    let mut quotas = kinds(400, DAY).to_vec();
    quotas.extend([log(400, 20 * SECOND), bucket(1, SECOND, 30)]);
    quotas
}

/// One random call, the same to both.
fn ask_both(random: &mut Random, stores: [&dyn Store; 2], quotas: &[Quota], now: u64) {
    // Some keys are asked for more often, and their logs grow long.
    let key = random.scaled(0, KEYS - 1);
    let quota = &quotas[usize::try_from(key).unwrap() % quotas.len()];
    let act_on_it = match random.below(40) {
        0 => Act::Reset,
        1 => Act::Take {
            cost: Cost::new(100),
        },
        2 => Act::Give { units: Cost::ONE },
        _ => Act::Take { cost: Cost::ONE },
    };
    let again = if random.once_in(60) { 80 } else { 1 };
    for n in 0..again {
        let asked = stores.map(|store| {
            act(store, &key.to_be_bytes(), quota, act_on_it, now + n)
                .unwrap()
                .fit
        });
        assert_eq!(asked[0], asked[1]);
    }
}

fn same(store: &dyn Store, model: &dyn Store, quotas: &[Quota], now: u64) {
    for key in 0..KEYS {
        let quota = &quotas[usize::try_from(key).unwrap() % quotas.len()];
        let [found, expected] =
            [store, model].map(|store| remaining(store, &key.to_be_bytes(), quota, now));
        assert_eq!(found, expected, "key {key}, {quota:?}");
    }
}

#[test]
fn states_in_the_journal_and_in_their_places_read_back_the_same() {
    let (rounds, steps) = if jeton_testkit::laws::full_size() {
        (40, 300)
    } else {
        (6, 120)
    };
    let quotas = quotas();
    let [mut mixed, mut emptied] = [0; 2];
    for round in 0..rounds {
        let mut random = Random::new(round);
        let model = Table::new(&jeton_memory::Settings::default()).unwrap();
        let (mut now, mut small) = (START, Small::open(quick_folder(), START));
        for step in 0..steps {
            for _ in 0..random.between(1, 12) {
                now += random.scaled(1, SECOND);
                ask_both(&mut random, [small.store(), &model], &quotas, now);
            }
            now += 100;
            match random.below(12) {
                0 => small = small.reopen(now),
                1 | 2 => {
                    let killed = small.killed(&mut random);
                    let [journal, states] = rows(killed.path());
                    mixed += u64::from(journal > 0 && states > 0);
                    emptied += u64::from(journal == 0);
                    let left = Small::open(killed, now);
                    same(left.store(), &model, &quotas, now);
                    if random.once_in(2) {
                        small = left;
                    }
                }
                3 if step % 4 == 0 => many_at_once(small.store(), now),
                _ => {}
            }
        }
        let small = small.reopen(now);
        same(small.store(), &model, &quotas, now);
    }
    assert!(mixed > rounds, "{mixed} files held both, {emptied} no row");
}

/// A batch that is too large for a row.
fn many_at_once(store: &DiskStore, now: u64) {
    let quota = bucket(1, SECOND, 2);
    let asked = (0..1_500_u64).map(|n| {
        let key = (1_000 + n).to_be_bytes();
        let op = Op::take(RuleId::new(2), &key, &quota, Cost::ONE);
        let mut out = jeton_core::Answers::new();
        store.submit(&[Plan::one(&op)], When::At(Micros::new(now)), &mut out)
    });
    for submitted in asked.collect::<Vec<_>>() {
        if let Submitted::Later(answers) = submitted {
            assert!(wait_for(answers).plan(0).0.is_ok());
        }
    }
}

/// A file with a hundred states, half of which are in their places, and all of which are changed again
/// by rows: 20 are removed, 10 are soon over.
fn changed_again() -> TempDir {
    let folder = quick_folder();
    let quota = log(5, DAY);
    let store = open(folder.path(), Sync::Always, START);
    for n in 0..50_u64 {
        assert_eq!(take(&store, &n.to_be_bytes(), &quota, START), Ok(true));
    }
    drop(store);
    let store = open(folder.path(), Sync::Always, START);
    for n in 0..100_u64 {
        let key = n.to_be_bytes();
        let quota = if n < 90 { quota } else { log(5, SECOND) };
        assert_eq!(take(&store, &key, &quota, START + 1), Ok(true));
        if n % 5 == 0 && n < 90 {
            assert!(
                act(&store, &key, &quota, Act::Reset, START + 2)
                    .unwrap()
                    .fit
                    .passes()
            );
        }
    }
    let killed = quick_folder();
    let file = "states.redb";
    fs::copy(folder.path().join(file), killed.path().join(file)).unwrap();
    let [journal, states] = rows(killed.path());
    assert!(journal >= 100 && states == 50, "{journal}, {states}");
    killed
}

#[test]
fn what_the_journal_says_hides_what_stands_in_its_place() {
    let folder = changed_again();
    let now = START + 2 * SECOND;
    for _ in 0..2 {
        let store = open(folder.path(), Sync::Always, now);
        let opened = store.opened();
        assert_eq!(opened.restored, 72);
        assert_eq!(opened.left_out, 0);
        for n in 0..90_u64 {
            let left = match n {
                n if n % 5 == 0 => 5,
                0..50 => 3,
                _ => 4,
            };
            let found = remaining(&store, &n.to_be_bytes(), &log(5, DAY), now);
            assert_eq!(found, left, "{n}");
        }
        assert!(opened.expired <= 10);
    }
    let store = open(changed_again().path(), Sync::Always, now);
    assert_eq!(store.opened().expired, 10);
}

#[test]
fn smaller_bounds_and_an_earlier_clock_hold_for_the_journal() {
    let folder = changed_again();
    let at = settings(folder.path(), Sync::Always);
    let few = Settings {
        table: jeton_memory::Settings {
            max_keys: 30,
            ..at.table.clone()
        },
        ..at
    };
    let now = START + 2 * SECOND;
    let store = DiskStore::open(&few, Micros::new(now)).unwrap();
    let Opened {
        restored, left_out, ..
    } = store.opened();
    assert_eq!((restored, left_out), (30, 42));
    drop(store);
    assert_eq!(open(folder.path(), Sync::Always, now).opened().restored, 72);

    // The latest change was at START + 1.
    let (folder, hour) = (changed_again(), 3600 * SECOND);
    let store = open(folder.path(), Sync::Always, START - hour);
    assert_eq!(store.opened().stepped_back.as_micros(), hour + 1);
    assert_eq!(store.opened().restored, 82);
    drop(store);
    // They have moved back with the clock, and end as they would have.
    let store = open(folder.path(), Sync::Always, START - hour + DAY);
    assert_eq!(store.opened().restored, 0);
}

#[test]
fn a_journal_that_has_lost_a_row_is_refused() {
    const JOURNAL: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("journal");
    type Damage = fn(&mut redb::Table<'_, u64, &'static [u8]>, u64);
    let damages: [(Damage, &str); 4] = [
        (
            |rows, last| drop(rows.remove(last - 3).unwrap()),
            "a row of its journal is missing",
        ),
        (
            |rows, last| drop(rows.insert(last, &[0; 7][..]).unwrap()),
            "of its journal makes no sense",
        ),
        (
            |rows, last| drop(rows.insert(last, &[1; 30][..]).unwrap()),
            "of its journal makes no sense",
        ),
        (
            |rows, last| {
                // A state of two bytes.
                let row = [&[0; 8][..], &[9; 8], &[1], &[2, 0], &[1, 1]].concat();
                drop(rows.insert(last, &*row).unwrap());
            },
            "the state at 0909090909090909",
        ),
    ];
    for (damage, what) in damages {
        let folder = changed_again();
        let file = folder.path().join("states.redb");
        let db = redb::Database::open(&file).unwrap();
        let transaction = db.begin_write().unwrap();
        {
            let mut rows = transaction.open_table(JOURNAL).unwrap();
            let last = rows.last().unwrap().unwrap().0.value();
            damage(&mut rows, last);
        }
        transaction.commit().unwrap();
        drop(db);
        let before = fs::read(&file).unwrap();
        let at = settings(folder.path(), Sync::Always);
        let error = DiskStore::open(&at, Micros::new(START))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(what) && error.contains("is damaged"),
            "{error}"
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}
