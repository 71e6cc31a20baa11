//! A lock that costs one atomic step to take and a plain write to give back.
//!
//! A region is held for some tens of nanoseconds, and there are so many that two threads seldom meet
//! in one: what counts is the way of a thread that meets nobody. A lock of the system's pays a second
//! atomic step to find out whether someone must be woken; here nobody is. Who finds it taken looks
//! again for as long as a holder at work would need, then lets others run, and when even that does not
//! help (the holder has lost its processor to a thread of higher priority) sleeps between looks.

use core::ops::{Deref, DerefMut};

use super::sync::Ordering::{Acquire, Relaxed, Release};
use super::sync::{AtomicBool, UnsafeCell, nap, spin_loop, yield_now};

/// Looks before others are let run.
const SPINS: u32 = 64;
/// Looks before it sleeps between them.
const YIELDS: u32 = 64;

/// A value that one thread at a time works on.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Lock<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a `Guard` alone, of which there is one at a time. So threads
// that share the lock hand the value on from one to the other, which `T: Send` allows, and a guard that
// several look through needs `T: Sync`.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// Waits for its turn.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if !self.take() {
            self.wait();
        }
        Guard { lock: self }
    }

    /// The value, unless somebody works on it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.take().then(|| Guard { lock: self })
    }

    #[inline]
    fn take(&self) -> bool {
        // Acquire: what earlier holders wrote is seen.
        self.is_taken
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut looks = 0_u32;
        while self.is_taken.load(Relaxed) || !self.take() {
            match looks {
                0..SPINS => spin_loop(),
                SPINS.. if looks < SPINS + YIELDS => yield_now(),
                _ => nap(),
            }
            looks = looks.saturating_add(1);
        }
    }
}

/// The right to work on the value. A holder that panics gives it back like any other.
#[derive(Debug)]
#[must_use = "the lock is given back as soon as this is dropped"]
pub(crate) struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

#[allow(unsafe_code)]
impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one until it is dropped, and no mutable reference out of it
        // outlives the borrow of it.
        self.lock.value.with(|value| unsafe { &*value })
    }
}

#[allow(unsafe_code)]
impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and this guard is borrowed mutably.
        self.lock.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // Release: the next holder sees what this one wrote.
        self.lock.is_taken.store(false, Release);
    }
}
