//! A disk that is full, read-only, broken or slow, and one that is well again.

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jeton_core::{
    Answers, Cost, Micros, Note, NoteEdit, Op, Plan, RuleId, Store, StoreError, StoreErrorKind,
    Submitted, When, Written,
};
use jeton_disk::{DiskStore, Health, Sync, TroubleKind};

use crate::media::{Mood, Moody};
use crate::support::{DAY, START, log, open, quick_folder, remaining, settings, take, wait_for};

/// The service says that it is well again within this time.
const NOTICED: Duration = Duration::from_secs(3);
const SPAN: Duration = Duration::from_millis(400);
const SYNCS: [Sync; 2] = [Sync::Every(SPAN), Sync::Always];

const TROUBLES: [(ErrorKind, TroubleKind); 5] = [
    (ErrorKind::StorageFull, TroubleKind::Full),
    (ErrorKind::QuotaExceeded, TroubleKind::Full),
    (ErrorKind::ReadOnlyFilesystem, TroubleKind::ReadOnly),
    (ErrorKind::PermissionDenied, TroubleKind::ReadOnly),
    (ErrorKind::Other, TroubleKind::Io),
];

fn until(what: &str, is_so: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < 2 * NOTICED, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

#[test]
fn what_cannot_be_kept_is_not_decided_and_service_goes_on_when_the_disk_is_well() {
    for sync in SYNCS {
        for (error, kind) in TROUBLES {
            let folder = quick_folder();
            let disk = Moody::new();
            let at = settings(folder.path(), sync);
            let store =
                DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
            let quota = log(1_000_000, DAY);
            let ask = || take(&store, b"key", &quota, START);
            let mut taken = 0;
            for _ in 0..100 {
                assert_eq!(ask(), Ok(true));
                taken += 1;
            }
            wait_for(store.flush()).unwrap();
            assert_eq!(store.health(), Health::Up);

            disk.is(Mood::Fails(error));
            let first = ask();
            if sync == Sync::Always {
                let unknown = StoreError {
                    kind: StoreErrorKind::CannotPersist,
                    written: Written::Unknown,
                };
                assert_eq!(first, Err(unknown));
            } else {
                // It is at stake no longer than promised.
                assert_eq!(first, Ok(true));
                taken += 1;
            }
            until("it is noticed", || store.health() == Health::Down(kind));
            let begun = Instant::now();
            let refused = StoreError {
                kind: StoreErrorKind::CannotPersist,
                written: Written::No,
            };
            while ask().map(|_| taken += 1).is_ok() {
                assert!(begun.elapsed() < SPAN + Duration::from_millis(30));
                thread::sleep(Duration::from_millis(1));
            }
            for _ in 0..100 {
                let asked = Instant::now();
                assert_eq!(ask(), Err(refused));
                assert!(
                    asked.elapsed() < Duration::from_millis(30),
                    "it answers at once"
                );
            }
            let trouble = store.latest_trouble().unwrap();
            assert_eq!(trouble.kind, kind);
            let note = Note {
                name: (*b"note").into(),
                value: [].into(),
                until: None,
            };
            let put = store.note(NoteEdit::Put(note), When::At(Micros::new(START)));
            assert_eq!(wait_for(put), Err(refused));

            disk.is(Mood::Well);
            let noticed = until("it recovers", || store.health() == Health::Up);
            assert!(noticed < NOTICED, "{noticed:?}");
            assert_eq!(ask(), Ok(true));
            taken += 1;
            drop(store);
            // With "always", one take was not answered, and may count.
            let store = open(folder.path(), sync, START);
            let found = 1_000_000 - remaining(&store, b"key", &quota, START);
            let unanswered = u32::from(sync == Sync::Always);
            assert!(
                (taken..=taken + unanswered).contains(&found),
                "{found} of {taken}"
            );
        }
    }
}

#[test]
fn decisions_wait_for_a_slow_disk_rather_than_exceed_the_span() {
    let folder = quick_folder();
    let disk = Moody::new();
    let at = settings(folder.path(), SYNCS[0]);
    let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
    let quota = log(1_000_000_000, DAY);
    let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
    let ask = || {
        let mut out = Answers::new();
        store.submit(&[Plan::one(&op)], When::At(Micros::new(START)), &mut out)
    };
    disk.is(Mood::Hangs);
    let begun = Instant::now();
    let mut decided = 0;
    let waits = loop {
        match ask() {
            Submitted::Done => decided += 1,
            Submitted::Later(waits) => break waits,
        }
        assert!(
            begun.elapsed() < SPAN + Duration::from_millis(30),
            "at stake for longer"
        );
        thread::sleep(Duration::from_millis(1));
    };
    assert!(decided > 0 && begun.elapsed() > SPAN / 2);
    assert_eq!(store.health(), Health::Behind);
    // More of them, on threads of their own; one is given up.
    drop(ask());
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| take(&store, b"key", &quota, START)))
            .collect();
        thread::sleep(Duration::from_millis(100));
        assert!(waiting.iter().all(|thread| !thread.is_finished()));
        disk.is(Mood::Well);
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), Ok(true));
        }
    });
    assert!(wait_for(waits).plan(0).0.unwrap().allowed);
    until("it has caught up", || store.health() == Health::Up);
    drop(store);
    let store = open(folder.path(), SYNCS[0], START);
    let left = remaining(&store, b"key", &quota, START);
    assert_eq!(1_000_000_000 - left, decided + 9);
}

