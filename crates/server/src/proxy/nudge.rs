//! A waker that can be put to sleep.
//!
//! Whoever drives a connection from its own task also reads what the connection brings, and both
//! halves of hyper's channels wake each other: mostly a task that is running already, which would
//! then be polled once more for nothing. While a [`Nudge`] is muted it swallows such calls; its
//! owner polls the connection before it rests, whether called or not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// Passes calls on to the task that drove the connection last.
pub(super) struct Nudge {
    shared: Arc<Shared>,
    waker: Waker,
}

struct Shared {
    task: Mutex<Waker>,
    is_muted: AtomicBool,
}

impl Nudge {
    pub(super) fn new() -> Self {
        let shared = Arc::new(Shared {
            task: Mutex::new(Waker::noop().clone()),
            is_muted: AtomicBool::new(true),
        });
        Self {
            waker: Arc::clone(&shared).into(),
            shared,
        }
    }

    /// Calls are swallowed from here on.
    pub(super) fn mute(&self) {
        self.shared.is_muted.store(true, Ordering::Release);
    }

    /// Calls go to the task of `cx` from here on; gives the context to poll with.
    pub(super) fn call(&self, cx: &Context<'_>) -> Context<'_> {
        let mut task = self
            .shared
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        task.clone_from(cx.waker());
        drop(task);
        self.shared.is_muted.store(false, Ordering::Release);
        Context::from_waker(&self.waker)
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_muted.load(Ordering::Acquire) {
            self.task
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn calls_reach_the_last_task_unless_muted() {
        let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let nudge = Nudge::new();
        let call = |task: &Arc<Count>| {
            let waker = Waker::from(Arc::clone(task));
            nudge.call(&Context::from_waker(&waker)).waker().clone()
        };
        let heard = || {
            (
                first.0.load(Ordering::SeqCst),
                second.0.load(Ordering::SeqCst),
            )
        };
        let waker = call(&first);
        waker.wake_by_ref();
        assert_eq!(heard(), (1, 0));
        call(&second);
        waker.wake_by_ref();
        assert_eq!(
            heard(),
            (1, 1),
            "a waker given away earlier calls the task of now"
        );
        nudge.mute();
        waker.wake_by_ref();
        assert_eq!(heard(), (1, 1));
    }
}
