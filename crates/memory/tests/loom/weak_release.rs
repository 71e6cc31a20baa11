//! The same lock, but that its release is relaxed: were the model blind, it would not notice.

#[allow(dead_code)] // one way of taking it is enough here
#[path = "../../src/raw/lock.rs"]
pub(crate) mod lock;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::AtomicBool;
    pub(crate) use loom::thread::{yield_now, yield_now as nap};

    #[allow(non_snake_case)]
    pub(crate) mod Ordering {
        pub(crate) use loom::sync::atomic::Ordering::{Acquire, Relaxed, Relaxed as Release};
    }
}
