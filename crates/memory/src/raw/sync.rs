//! What the lock is made of. The model in `tests/loom` puts other parts in their place, which try out
//! every order that the steps of several threads can come in.

pub(crate) use core::hint::spin_loop;
pub(crate) use core::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::thread::yield_now;

use std::thread::sleep;
use std::time::Duration;

/// A value to be reached by pointers, whoever holds a reference to it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Calls `f` with a pointer to read through.
    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer to write through.
    #[inline]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// Sleeps for as short as makes sense.
pub(crate) fn nap() {
    sleep(Duration::from_micros(50));
}
