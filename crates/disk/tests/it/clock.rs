//! Clocks that were stepped while nobody looked.

use jeton_core::{Act, Cost, Fit};

use crate::support::{BOTH, DAY, SECOND, START, act, kinds, open, quick_folder, remaining, take};

const HOUR: u64 = 3600 * SECOND;
const YEARS: u64 = 3650 * DAY;

#[test]
fn a_clock_stepped_back_while_it_was_down_neither_frees_nor_blocks_for_longer() {
    for sync in BOTH {
        for step_us in [1, SECOND, HOUR, YEARS] {
            for quota in &kinds(5, HOUR) {
                let folder = quick_folder();
                let store = open(folder.path(), sync, START);
                assert_eq!(take(&store, b"early", quota, START), Ok(true));
                let later = START + HOUR / 10;
                for _ in 0..5 {
                    assert_eq!(take(&store, b"late", quota, later), Ok(true));
                }
                drop(store);
                let now = later - step_us;
                let store = open(folder.path(), sync, now);
                assert_eq!(store.opened().stepped_back.as_micros(), step_us);
                assert_eq!(store.opened().restored, 2, "{quota:?}, {step_us}");
                assert_eq!(take(&store, b"late", quota, now), Ok(false), "{quota:?}");
                assert!(remaining(&store, b"early", quota, now) >= 4);
                let look = Act::Take { cost: Cost::new(5) };
                let denied = act(&store, b"late", quota, look, now).unwrap();
                let Fit::Denied { retry_after } = denied.fit else {
                    panic!("{denied:?}");
                };
                // A counter's units may count through the next window as well.
                assert!(retry_after.as_micros() <= 2 * HOUR, "{quota:?}, {step_us}");
                // Nobody asks about the others: they end as if the clock had never been stepped.
                drop(store);
                let store = open(folder.path(), sync, now + 3 * HOUR);
                assert_eq!(store.opened().restored, 0, "{quota:?}, {step_us}");
            }
        }
    }
}

#[test]
fn a_clock_stepped_forward_while_it_was_down_frees_once_and_blocks_nobody() {
    for sync in BOTH {
        for quota in &kinds(5, HOUR) {
            let folder = quick_folder();
            let store = open(folder.path(), sync, START);
            for _ in 0..5 {
                assert_eq!(take(&store, b"key", quota, START), Ok(true));
            }
            drop(store);
            let ahead = START + YEARS;
            let store = open(folder.path(), sync, ahead);
            assert_eq!(store.opened().expired, 1);
            for _ in 0..5 {
                assert_eq!(take(&store, b"key", quota, ahead), Ok(true), "{quota:?}");
            }
            assert_eq!(take(&store, b"key", quota, ahead), Ok(false));
            drop(store);
            // Put right again.
            let now = START + SECOND;
            let store = open(folder.path(), sync, now);
            assert_eq!(take(&store, b"key", quota, now), Ok(false), "{quota:?}");
            let soon = now + 2 * HOUR;
            assert_eq!(take(&store, b"key", quota, soon), Ok(true), "{quota:?}");
        }
    }
}
