//! The lock under threads of the system.

use std::cell::Cell;
use std::thread::sleep;
use std::time::Duration;

use super::lock::{Guard, Lock};

/// Steps of each thread; few where each is interpreted (Miri).
const STEPS: u64 = if cfg!(miri) { 50 } else { 50_000 };

/// Two impls apply to what is `Sync`, so that naming one of them does not compile.
trait AmbiguousIfSync<A> {
    fn is_not_sync() {}
}
impl<T> AmbiguousIfSync<()> for T {}
impl<T: Sync> AmbiguousIfSync<u8> for T {}

#[test]
fn a_lock_is_shared_only_if_its_value_may_be_sent_and_looked_at() {
    fn both<T: Send + Sync>() {}
    both::<Lock<u64>>();
    both::<Guard<'_, u64>>();
    // Several threads may look through one guard, so that the value has to allow for that.
    <Lock<Cell<u64>> as AmbiguousIfSync<_>>::is_not_sync();
    <Guard<'_, Cell<u64>> as AmbiguousIfSync<_>>::is_not_sync();
    <Lock<std::rc::Rc<u64>> as AmbiguousIfSync<_>>::is_not_sync();
}

#[test]
fn no_step_of_any_thread_is_lost() {
    // Two numbers that are equal whenever nobody is at work.
    let pair = Lock::<(u64, u64)>::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..STEPS {
                    let mut held = pair.lock();
                    let (first, second) = &mut *held;
                    assert_eq!(first, second);
                    *first += 1;
                    *second += 1;
                }
            });
        }
    });
    assert_eq!(*pair.lock(), (4 * STEPS, 4 * STEPS));
}

#[test]
fn who_tries_does_not_wait_and_who_locks_does() {
    let lock = Lock::<u64>::default();
    let held = lock.lock();
    assert!(lock.try_lock().is_none());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| *lock.lock());
        // Long enough for it to look, to yield and to sleep.
        sleep(Duration::from_millis(20));
        let mut held = held;
        *held = 7;
        drop(held);
        assert_eq!(waiter.join().unwrap(), 7);
    });
    assert!(lock.try_lock().is_some());
}

#[test]
fn a_holder_that_panics_gives_back() {
    let lock = Lock::<u64>::default();
    std::thread::scope(|scope| {
        let fails = scope.spawn(|| {
            let _held = lock.lock();
            panic!("on purpose");
        });
        assert!(fails.join().is_err());
    });
    assert!(lock.try_lock().is_some());
}
