//! Traces on which engine and model once differed, cut down to what they need.

use jeton_testkit::model::ModelQuota;
use jeton_testkit::trace::{Ask, Event, Family, replay};

use crate::engine::Engine;

const SECOND: u64 = 1_000_000;

fn holds(family: Family, events: &[(u64, ModelQuota, Ask)]) {
    let numbered = events.iter().enumerate();
    let events: Vec<Event> = numbered
        .map(|(number, &(now_us, quota, ask))| Event {
            number,
            now_us,
            quota,
            ask,
        })
        .collect();
    if let Err(difference) = replay(family, &events, || Engine::new(false)) {
        panic!("{difference}");
    }
}

const fn take(cost: u64) -> Ask {
    Ask::Take { cost }
}

const fn settle(of: usize, actual: u64) -> Ask {
    Ask::Settle {
        of,
        actual,
        max_debt: u64::MAX,
    }
}

const fn bucket(units: u64, per_us: u64, burst: u64) -> ModelQuota {
    ModelQuota::Bucket {
        units,
        per_us,
        burst,
    }
}

/// The denial stated the wait to the end of the new quota's window and left the old end in the
/// state, so that the window was over before the wait.
#[test]
fn a_wait_under_a_changed_window_is_true() {
    let old = ModelQuota::FixedWindow {
        limit: 59,
        window_us: 3 * SECOND / 2,
        epoch: true,
    };
    let new = ModelQuota::FixedWindow {
        limit: 53,
        window_us: 60 * SECOND,
        epoch: true,
    };
    let start = 30_000 * SECOND;
    let events = [
        (start, old, take(56)),
        (start + 10, new, take(1)),
        (start + 60 * SECOND - 1, new, take(1)),
        (start + 60 * SECOND, new, take(1)),
    ];
    holds(Family::EpochWindow, &events);
}

/// The parts of a microsecond in a receipt were taken for parts of the new rate: 5/7 µs were read
/// as 5/1, and a settle gave back more than was out.
#[test]
fn a_receipt_is_read_under_another_rate() {
    let (old, new) = (bucket(7, 11, 44), bucket(1, 1, 1_000_000_000));
    let events = [
        (140, old, take(44)),
        (177, old, take(22)),
        (233, new, take(999_999_999)),
        (233, new, settle(1, 0)),
    ];
    holds(Family::Bucket, &events);
}

/// A bucket refunded to full still said a microsecond to its reset.
#[test]
fn a_bucket_refunded_to_full_has_nothing_to_wait_for() {
    let quota = bucket(3, 2 * SECOND, 17);
    let events = [
        (SECOND, quota, take(2)),
        (SECOND + 666_667, quota, take(1)),
        (SECOND + 666_666, quota, Ask::Give { units: 17 }),
    ];
    holds(Family::Bucket, &events);
}

/// Units owed under a fast rate, read under one that would take longer than all time for them.
#[test]
fn no_wait_ends_after_all_time() {
    let events = [
        (
            50 * SECOND,
            bucket(1_000_000, 172_800 * SECOND, 2_000_000),
            take(884_409),
        ),
        (50 * SECOND + 1, bucket(3, 41_584_680_151, 3), take(1)),
    ];
    holds(Family::Bucket, &events);
}

/// An anchor that another rate reads as a microsecond later than now is ahead of the clock.
#[test]
fn an_anchor_rounded_up_past_now_is_moved_to_now() {
    let (old, new) = (bucket(7, 11, 7), bucket(1, 1, 18));
    let events = [
        (770, old, Ask::Hold { cost: 7 }),
        (780, old, take(1)),
        (779, new, take(1)),
        (779, new, Ask::Peek { cost: 18 }),
    ];
    holds(Family::Bucket, &events);
}

/// With only a debt in force, a new charge is what leaves first.
#[test]
fn a_charge_leaves_a_log_before_a_debt() {
    let quota = ModelQuota::SlidingLog {
        limit: 9,
        window_us: 7 * SECOND,
    };
    let events = [
        (100 * SECOND, quota, take(9)),
        (101 * SECOND, quota, settle(0, 13)),
        (107 * SECOND, quota, take(1)),
        (107 * SECOND, quota, Ask::Peek { cost: 9 }),
    ];
    holds(Family::SlidingLog, &events);
}

/// A clock that went to and fro by decades had taken raw time past the last instant that can be
/// stored, where a receipt no longer named its entry.
#[test]
fn a_receipt_names_its_log_entry_however_far_raw_time_has_run_ahead() {
    let quota = ModelQuota::SlidingLog {
        limit: 22,
        window_us: 315_360_000_000_000,
    };
    let events = [
        (3_236_962_232_172_544, quota, take(1)),
        (2_859_315_404_670_032, quota, take(1)),
        (3_153_600_000_000_000, quota, take(11)),
        (3_236_962_232_172_525, quota, take(1)),
        (2_627_765_831_200_321, quota, take(11)),
        (2_923_959_841_991_690, quota, take(3)),
        (3_162_964_083_071_748, quota, Ask::Hold { cost: 1 }),
        (2_847_604_838_232_156, quota, take(1)),
        (2_923_959_841_991_689, quota, take(1)),
        (3_236_962_232_172_544, quota, take(1)),
        (3_236_962_232_172_544, quota, settle(9, 0)),
    ];
    holds(Family::SlidingLog, &events);
}
