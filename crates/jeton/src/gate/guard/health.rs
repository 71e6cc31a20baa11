//! How the store has fared, as far as calls that are out have told.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::{Answers, Micros, StoreErrorKind};

use crate::clock::Clock;
use crate::gate::breaker::{Breaker, Mood, is_of_store};

/// How the store has fared, shared with calls that are out.
#[derive(Debug)]
pub(super) struct Health {
    /// The breaker's [`Mood`], to be read without its lock: all that a store costs that never fails.
    mood: AtomicU8,
    breaker: Mutex<Breaker>,
    pub(super) clock: Clock,
}

impl Health {
    pub(super) fn new(breaker: Breaker, clock: Clock) -> Self {
        Self {
            mood: AtomicU8::new(Mood::Calm as u8),
            breaker: Mutex::new(breaker),
            clock,
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.mood.load(Relaxed) == Mood::Away as u8
    }

    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.mood.load(Relaxed) == Mood::Calm as u8
    }

    #[cold]
    pub(super) fn refuses(&self) -> Option<StoreErrorKind> {
        self.change(Breaker::refuses)
    }

    /// One plan that was answered is an answer.
    #[cold]
    pub(super) fn learn(&self, answers: &Answers, plans: usize) {
        let failure = |plan| answers.plan(plan).0.err().map(|error| error.kind);
        let of_store = |kind: &StoreErrorKind| is_of_store(*kind);
        let failures = || (0..plans).map(|plan| failure(plan).filter(of_store));
        if let Some(why) = failures().flatten().next() {
            self.failed(why);
        }
        if failures().any(|failure| failure.is_none()) {
            self.change(Breaker::answered);
        }
    }

    pub(super) fn failed(&self, why: StoreErrorKind) {
        self.change(|breaker, now| breaker.failed(why, now));
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Breaker, Micros) -> T) -> T {
        let now = self.clock.now();
        let mut breaker = self.breaker();
        let changed = change(&mut breaker, now);
        self.mood.store(breaker.mood() as u8, Relaxed);
        changed
    }

    /// No change leaves a breaker that others could not go on with.
    pub(super) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
