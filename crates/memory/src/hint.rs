//! Where a region's slots stand, readable without its lock: a guess, good for nothing but asking for
//! a cache line early. One that is out of date costs a wasted line.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::array::{Array, home};
use crate::raw::prefetch::prefetch;
use crate::slot::Slot;

#[derive(Debug, Default)]
pub(crate) struct Hint {
    address: AtomicUsize,
    len: AtomicUsize,
}

impl Hint {
    /// Remembers where the slots are now.
    pub(crate) fn set(&self, slots: &Array) {
        self.address.store(slots.address(), Relaxed);
        self.len.store(slots.len(), Relaxed);
    }

    /// Asks for the line of the slot at which the search for `hash` begins.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let at = home(hash, self.len.load(Relaxed));
        let address = self.address.load(Relaxed);
        prefetch(address.wrapping_add(at * size_of::<Slot>()));
    }
}
