//! Callers that never stop: what they were granted, and whether they are still refused an answer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use jeton_core::{Cost, Fit, Op, Plan, Quota, RuleId, Span, When};
use jeton_redis::RedisStore;

use crate::server::submit;

const CALLERS: usize = 4;

/// What became of calls so far.
#[derive(Debug, Default)]
pub(crate) struct Load {
    granted: AtomicU64,
    failed: AtomicU64,
    /// Calls answered since the latest failure.
    answered: AtomicU64,
    is_over: AtomicBool,
}

impl Load {
    /// Takes single units of all `keys` in turn, each limited to so many, while `meanwhile` goes on.
    pub(crate) fn run(
        store: &RedisStore,
        keys: u64,
        limit: u64,
        meanwhile: impl FnOnce(&Self),
    ) -> Self {
        let load = Self::default();
        let day = Span::from_micros(86_400_000_000).unwrap();
        let quota = Quota::sliding_log(limit, day).unwrap();
        thread::scope(|scope| {
            for caller in 0..CALLERS as u64 {
                let (load, quota) = (&load, &quota);
                scope.spawn(move || {
                    for number in caller.. {
                        if load.is_over.load(SeqCst) {
                            return;
                        }
                        load.take(store, (number % keys).to_be_bytes(), quota);
                    }
                });
            }
            meanwhile(&load);
            load.is_over.store(true, SeqCst);
        });
        load
    }

    fn take(&self, store: &RedisStore, key: [u8; 8], quota: &Quota) {
        let op = Op::take(RuleId::new(1), &key, quota, Cost::ONE);
        let answers = submit(store, &[Plan::one(&op)], When::StoreClock);
        match answers.plan(0) {
            (Ok(_), decisions) => {
                let granted = u64::from(decisions[0].fit == Fit::Allowed);
                self.granted.fetch_add(granted, SeqCst);
                self.answered.fetch_add(1, SeqCst);
            }
            (Err(_), _) => {
                self.failed.fetch_add(1, SeqCst);
                self.answered.store(0, SeqCst);
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    pub(crate) fn granted(&self) -> u64 {
        self.granted.load(SeqCst)
    }

    /// Calls that failed, each of which may have been charged all the same.
    pub(crate) fn unanswered(&self) -> u64 {
        self.failed.load(SeqCst)
    }

    /// Waits until some call has failed.
    pub(crate) fn is_noticed(&self) {
        self.wait("nobody noticed", |load| load.failed.load(SeqCst) > 0);
    }

    /// Waits until calls are answered one after the other, and all that is left has been granted.
    pub(crate) fn is_spent(&self) {
        self.wait("errors go on", |load| load.answered.load(SeqCst) > 200);
        let mut before = u64::MAX;
        self.wait("it never ends", |load| {
            thread::sleep(Duration::from_millis(500));
            let now = load.granted();
            std::mem::replace(&mut before, now) == now
        });
    }

    fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "{what}: {self:?}"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}
