//! One indivisible step under many threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use jeton_core::{Answers, Cost, Micros, Op, Plan, RuleId};
use jeton_memory::Overflow;

use crate::{Random, SECOND, allowed, bucket, counter, fixed, log, table, take};

const THREADS: u64 = 8;
const TAKES: u64 = 100_000;

#[test]
fn eight_threads_on_one_key_admit_exactly_the_limit() {
    let limit = 300_007;
    let year = 31_536_000 * SECOND;
    for quota in [
        bucket(1, year / 2_000_000, limit),
        fixed(limit, year),
        counter(limit, year),
        log(limit, year),
    ] {
        let table = table(1_000, 64 << 20, Overflow::Share);
        let admitted = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let passed = (0..TAKES).filter(|_| allowed(&take(&table, "k", &quota, 5)));
                    admitted.fetch_add(passed.count() as u64, Relaxed);
                });
            }
        });
        assert_eq!(admitted.into_inner(), limit, "{quota:?}");
    }
}

/// Plans over random pairs of keys: what was charged to each key is what the plans that passed
/// asked of it, and no key passes its limit; plans that name the same keys in any order never wait
/// for each other for ever.
#[test]
fn eight_threads_on_random_pairs_charge_what_they_admit() {
    let (keys, limit) = (200, 2_500);
    let year = 31_536_000 * SECOND;
    let quotas = [fixed(limit, year), log(limit, year), counter(limit, year)];
    let table = table(10_000, 64 << 20, Overflow::Share);
    let charged: Vec<AtomicU64> = (0..keys).map(|_| AtomicU64::new(0)).collect();
    let quota_of = |key: u64| &quotas[usize::try_from(key % 3).unwrap()];
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, charged) = (&table, &charged);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut answers = Answers::new();
                for _ in 0..TAKES {
                    let a = random.below(keys);
                    let b = (a + 1 + random.below(keys - 1)) % keys;
                    let names = [a, b].map(u64::to_le_bytes);
                    let costs = [1 + random.below(3), 1 + random.below(3)];
                    let op = |i: usize, key| {
                        Op::take(
                            RuleId::new(1),
                            &names[i],
                            quota_of(key),
                            Cost::new(costs[i]),
                        )
                    };
                    let ops = [op(0, a), op(1, b)];
                    answers.clear();
                    table.decide(
                        Plan::new(&ops).unwrap(),
                        Micros::new(5),
                        &mut (),
                        &mut answers,
                    );
                    if answers.plan(0).0.unwrap().allowed {
                        for (key, cost) in [a, b].into_iter().zip(costs) {
                            let key = usize::try_from(key).unwrap();
                            charged[key].fetch_add(cost, Relaxed);
                        }
                    }
                }
            });
        }
    });
    let mut full = 0;
    for (key, charged) in (0..).zip(&charged) {
        let charged = charged.load(Relaxed);
        let quota = quota_of(key);
        let name = key.to_le_bytes();
        let look = table.take(RuleId::new(1), &name, quota, Cost::ZERO, Micros::new(5));
        assert_eq!(u64::from(look.remaining), limit - charged, "key {key}");
        full += u64::from(charged > limit - 3);
    }
    // The load is far above the limits: nearly every key ends full.
    assert!(full > keys / 2, "{full}");
}

/// Runs `work` on a thread of its own; threads that wait for each other for ever are a failure, not a
/// test that hangs.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).ok();
    });
    let waited = finished.recv_timeout(Duration::from_secs(60));
    assert_ne!(
        waited,
        Err(RecvTimeoutError::Timeout),
        "threads wait for each other"
    );
    worker.join().unwrap();
}

/// Large plans in opposite orders, on few keys of a table that is full, so that claims, cleaning
/// elsewhere and shared cells all happen at once; over as many regions as a plan has keys, or fewer.
#[test]
fn opposite_orders_on_a_full_table_do_not_deadlock() {
    for (max_keys, regions) in [(64, 1), (128, 2), (256, 4), (1_024, 16)] {
        within_a_minute(move || opposite_orders(max_keys, regions));
    }
}

fn opposite_orders(max_keys: u64, regions: usize) {
    let table = table(max_keys, 1 << 20, Overflow::Share);
    assert_eq!(table.regions(), regions);
    let quota = log(1_000, SECOND);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, quota) = (&table, &quota);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut answers = Answers::new();
                for step in 0..2_500 {
                    let first = random.below(2 * max_keys);
                    let mut names: Vec<_> = (first..first + 20).map(u64::to_le_bytes).collect();
                    if thread % 2 == 0 {
                        names.reverse();
                    }
                    let ops: Vec<_> = names
                        .iter()
                        .map(|name| Op::take(RuleId::new(1), name, quota, Cost::ONE))
                        .collect();
                    answers.clear();
                    let now = Micros::new(step * 500);
                    table.decide(Plan::new(&ops).unwrap(), now, &mut (), &mut answers);
                    assert_eq!(answers.plan(0).1.len(), 20);
                }
            });
        }
    });
    let stats = table.stats();
    assert!(stats.keys <= max_keys && stats.overflowed > 0, "{stats:?}");
}

/// Every key is charged by two threads while floods come and go: nobody gets more than its limit.
#[test]
fn keys_keep_their_counts_while_the_table_grows_and_shrinks_under_them() {
    let quota = fixed(1_000, 31_536_000 * SECOND);
    let flood = bucket(1, 100, 1);
    let table = table(50_000, 16 << 20, Overflow::Share);
    let counts: Vec<HashMap<u64, u64>> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let (table, quota, flood) = (&table, &quota, &flood);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut passed = HashMap::new();
                for n in 0..40_000 {
                    let key = random.below(100);
                    if allowed(&take(table, &format!("{key}"), quota, n)) {
                        *passed.entry(key).or_insert(0) += 1;
                    }
                    let (burst, name) = (n / 4_000 % 2, random.next());
                    if burst == 0 {
                        take(table, &format!("flood {name}"), flood, n);
                    }
                }
                passed
            })
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for key in 0..100 {
        let passed: u64 = counts.iter().filter_map(|counts| counts.get(&key)).sum();
        assert_eq!(passed, 1_000, "key {key}");
    }
}
