//! What all regions draw from: keys and bytes.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters are exact at any moment; they order nothing else, hence relaxed. On a cache line of its
/// own, apart from what every decision reads.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Budget {
    pub(crate) max_keys: u64,
    pub(crate) max_bytes: u64,
    keys: AtomicU64,
    bytes: AtomicU64,
}

impl Budget {
    pub(crate) const fn new(max_keys: u64, max_bytes: u64) -> Self {
        Self {
            max_keys,
            max_bytes,
            keys: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn keys(&self) -> u64 {
        self.keys.load(Relaxed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Takes one key, if one is left.
    pub(crate) fn take_key(&self) -> bool {
        take(&self.keys, 1, self.max_keys)
    }

    pub(crate) fn give_key(&self) {
        self.keys.fetch_sub(1, Relaxed);
    }

    /// Takes `bytes`, if so many are left.
    pub(crate) fn take_bytes(&self, bytes: u64) -> bool {
        take(&self.bytes, bytes, self.max_bytes)
    }

    /// Takes `bytes` that are in use already, whether they are left or not.
    pub(crate) fn charge_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn give_bytes(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Whether less than an eighth is left.
    pub(crate) fn is_short(&self) -> bool {
        let short = |used: u64, most: u64, few| used.saturating_add(most / 8 + few) > most;
        short(self.keys(), self.max_keys, 16) || short(self.bytes(), self.max_bytes, 0)
    }

    /// Whether a key is left, without taking it.
    pub(crate) fn has_key(&self) -> bool {
        self.keys() < self.max_keys
    }

    /// Whether `bytes` are left, without taking them.
    pub(crate) fn has_bytes(&self, bytes: u64) -> bool {
        self.bytes().saturating_add(bytes) <= self.max_bytes
    }
}

fn take(counter: &AtomicU64, amount: u64, most: u64) -> bool {
    let more = |now: u64| now.checked_add(amount).filter(|sum| *sum <= most);
    counter.fetch_update(Relaxed, Relaxed, more).is_ok()
}
