//! Bounded space that does not run out. A store without a cap keeps these laws for nothing.

use jeton_core::{Act, Cost, Quota};

use super::desk::{DAY, Desk, Key, SECOND, YEAR, denied, kinds};
use super::{Make, repeats};

/// So many keys at once.
fn keys(make: Make<'_>) -> u64 {
    repeats(make, 1000, 1000)
}

/// A store may look only so far for what has expired: with half of its room in use it must find
/// some, at the very cap it need not find the last one.
const fn room_to_reuse(keys: u64) -> u64 {
    2 * keys
}

/// What has expired makes room, round after round, without anything being asked of the old keys.
pub fn expired_space_is_used_again(make: Make<'_>) {
    let keys = keys(make);
    for quota in &kinds(2, SECOND) {
        let mut desk = Desk::with_keys(make, room_to_reuse(keys));
        for round in 0..5 {
            every_key_is_counted(&desk, quota, keys, round);
            desk = desk.at(desk.now_us + 3 * SECOND);
        }
    }
}

/// What has been reset, or refunded to nothing, makes room at once.
pub fn erased_space_is_used_again(make: Make<'_>) {
    let keys = keys(make);
    let refund = Act::Give { units: Cost::MAX };
    for quota in &kinds(2, DAY) {
        for erase in [Act::Reset, refund] {
            let desk = Desk::with_keys(make, keys);
            for round in 0..5 {
                every_key_is_counted(&desk, quota, keys, round);
                each_key(keys, round, |name| {
                    let erased = desk.act(&Key::new(1, name, quota), erase);
                    assert!(erased.fit.passes());
                });
            }
        }
    }
}

/// Looks, denials, refunds and resets of keys never seen leave room for those that charge.
pub fn looks_and_denials_take_no_space(make: Make<'_>) {
    let keys = keys(make);
    for quota in &kinds(2, DAY) {
        let desk = Desk::with_keys(make, keys + 1);
        let full = Key::new(2, b"full", quota);
        assert!(desk.take(&full, 2).fit.passes());
        for round in 1..4 {
            each_key(keys, round, |name| {
                let key = Key::new(1, name, quota);
                assert_eq!(desk.peek(&key).remaining, 2);
                assert!(desk.take(&key, 0).fit.passes());
                assert!(!desk.take(&key, 3).fit.passes());
                assert!(desk.act(&key, Act::Give { units: Cost::ONE }).fit.passes());
                assert!(desk.act(&key, Act::Reset).fit.passes());
                assert!(!desk.plan(&[key.take(1), full.take(1)]).0.allowed);
            });
        }
        every_key_is_counted(&desk, quota, keys, 0);
    }
}

/// No state outlives its time, not even one in debt, or one written under a clock that has since
/// been put back.
pub fn nothing_is_immortal(make: Make<'_>) {
    let keys = keys(make);
    for quota in &kinds(2, DAY) {
        let desk = Desk::with_keys(make, room_to_reuse(keys));
        let ahead = desk.at(desk.now_us + 20 * YEAR);
        each_key(keys, 0, |name| {
            let key = Key::new(1, name, quota);
            let held = ahead.act(&key, Act::Hold { cost: Cost::ONE });
            assert!(ahead.settle(&key, held.receipt, 100).fit.passes());
            assert!(denied(&desk.take(&key, 1)), "{quota:?}: in debt");
        });
        for round in 1..4 {
            every_key_is_counted(&desk.at(desk.now_us + round * 10 * DAY), quota, keys, round);
        }
    }
}

/// As many keys as the store may hold, all of them counted exactly.
fn every_key_is_counted(desk: &Desk, quota: &Quota, keys: u64, round: u64) {
    each_key(keys, round, |name| {
        let taken = desk.take(&Key::new(1, name, quota), 1);
        assert!(
            taken.fit.passes() && !taken.approximate,
            "{quota:?}, round {round}"
        );
        assert_eq!(taken.remaining, 1, "{quota:?}, round {round}");
    });
    each_key(keys, round, |name| {
        let taken = desk.take(&Key::new(1, name, quota), 2);
        assert!(
            denied(&taken) && !taken.approximate,
            "{quota:?}, round {round}"
        );
        assert_eq!(taken.remaining, 1, "{quota:?}, round {round}");
    });
}

fn each_key(keys: u64, round: u64, mut each: impl FnMut(&[u8])) {
    for number in 0..keys {
        each(&(round * keys + number).to_be_bytes());
    }
}
