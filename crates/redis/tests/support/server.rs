//! Stores on the servers that tests start.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jeton_core::{Answers, Plan, Store as _, Submitted, When};
use jeton_redis::{RedisStore, Settings};
use tokio::runtime::Runtime;

pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
});

/// Settings for a store that is given time, with a prefix that nobody else has.
pub(crate) fn settings(url: String) -> Settings {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Settings {
        timeout: Duration::from_secs(20),
        prefix: format!("{}-{number}:", std::process::id()),
        ..Settings::new(url)
    }
}

pub(crate) fn open(settings: &Settings) -> RedisStore {
    RedisStore::open(settings, RUNTIME.handle()).unwrap()
}

/// Waits for an answer.
pub(crate) fn submit(store: &RedisStore, plans: &[Plan<'_>], when: When) -> Answers {
    let mut out = Answers::new();
    match store.submit(plans, when, &mut out) {
        Submitted::Done => out,
        Submitted::Later(answers) => RUNTIME.block_on(answers),
    }
}
