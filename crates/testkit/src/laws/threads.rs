//! The same promises while many threads ask at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jeton_core::Quota;

use super::desk::{DAY, Desk, Key, START, kinds};
use super::{Make, full_size};
use crate::random::Random;

const THREADS: u64 = 8;

fn takes_per_thread() -> u64 {
    if full_size() { 100_000 } else { 2000 }
}

/// Eight threads on one key admit exactly its limit, on every algorithm, while their common clock
/// moves on by a microsecond with every take.
pub fn threads_admit_exactly_the_limit(make: Make<'_>) {
    let takes = takes_per_thread();
    let limit = THREADS * takes * 3 / 8;
    for quota in kinds(limit, 30 * DAY) {
        let desk = Desk::new(make);
        let clock_us = AtomicU64::new(START);
        let key = Key::new(1, b"one", &quota);
        let admitted: u64 = on_threads(|_| {
            let pass = || {
                let desk = desk.at(clock_us.fetch_add(1, Ordering::Relaxed));
                u64::from(desk.take(&key, 1).fit.passes())
            };
            (0..takes).map(|_| pass()).sum::<u64>()
        })
        .into_iter()
        .sum();
        assert_eq!(admitted, limit, "{quota:?}");
        let end = desk.at(clock_us.into_inner());
        assert_eq!(end.remaining(&key), 0, "{quota:?}");
    }
}

/// Eight threads take from random pairs of keys of different algorithms: what each key has been
/// charged is what was admitted for it.
pub fn threads_on_random_pairs_charge_what_they_admit(make: Make<'_>) {
    const NAMES: usize = 16;
    let takes = takes_per_thread();
    let desk = Desk::new(make);
    let quotas = kinds(THREADS * takes / 5, 30 * DAY);
    let names: Vec<[u8; 8]> = (0..NAMES).map(usize::to_be_bytes).collect();
    let key = |number: usize| Key::new(3, &names[number], &quotas[number % quotas.len()]);

    let charged_by_thread = on_threads(|thread| {
        let mut random = Random::new(thread);
        let mut charged = [0; NAMES];
        for _ in 0..takes {
            let first = random.index(NAMES);
            let second = (first + 1 + random.index(NAMES - 1)) % NAMES;
            let costs = [random.between(1, 3), random.between(1, 3)];
            let plan = [key(first).take(costs[0]), key(second).take(costs[1])];
            if desk.plan(&plan).0.allowed {
                charged[first] += costs[0];
                charged[second] += costs[1];
            }
        }
        charged
    });

    let mut filled = 0;
    for number in 0..NAMES {
        let charged: u64 = charged_by_thread.iter().map(|thread| thread[number]).sum();
        let quota: &Quota = key(number).quota;
        let used = u64::from(quota.limit() - desk.remaining(&key(number)));
        assert_eq!(used, charged, "key {number}: {quota:?}");
        filled += u64::from(used + 3 > u64::from(quota.limit()));
    }
    assert!(filled > 0, "no key was ever full: nothing was denied");
}

fn on_threads<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"))
            .collect()
    })
}