#[test]
fn many_decisions_share_a_sync() {
    let folder = quick_folder();
    let disk = Moody::new();
    let at = settings(folder.path(), Sync::Always);
    let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
    let quota = log(1_000_000, DAY);
    let before = disk.syncs();
    disk.is(Mood::Hangs);
    let waiting = (0..64_u64).map(|n| {
        let mut out = Answers::new();
        let key = n.to_be_bytes();
        let op = Op::take(RuleId::new(1), &key, &quota, Cost::ONE);
        store.submit(&[Plan::one(&op)], When::At(Micros::new(START)), &mut out)
    });
    let waiting: Vec<_> = waiting.collect();
    disk.is(Mood::Well);
    for submitted in waiting {
        let Submitted::Later(answers) = submitted else {
            panic!("it waits for the disk");
        };
        assert!(wait_for(answers).plan(0).0.unwrap().allowed);
    }
    let syncs = disk.syncs() - before;
    assert!((1..=3).contains(&syncs), "{syncs} syncs for 64 decisions");
}

#[test]
fn what_changes_nothing_waits_for_no_disk() {
    let folder = quick_folder();
    let disk = Moody::new();
    let at = settings(folder.path(), Sync::Always);
    let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
    let quota = log(1, DAY);
    assert_eq!(take(&store, b"key", &quota, START), Ok(true));
    disk.is(Mood::Hangs);
    // A denial and a look.
    assert_eq!(take(&store, b"key", &quota, START), Ok(false));
    assert_eq!(remaining(&store, b"other", &quota, START), 1);
    disk.is(Mood::Well);
}

#[test]
fn a_store_that_goes_away_answers_whoever_waits() {
    let folder = quick_folder();
    let disk = Moody::new();
    let at = settings(folder.path(), Sync::Always);
    let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
    let quota = log(1, DAY);
    let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
    let mut out = Answers::new();
    let asked = store.submit(&[Plan::one(&op)], When::At(Micros::new(START)), &mut out);
    let Submitted::Later(waits) = asked else {
        panic!("it waits for the disk");
    };
    drop(store);
    assert!(wait_for(waits).plan(0).0.unwrap().allowed);

    let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
    let other = Op::take(RuleId::new(1), b"other", &quota, Cost::ONE);
    disk.is(Mood::Fails(ErrorKind::StorageFull));
    let asked = store.submit(&[Plan::one(&other)], When::At(Micros::new(START)), &mut out);
    let Submitted::Later(waits) = asked else {
        panic!("it waits for the disk");
    };
    drop(store);
    assert!(wait_for(waits).plan(0).0.is_err());
}

#[test]
fn whoever_closes_a_store_on_a_full_disk_is_told() {
    for sync in [Sync::Every(Duration::from_secs(3600)), Sync::Always] {
        let folder = quick_folder();
        let disk = Moody::new();
        let at = settings(folder.path(), sync);
        let store = DiskStore::open_on(Arc::new(disk.clone()), &at, Micros::new(START)).unwrap();
        disk.is(Mood::Fails(ErrorKind::StorageFull));
        let _ = take(&store, b"key", &log(10, DAY), START);
        let begun = Instant::now();
        assert!(store.close().is_err());
        assert!(begun.elapsed() < NOTICED);
        assert_eq!(store.latest_trouble().unwrap().kind, TroubleKind::Full);
        assert_eq!(store.figures().pending, 1);
    }
}
