//! Space follows the keys that are in use.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use jeton_core::Micros;
use jeton_disk::{BYTES_AT_LEAST, BYTES_PER_KEY, DiskStore, Sync};

use crate::support::{DAY, SECOND, START, kinds, quick_folder, settings, take, wait_for};

const HOUR: u64 = 3600 * SECOND;

fn folder_bytes(path: &Path) -> u64 {
    let files = fs::read_dir(path).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum()
}

fn bound(live: u64) -> u64 {
    BYTES_AT_LEAST + live * BYTES_PER_KEY
}

/// Thirty days, an hour at a time: every hour brings new keys, which live for six hours.
#[test]
fn thirty_days_of_new_keys_stay_within_the_bound() {
    let folder = quick_folder();
    let at = settings(folder.path(), Sync::Every(Duration::from_secs(1)));
    let mut store = DiskStore::open(&at, Micros::new(START)).unwrap();
    let hourly = if jeton_testkit::laws::full_size() {
        20_000
    } else {
        1_500
    };
    let quotas = kinds(5, 3 * HOUR);
    let mut most = 0;
    for hour in 0..30 * 24_u64 {
        let now = START + hour * HOUR;
        // Quiet nights, and a store that is restarted every day.
        let keys = if hour % 24 < 6 { hourly / 20 } else { hourly };
        for n in 0..keys {
            let key = [hour, n].map(u64::to_be_bytes).concat();
            let quota = &quotas[usize::try_from(n).unwrap() % quotas.len()];
            assert_eq!(take(&store, &key, quota, now), Ok(true));
        }
        wait_for(store.flush()).unwrap();
        let bytes = folder_bytes(folder.path());
        most = most.max(bytes);
        // Those of six hours are alive at most.
        assert!(bytes <= bound(6 * hourly), "hour {hour}: {bytes} bytes");
        if hour % 24 == 23 {
            drop(store);
            store = DiskStore::open(&at, Micros::new(now)).unwrap();
        }
    }
    println!(
        "{hourly} keys an hour: at most {most} bytes of {}",
        bound(6 * hourly)
    );
}

#[test]
fn room_is_given_back_when_the_keys_are_gone() {
    let folder = quick_folder();
    let at = settings(folder.path(), Sync::Every(Duration::from_secs(1)));
    let store = DiskStore::open(&at, Micros::new(START)).unwrap();
    let quota = &kinds(5, HOUR)[0];
    for n in 0..150_000_u64 {
        assert_eq!(take(&store, &n.to_be_bytes(), quota, START), Ok(true));
    }
    wait_for(store.flush()).unwrap();
    let full = folder_bytes(folder.path());
    // One is left a day later.
    assert_eq!(take(&store, b"one", quota, START + DAY), Ok(true));
    let begun = Instant::now();
    while folder_bytes(folder.path()) > bound(1) {
        assert!(begun.elapsed() < Duration::from_secs(120));
        let asked = Instant::now();
        let _ = take(&store, b"one", quota, START + DAY);
        assert!(asked.elapsed() < Duration::from_millis(500), "a pause");
        thread::sleep(Duration::from_millis(100));
    }
    println!(
        "{full} bytes, and {:?} later {}",
        begun.elapsed(),
        folder_bytes(folder.path())
    );
}
