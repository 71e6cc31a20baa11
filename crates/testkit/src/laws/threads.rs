//! The same promises while many threads ask at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jeton_core::{Fit, Quota, Receipt};

use super::desk::{DAY, Desk, Key, START, concurrency, kinds, ticket};
use super::reservations::{Reservation, moot};
use super::{Make, repeats};
use crate::random::Random;

pub(super) const THREADS: u64 = 8;

fn takes_per_thread(make: Make<'_>) -> u64 {
    repeats(make, 2000, 100_000)
}

/// Eight threads on one key admit exactly its limit, on every algorithm, while their common clock
/// moves on by a microsecond with every take.
pub fn threads_admit_exactly_the_limit(make: Make<'_>) {
    let takes = takes_per_thread(make);
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
    let takes = takes_per_thread(make);
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

/// Eight threads hold and give back: never is more in flight than the limit, and in the end nothing
/// is.
pub fn threads_hold_at_most_the_limit(make: Make<'_>) {
    const LIMIT: u64 = 7;
    let desk = Desk::new(make);
    let quota = concurrency(LIMIT, DAY);
    let clock_us = AtomicU64::new(START);
    let keys = [b"a", b"b", b"c"].map(|name| Key::new(1, name, &quota));
    let takes = takes_per_thread(make);
    let in_flight = [const { AtomicU64::new(0) }; 3];
    let refused: u64 = on_threads(|thread| {
        let mut random = Random::new(thread);
        let mut refused = 0;
        for _ in 0..takes {
            let (at, units) = (random.index(keys.len()), random.between(1, 3));
            let now = desk.at(clock_us.fetch_add(random.below(2), Ordering::Relaxed));
            let held = now.hold(&keys[at], units);
            if !held.fit.passes() {
                refused += 1;
                continue;
            }
            let others = in_flight[at].fetch_add(units, Ordering::SeqCst);
            assert!(others + units <= LIMIT, "{others} and {units}");
            thread::yield_now();
            if random.once_in(2) {
                assert!(now.renew(&keys[at], held.receipt).fit.passes());
            }
            in_flight[at].fetch_sub(units, Ordering::SeqCst);
            let given = now.settle(&keys[at], held.receipt, 0);
            assert_eq!(given.fit, Fit::Settled { actual: 0 });
        }
        refused
    })
    .into_iter()
    .sum();
    assert!(refused > 0, "nobody ever met another");
    let end = desk.at(clock_us.into_inner());
    assert!(
        keys.iter()
            .all(|key| u64::from(end.remaining(key)) == LIMIT)
    );
}

/// Eight threads settle the same reservations, each at another cost: one of them does, all others
/// are told at what, and what the rule was given back is what that one gave.
pub fn threads_settle_a_reservation_once(make: Make<'_>) {
    const UNITS: u64 = 10;
    let count = takes_per_thread(make) / 8;
    let record = ticket(DAY);
    let ids: Vec<[u8; 8]> = (0..count).map(u64::to_be_bytes).collect();
    let mut quotas = kinds(count * UNITS, 30 * DAY).to_vec();
    quotas.push(concurrency(count * UNITS, DAY));
    for quota in &quotas {
        let desk = Desk::new(make);
        let key = Key::new(1, b"key", quota);
        let bookings: Vec<Reservation<'_>> = ids
            .iter()
            .map(|id| Reservation::new(key, id, &record))
            .collect();
        let reserve = |booking: &Reservation<'_>| {
            let (verdict, decisions) = booking.reserve(&desk, UNITS);
            assert!(verdict.allowed, "{quota:?}");
            decisions[0].receipt
        };
        let receipts: Vec<_> = bookings.iter().map(reserve).collect();
        assert_eq!(desk.remaining(&key), 0);
        let said = on_threads(|thread| {
            let mut random = Random::new(thread);
            let mut commit = |number: usize| {
                let actual = random.below(UNITS + 1);
                let (verdict, decisions) = bookings[number].commit(&desk, receipts[number], actual);
                match decisions[1].fit {
                    Fit::Settled { actual: told } if verdict.allowed => {
                        assert_eq!(u64::from(told), actual);
                        (told, 1)
                    }
                    Fit::Repeated { actual } if moot(&verdict) => (actual, 0),
                    other => panic!("{other:?} in {verdict:?}"),
                }
            };
            (0..bookings.len()).map(&mut commit).collect::<Vec<_>>()
        });
        let mut charged = 0;
        for number in 0..bookings.len() {
            let winners: u32 = said.iter().map(|thread| thread[number].1).sum();
            assert_eq!(winners, 1, "{quota:?}");
            let actual = said[0][number].0;
            assert!(said.iter().all(|thread| thread[number].0 == actual));
            charged += actual;
        }
        let used = quota.limit() - desk.remaining(&key);
        assert_eq!(used, charged, "{quota:?}");
    }
}

/// Eight threads reserve under the same ids and settle what any of them has reserved, all at random:
/// an id is given once, and what is charged in the end is what was settled, and what was not yet.
pub fn threads_reserve_and_settle_what_is_charged(make: Make<'_>) {
    const UNITS: u64 = 10;
    let count = takes_per_thread(make) / 10;
    let record = ticket(DAY);
    let ids: Vec<[u8; 8]> = (0..count).map(u64::to_be_bytes).collect();
    for quota in &kinds(count * UNITS / 2, 30 * DAY) {
        let desk = Desk::new(make);
        let key = Key::new(1, b"key", quota);
        let bookings: Vec<Reservation<'_>> = ids
            .iter()
            .map(|id| Reservation::new(key, id, &record))
            .collect();
        let receipts: Vec<Mutex<Option<Receipt>>> = ids.iter().map(|_| Mutex::default()).collect();
        let receipt_of = |number: usize| receipts[number].lock().expect("no thread panics");
        let charged: i64 = on_threads(|thread| {
            let mut random = Random::new(thread);
            let mut charged = 0;
            for _ in 0..2 * count {
                let number = random.index(ids.len());
                let known = *receipt_of(number);
                let Some(receipt) = known else {
                    let (verdict, decisions) = bookings[number].reserve(&desk, UNITS);
                    if verdict.allowed {
                        charged += 10;
                        let before = receipt_of(number).replace(decisions[0].receipt);
                        assert_eq!(before, None, "{quota:?}: an id was given twice");
                    }
                    continue;
                };
                let actual = random.below(UNITS + 1);
                let (verdict, decisions) = bookings[number].commit(&desk, receipt, actual);
                if verdict.allowed {
                    charged += i64::try_from(actual).expect("few") - 10;
                } else {
                    assert!(matches!(decisions[1].fit, Fit::Repeated { .. }));
                }
            }
            charged
        })
        .into_iter()
        .sum();
        let used = quota.limit() - desk.remaining(&key);
        assert_eq!(i64::from(used), charged, "{quota:?}");
    }
}

pub(super) fn on_threads<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
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
