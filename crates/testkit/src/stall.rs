//! How long this machine kept programs from running, or a runtime its tasks: what a bound on time must
//! not be blamed for.
//!
//! On a machine with nothing else to do that is next to nothing, and bounds are what they say.

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

    /// How long something stood still, in all, since the watch was started.
    pub fn late(&self) -> Duration {
        Duration::from_micros(self.shared.late_us.load(Relaxed) + waited_us())
    }

    /// Does `work`; how long the machine stood still meanwhile, and what it gave.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> (Duration, T) {
        let before = self.late();
        let given = work();
        // One that stands still now has not been seen yet.
        thread::sleep(NAP);
        (self.late().saturating_sub(before), given)
    }

    /// Asserts that `work` is over within `limit`, and the time that the machine stood still.
    pub fn within<T>(&self, limit: Duration, work: impl FnOnce() -> T) -> T {
        let (stall, (took, given)) = self.during(|| {
            let start = Instant::now();
            let given = work();
            (start.elapsed(), given)
        });
        assert!(
            took <= limit + stall,
            "{took:?}, not {limit:?} and {stall:?}"
        );
        given
    }

    /// Waits until something is so, which must come within `limit` and the time that the machine stood
    /// still, and within ten times `limit` on any machine.
    pub fn until(&self, limit: Duration, mut is_so: impl FnMut() -> bool) {
        let (before, start) = (self.late(), Instant::now());
        while !is_so() {
            let stall = self.late().saturating_sub(before).min(9 * limit);
            let waited = start.elapsed();
            assert!(waited < limit + stall, "not after {waited:?} and {stall:?}");
            thread::sleep(5 * NAP);
        }
    }
}

/// How long some program could not run since all processors were busy, in all: as Linux tells.
fn waited_us() -> u64 {
    let told = std::fs::read_to_string("/proc/pressure/cpu").unwrap_or_default();
    let total = told
        .lines()
        .next()
        .and_then(|line| line.split_once("total="));
    total
        .and_then(|(_, us)| us.trim().parse().ok())
        .unwrap_or(0)
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
