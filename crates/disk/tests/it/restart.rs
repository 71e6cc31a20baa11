//! What a restart brings back.

use std::time::Duration;

use jeton_core::{
    Act, Cost, Fit, Micros, Note, NoteEdit, Op, Quota, RuleId, Store, StoreError, StoreErrorKind,
    When, Written,
};
use jeton_disk::{DiskStore, OpenError, Settings, Sync};

use crate::support::{
    BOTH, DAY, SECOND, START, act, decide, kinds, log, open, quick_folder, remaining, span, take,
    wait_for,
};

#[test]
fn every_kind_of_state_is_as_it_was() {
    for sync in BOTH {
        let folder = quick_folder();
        let store = open(folder.path(), sync, START);
        let quotas = kinds(1000, DAY);
        for n in 0..500_u64 {
            let quota = &quotas[usize::try_from(n).unwrap() % quotas.len()];
            let cost = Act::Take {
                cost: Cost::new(1 + n),
            };
            assert!(
                act(&store, &n.to_be_bytes(), quota, cost, START)
                    .unwrap()
                    .fit
                    .passes()
            );
        }
        drop(store);
        let store = open(folder.path(), sync, START + SECOND);
        assert_eq!(store.opened().restored, 500);
        for n in 0..500_u64 {
            let quota = &quotas[usize::try_from(n).unwrap() % quotas.len()];
            let left = remaining(&store, &n.to_be_bytes(), quota, START);
            assert_eq!(u64::from(left), 1000 - 1 - n, "{quota:?}");
        }
    }
}

#[test]
fn a_reservation_is_settled_after_a_restart_and_holders_stay() {
    for sync in BOTH {
        let folder = quick_folder();
        let quota = log(10, DAY);
        let lease = Quota::concurrency(3, span(DAY)).unwrap();
        let ticket = Quota::ticket(span(DAY)).unwrap();
        let hold = Act::Hold { cost: Cost::new(2) };
        let store = open(folder.path(), sync, START);
        let [estimate, holder, reserved] =
            [&quota, &lease, &ticket].map(|quota| act(&store, b"key", quota, hold, START).unwrap());
        drop(store);
        let store = open(folder.path(), sync, START + SECOND);
        let settle = |receipt| Act::Settle {
            receipt,
            actual: Cost::ONE,
            max_debt: Cost::MAX,
        };
        let asked = |quota, ask| act(&store, b"key", quota, ask, START + SECOND).unwrap().fit;
        assert_eq!(
            asked(&quota, settle(estimate.receipt)),
            Fit::Settled { actual: 1 }
        );
        assert_eq!(remaining(&store, b"key", &quota, START + SECOND), 9);
        assert_eq!(remaining(&store, b"key", &lease, START + SECOND), 1);
        assert!(asked(&lease, settle(holder.receipt)).passes());
        assert_eq!(
            asked(&ticket, settle(reserved.receipt)),
            Fit::Settled { actual: 1 }
        );
        assert_eq!(
            asked(&ticket, settle(reserved.receipt)),
            Fit::Repeated { actual: 1 }
        );
    }
}

#[test]
fn notes_are_kept_until_they_are_over_or_removed() {
    for sync in BOTH {
        let folder = quick_folder();
        let store = open(folder.path(), sync, START);
        let when = |us| When::At(Micros::new(us));
        let note = |name: &[u8], until: Option<u64>| Note {
            name: name.into(),
            value: [7; 300].into(),
            until: until.map(Micros::new),
        };
        let put = |store: &dyn Store, note| {
            wait_for(store.note(NoteEdit::Put(note), when(START))).unwrap()
        };
        let stays = note(b"stays", None);
        let ends = note(b"ends", Some(START + SECOND));
        for one in [&stays, &ends, &note(b"goes", None)] {
            assert!(!put(&store, one.clone()));
        }
        let goes = NoteEdit::Remove {
            name: (*b"goes").into(),
        };
        assert!(wait_for(store.note(goes, when(START))).unwrap());
        drop(store);
        let store = open(folder.path(), sync, START);
        let listed = |store: &dyn Store, us| wait_for(store.notes(when(us))).unwrap();
        assert_eq!(listed(&store, START), [ends, stays.clone()]);
        assert_eq!(listed(&store, START + SECOND), std::slice::from_ref(&stays));
        assert!(put(&store, stays.clone()));
        drop(store);
        let store = open(folder.path(), sync, START + SECOND);
        assert_eq!(listed(&store, START + SECOND), [stays]);
    }
}

#[test]
fn what_was_reset_or_is_over_does_not_come_back() {
    for sync in BOTH {
        let folder = quick_folder();
        let [long, short] = [log(5, DAY), log(5, SECOND)];
        let store = open(folder.path(), sync, START);
        assert_eq!(take(&store, b"reset", &long, START), Ok(true));
        assert_eq!(take(&store, b"over", &short, START), Ok(true));
        wait_for(store.flush()).unwrap();
        assert!(
            act(&store, b"reset", &long, Act::Reset, START)
                .unwrap()
                .fit
                .passes()
        );
        drop(store);
        let store = open(folder.path(), sync, START + SECOND);
        let opened = store.opened();
        assert_eq!((opened.restored, opened.expired), (0, 1));
        assert_eq!(remaining(&store, b"reset", &long, START + SECOND), 5);
    }
}

