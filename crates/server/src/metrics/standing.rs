//! Which policy is in force, and what became of the file that it was read from.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// What the latest reload did to the rules, by name, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reloaded {
    /// The policy that it put into force, counted from 1.
    pub generation: u64,
    /// Rules that go on as they were.
    pub kept: Vec<String>,
    /// Rules that go on with their counters and what was used of them, under other settings.
    pub changed: Vec<String>,
    /// Rules that begin with nothing used: new ones, and those whose counter is another one now.
    pub anew: Vec<Anew>,
    /// Rules that are no more.
    pub removed: Vec<String>,
}

/// A rule that begins with nothing used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anew {
    /// Its name.
    pub rule: String,
    /// Why, in a few words.
    pub why: String,
}

/// The state of reloading, shared by whoever does it and whoever tells of it.
#[derive(Debug)]
pub(super) struct Standing {
    generation: AtomicU64,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    refusal: Option<Arc<str>>,
    reloaded: Option<Arc<Reloaded>>,
}

impl Standing {
    pub(super) fn new(generation: u64) -> Self {
        Self {
            generation: AtomicU64::new(generation),
            told: Mutex::default(),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Another policy is in force; gives its number, and whether files were refused before.
    pub(super) fn swapped(&self, tell: impl FnOnce(u64) -> Reloaded) -> (Arc<Reloaded>, bool) {
        let mut told = self.told();
        let generation = self.generation().saturating_add(1);
        let reloaded = Arc::new(tell(generation));
        self.generation.store(generation, Ordering::Release);
        told.reloaded = Some(Arc::clone(&reloaded));
        (reloaded, told.refusal.take().is_some())
    }

    pub(super) fn refused(&self, why: Arc<str>) {
        self.told().refusal = Some(why);
    }

    pub(super) fn refusal(&self) -> Option<Arc<str>> {
        self.told().refusal.clone()
    }

    pub(super) fn reloaded(&self) -> Option<Arc<Reloaded>> {
        self.told().reloaded.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
