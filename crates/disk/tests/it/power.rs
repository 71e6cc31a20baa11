//! A power cut: what was not synced is lost, or half of it is there, in any order.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use jeton_core::Micros;
use jeton_disk::{DiskStore, Sync};
use jeton_testkit::random::Random;

use crate::load::{Charged, Over, PAIRS, THREADS, charged, drive};
use crate::media::Moody;
use crate::support::{START, open, quick_folder, settings};

fn cuts() -> u64 {
    if jeton_testkit::laws::full_size() {
        200
    } else {
        20
    }
}

/// Cuts the power again and again under load: `may_be_lost` of answers may be missing after it.
fn cut_under_load(sync: Sync, may_be_lost: Duration) {
    let folder = quick_folder();
    let disk = Moody::new();
    let settings = settings(folder.path(), sync);
    let store = DiskStore::open_on(Arc::new(disk.clone()), &settings, Micros::new(START)).unwrap();
    let (is_over, answered) = (AtomicBool::new(false), Answered::default());
    let mut random = Random::new(11);
    thread::scope(|scope| {
        let _over = Over(&is_over);
        let (store, is_over, answered) = (&store, &is_over, &answered);
        let free = sync != Sync::Always;
        scope.spawn(move || drive(store, free, is_over, &|pair| answered.note(pair)));
        for cut in 0..cuts() {
            thread::sleep(Duration::from_millis(random.between(1, 120)));
            let before = answered.counts();
            let bytes = disk.after_power_cut(&mut random);
            let after = answered.counts();
            let other = quick_folder();
            std::fs::write(other.path().join("states.redb"), bytes).unwrap();
            let found = charged(&open(other.path(), sync, START));
            for pair in 0..PAIRS {
                assert!(
                    found[pair] <= after[pair] + THREADS,
                    "cut {cut}: {found:?}, {after:?}"
                );
                if found[pair] < before[pair] {
                    let lost = answered.between(pair, found[pair], before[pair] - 1);
                    assert!(
                        lost < may_be_lost,
                        "cut {cut}: {lost:?} of answers are missing"
                    );
                }
            }
        }
    });
    assert!(answered.counts().iter().all(|&count| count > 10));
}

/// Every answer, and when it came.
#[derive(Default)]
struct Answered {
    counts: [AtomicU64; PAIRS],
    at: [Mutex<Vec<Instant>>; PAIRS],
}

impl Answered {
    fn note(&self, pair: usize) {
        self.at[pair].lock().unwrap().push(Instant::now());
        self.counts[pair].fetch_add(1, SeqCst);
    }

    fn counts(&self) -> Charged {
        core::array::from_fn(|pair| self.counts[pair].load(SeqCst))
    }

    /// The time between two answers.
    fn between(&self, pair: usize, first: u64, last: u64) -> Duration {
        let at = self.at[pair].lock().unwrap();
        let [first, last] = [first, last].map(|number| at[usize::try_from(number).unwrap()]);
        last - first
    }
}

#[test]
fn with_always_every_answer_outlasts_a_power_cut() {
    cut_under_load(Sync::Always, Duration::ZERO);
}

#[test]
fn with_a_span_no_more_than_that_is_lost_in_a_power_cut() {
    let span = Duration::from_millis(200);
    cut_under_load(Sync::Every(span), span + Duration::from_millis(30));
}
