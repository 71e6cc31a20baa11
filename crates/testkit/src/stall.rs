//! How long this machine kept a thread, or a runtime its tasks, from running: what a bound on time must
//! not be blamed for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(1);

/// Watches how late a thread wakes that wants to be woken every millisecond.
///
/// ```
/// let watch = jeton_testkit::stall::Watch::start();
/// let (stall, _) = watch.during(|| std::thread::sleep(std::time::Duration::from_millis(5)));
/// assert!(stall < std::time::Duration::from_secs(5));
/// ```
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    /// Lateness since somebody began to measure, in all.
    late_us: AtomicU64,
}

impl Watch {
    /// Starts watching.
    pub fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let watched = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            while !watched.is_over.load(Relaxed) {
                let asleep = Instant::now();
                thread::sleep(NAP);
                watched.woke(asleep);
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Watches a runtime as well: how late a task of its own wakes.
    #[cfg(feature = "proxy")]
    #[must_use]
    pub fn with(self, runtime: &tokio::runtime::Handle) -> Self {
        let watched = Arc::clone(&self.shared);
        runtime.spawn(async move {
            while !watched.is_over.load(Relaxed) {
                let asleep = Instant::now();
                tokio::time::sleep(NAP).await;
                watched.woke(asleep);
            }
        });
        self
    }

    /// Does `work`; how long the machine stood still meanwhile, and what it gave.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> (Duration, T) {
        let before_us = self.shared.late_us.load(Relaxed);
        let given = work();
        // One that stands still now has not been seen yet.
        thread::sleep(NAP);
        let late_us = self.shared.late_us.load(Relaxed) - before_us;
        (Duration::from_micros(late_us), given)
    }
}

impl Shared {
    /// Timers count in milliseconds: two for one are not late.
    fn woke(&self, asleep: Instant) {
        let late = asleep.elapsed().saturating_sub(3 * NAP);
        let late_us = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
        self.late_us.fetch_add(late_us, Relaxed);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
