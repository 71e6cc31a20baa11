//! How the writing goes, in figures.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How the writing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Figures {
    /// Batches that have been brought to the disk since the start, with one sync each.
    pub batches: u64,
    /// The time that they took.
    pub writing: Duration,
    /// The time that the latest took.
    pub latest: Duration,
    /// States that have changed and are not on disk yet; one that dies and comes back meanwhile may
    /// count again.
    pub pending: u64,
    /// The size of the file that holds the states, in bytes; 0 if the system does not tell.
    pub bytes: u64,
}

/// What the writer has done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    batches: AtomicU64,
    writing_us: AtomicU64,
    latest_us: AtomicU64,
    /// States of the batch that is being written, or could not be written yet.
    in_hand: AtomicU64,
}

impl Done {
    /// A batch of so many states is to be written.
    pub(crate) fn takes_up(&self, states: usize) {
        self.in_hand.store(states as u64, Relaxed);
    }

    /// Nothing is left to write of it.
    pub(crate) fn lays_down(&self) {
        self.in_hand.store(0, Relaxed);
    }

    /// One more batch is on disk.
    pub(crate) fn wrote(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.batches.fetch_add(1, Relaxed);
        self.writing_us.fetch_add(us, Relaxed);
        self.latest_us.store(us, Relaxed);
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches.load(Relaxed)
    }

    /// With what has changed since the latest batch was taken up.
    pub(crate) fn figures(&self, changed: u64, bytes: u64) -> Figures {
        Figures {
            batches: self.batches(),
            writing: Duration::from_micros(self.writing_us.load(Relaxed)),
            latest: Duration::from_micros(self.latest_us.load(Relaxed)),
            pending: changed.saturating_add(self.in_hand.load(Relaxed)),
            bytes,
        }
    }
}
