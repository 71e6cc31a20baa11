//! The lock of a region, every order of its steps tried out (loom): one at a time, and the next one sees
//! what this one wrote. The source is the table's own; only what it is made of is the model's.

#![allow(clippy::unwrap_used)]
#![allow(clippy::duplicate_mod)] // one source, made of different parts

mod as_it_is;
mod weak_acquire;
mod weak_release;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use as_it_is::lock::Lock;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// All orders in which threads lose the processor up to three times where they need not.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn one_at_a_time_and_each_sees_what_the_last_wrote() {
    explore(|| {
        let pair = Arc::new(Lock::<(u32, u32)>::default());
        let other = Arc::clone(&pair);
        let step = |pair: &Lock<(u32, u32)>| {
            let mut held = pair.lock();
            let (first, second) = *held;
            assert_eq!(first, second);
            held.0 = first + 1;
            held.1 = second + 1;
        };
        let thread = thread::spawn(move || {
            step(&other);
            step(&other);
        });
        step(&pair);
        thread.join().unwrap();
        assert_eq!(*pair.lock(), (3, 3));
    });
}

#[test]
fn who_tries_has_it_alone_or_not_at_all() {
    explore(|| {
        let lock = Arc::new(Lock::<u32>::default());
        let other = Arc::clone(&lock);
        let add = |lock: &Lock<u32>| match lock.try_lock() {
            Some(mut held) => {
                *held += 1;
                1
            }
            None => 0,
        };
        let thread = thread::spawn(move || add(&other) + add(&other));
        let mine = add(&lock) + add(&lock);
        let theirs = thread.join().unwrap();
        assert_eq!(*lock.try_lock().unwrap(), mine + theirs);
        // Somebody comes first, and who comes alone is not turned away.
        assert!(mine + theirs >= 2);
    });
}

#[test]
fn a_holder_that_panics_gives_back_what_it_wrote() {
    explore(|| {
        let lock = Arc::new(Lock::<u32>::default());
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let fails = catch_unwind(AssertUnwindSafe(|| {
                let mut held = other.lock();
                *held += 1;
                // Says nothing on the terminal.
                resume_unwind(Box::new(()))
            }));
            assert!(fails.is_err());
        });
        *lock.lock() += 1;
        thread.join().unwrap();
        assert_eq!(*lock.lock(), 2);
    });
}

/// Two holders one after the other, in a model in which one order of the lock is weaker than it is.
macro_rules! two_holders_of {
    ($lock:ty) => {
        explore(|| {
            let lock = Arc::new(<$lock>::default());
            let other = Arc::clone(&lock);
            let thread = thread::spawn(move || *other.lock() += 1);
            *lock.lock() += 1;
            thread.join().unwrap();
        })
    };
}

#[test]
fn two_holders_come_one_after_the_other() {
    two_holders_of!(Lock<u32>);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn with_a_weaker_acquire_the_model_fails() {
    two_holders_of!(weak_acquire::lock::Lock<u32>);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn with_a_weaker_release_the_model_fails() {
    two_holders_of!(weak_release::lock::Lock<u32>);
}