#[test]
fn a_log_of_many_entries_comes_back_whole() {
    for sync in BOTH {
        let folder = quick_folder();
        let quota = log(70_000, DAY);
        let mut now = START;
        let mut taken = 0;
        for round in 0..6_u64 {
            let store = open(folder.path(), sync, now);
            assert_eq!(remaining(&store, b"key", &quota, now), 70_000 - taken);
            let many = if sync == BOTH[0] { 4_000 } else { 400 };
            for _ in 0..many {
                now += 1 + round;
                assert_eq!(take(&store, b"key", &quota, now), Ok(true));
                taken += 1;
            }
            let refund = Act::Give {
                units: Cost::new(3),
            };
            assert!(
                act(&store, b"key", &quota, refund, now)
                    .unwrap()
                    .fit
                    .passes()
            );
            taken -= 3;
        }
        let store = open(folder.path(), sync, now);
        assert_eq!(remaining(&store, b"key", &quota, now), 70_000 - taken);
        // They leave, and the parts that they were kept in.
        let after = now + DAY;
        assert_eq!(take(&store, b"key", &quota, after), Ok(true));
        drop(store);
        let store = open(folder.path(), sync, after);
        assert_eq!(remaining(&store, b"key", &quota, after), 69_999);
    }
}

#[test]
fn the_seed_is_kept_with_the_data_and_no_other_is_taken() {
    let folder = quick_folder();
    let mut settings = crate::support::settings(folder.path(), BOTH[0]);
    settings.table.seed = Some(jeton_memory::Seed::new([1; 16]));
    let refused = jeton_disk::DiskStore::open(&settings, Micros::new(START)).unwrap_err();
    assert!(refused.to_string().contains("keeps the seed"), "{refused}");
    // Two folders place the same key differently; each finds its own again.
    let rows = |path: &std::path::Path| {
        let store = open(path, BOTH[0], START);
        let quota = log(5, DAY);
        let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
        assert!(decide(&store, &[op], START).0.unwrap().allowed);
        drop(store);
        std::fs::read(path.join("states.redb")).unwrap()
    };
    let other = quick_folder();
    assert_ne!(rows(folder.path()), rows(other.path()));
}

#[test]
fn fewer_keys_than_there_were_are_said() {
    let folder = quick_folder();
    let store = open(folder.path(), BOTH[0], START);
    for n in 0..100_u64 {
        assert_eq!(
            take(&store, &n.to_be_bytes(), &log(5, DAY), START),
            Ok(true)
        );
    }
    drop(store);
    let mut settings = crate::support::settings(folder.path(), BOTH[0]);
    settings.table.max_keys = 40;
    let store = jeton_disk::DiskStore::open(&settings, Micros::new(START)).unwrap();
    let opened = store.opened();
    assert_eq!((opened.restored, opened.left_out), (40, 60));
    drop(store);
    // Nothing of it is lost.
    let store = open(folder.path(), BOTH[0], START);
    assert_eq!(store.opened().restored, 100);
}

#[test]
fn whoever_closes_a_store_learns_whether_all_was_kept() {
    let folder = quick_folder();
    let quota = log(10, DAY);
    let hourly = Sync::Every(Duration::from_secs(3600));
    let store = open(folder.path(), hourly, START);
    let before = store.figures();
    for _ in 0..3 {
        assert_eq!(take(&store, b"key", &quota, START), Ok(true));
    }
    assert_eq!(store.figures().pending, before.pending + 1);
    store.close().unwrap();
    let after = store.figures();
    assert_eq!((after.batches, after.pending), (before.batches + 1, 0));
    assert!(after.latest > Duration::ZERO && after.writing >= after.latest);
    assert!(after.bytes > 0);
    let closed = StoreError {
        kind: StoreErrorKind::CannotPersist,
        written: Written::No,
    };
    assert_eq!(take(&store, b"key", &quota, START), Err(closed));
    // The folder is free, and whoever comes second has nothing to wait for.
    let again = open(folder.path(), hourly, START);
    store.close().unwrap();
    assert_eq!(remaining(&again, b"key", &quota, START), 7);
}

/// Who deletes a lock that looks left behind must not end up with two writers.
#[test]
fn a_folder_without_its_lock_file_is_in_use_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(folder.path());
    let first = DiskStore::open(&settings, Micros::new(START)).unwrap();
    std::fs::remove_file(folder.path().join("lock")).unwrap();
    let second = DiskStore::open(&settings, Micros::new(START));
    let error = second.map(drop).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    drop(first);
    DiskStore::open(&settings, Micros::new(START)).unwrap();
}

/// What was closed is not taken for what never was.
#[test]
fn a_folder_that_has_lost_its_file_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(folder.path());
    drop(DiskStore::open(&settings, Micros::new(START)).unwrap());
    std::fs::remove_file(folder.path().join("states.redb")).unwrap();
    let error = DiskStore::open(&settings, Micros::new(START)).map(drop);
    let error = error.unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    assert!(folder.path().join("closed").exists());
}

/// The seed of the hashes lies in the file.
#[cfg(unix)]
#[test]
fn what_is_made_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let _store = DiskStore::open(&Settings::new(&path), Micros::new(START)).unwrap();
    for (file, mode) in [("", 0o700), ("states.redb", 0o600)] {
        let made = std::fs::metadata(path.join(file)).unwrap();
        assert_eq!(made.permissions().mode() & 0o777, mode, "{file}");
    }
}
