//! Folders, clocks and callers.

use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use jeton_core::{
    Act, Answers, Cost, Decision, Micros, Op, Plan, Quota, Rate, RuleId, Span, Store, StoreError,
    Submitted, Verdict, When,
};
use jeton_disk::{DiskStore, Settings, Sync};
use tempfile::TempDir;

pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const DAY: u64 = 86_400 * SECOND;
/// A day in 2026.
pub(crate) const START: u64 = 20_460 * DAY;

pub(crate) const SECONDLY: Sync = Sync::Every(Duration::from_secs(1));
pub(crate) const BOTH: [Sync; 2] = [SECONDLY, Sync::Always];

/// A folder for what need not outlast the machine, in memory where there is such a place.
pub(crate) fn quick_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        TempDir::new_in(memory).unwrap()
    } else {
        TempDir::new().unwrap()
    }
}

pub(crate) fn settings(path: &Path, sync: Sync) -> Settings {
    Settings {
        sync,
        table: jeton_memory::Settings {
            max_keys: 200_000,
            ..jeton_memory::Settings::default()
        },
        ..Settings::new(path)
    }
}

pub(crate) fn open(path: &Path, sync: Sync, now_us: u64) -> DiskStore {
    DiskStore::open(&settings(path, sync), Micros::new(now_us)).unwrap()
}

pub(crate) fn span(us: u64) -> Span {
    Span::from_micros(us).unwrap()
}

pub(crate) fn log(limit: u64, us: u64) -> Quota {
    Quota::sliding_log(limit, span(us)).unwrap()
}

pub(crate) fn bucket(units: u64, us: u64, burst: u64) -> Quota {
    Quota::bucket(Rate::new(units, span(us)).unwrap(), burst).unwrap()
}

/// One quota of every kind that is charged by a take.
pub(crate) fn kinds(limit: u64, us: u64) -> [Quota; 5] {
    use jeton_core::Anchor::{Epoch, FirstRequest};
    [
        bucket(limit, us, limit),
        Quota::fixed_window(limit, span(us), Epoch).unwrap(),
        Quota::fixed_window(limit, span(us), FirstRequest).unwrap(),
        Quota::sliding_counter(limit, span(us)).unwrap(),
        log(limit, us),
    ]
}

pub(crate) fn decide(
    store: &dyn Store,
    ops: &[Op<'_>],
    now_us: u64,
) -> (Result<Verdict, StoreError>, Vec<Decision>) {
    let mut out = Answers::new();
    let plan = Plan::new(ops).unwrap();
    let out = match store.submit(&[plan], When::At(Micros::new(now_us)), &mut out) {
        Submitted::Done => out,
        Submitted::Later(answers) => wait_for(answers),
    };
    let (verdict, decisions) = out.plan(0);
    (verdict, decisions.to_vec())
}

pub(crate) fn act(
    store: &dyn Store,
    key: &[u8],
    quota: &Quota,
    act: Act,
    now_us: u64,
) -> Result<Decision, StoreError> {
    let op = Op::new(RuleId::new(1), key, quota, act);
    let (verdict, decisions) = decide(store, &[op], now_us);
    verdict.map(|_| decisions[0])
}

/// Takes one unit; whether it passes.
pub(crate) fn take(
    store: &dyn Store,
    key: &[u8],
    quota: &Quota,
    now_us: u64,
) -> Result<bool, StoreError> {
    let take = Act::Take { cost: Cost::ONE };
    act(store, key, quota, take, now_us).map(|decision| decision.fit.passes())
}

pub(crate) fn remaining(store: &dyn Store, key: &[u8], quota: &Quota, now_us: u64) -> u32 {
    let look = Act::Peek { cost: Cost::ZERO };
    act(store, key, quota, look, now_us).unwrap().remaining
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
            return ready;
        }
        thread::park();
    }
}
