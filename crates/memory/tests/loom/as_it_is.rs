#[path = "../../src/raw/lock.rs"]
pub(crate) mod lock;

mod sync {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(crate) use loom::thread::{yield_now, yield_now as nap};
}
