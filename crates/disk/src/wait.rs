//! Waiting, without a runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use jeton_core::{Answers, StoreError, Written};

use crate::TroubleKind;
use crate::inner::Inner;
use crate::owned::OwnedPlans;
use crate::progress::Gate;

/// What was decided is not known to be kept.
pub(crate) const NOT_KEPT: StoreError = StoreError {
    kind: TroubleKind::STORE_ERROR,
    written: Written::Unknown,
};

/// Nothing was decided.
pub(crate) const REFUSED: StoreError = StoreError {
    kind: TroubleKind::STORE_ERROR,
    written: Written::No,
};

/// Waits until an epoch is on disk.
pub(crate) struct Durable {
    pub(crate) inner: Arc<Inner>,
    pub(crate) epoch: u64,
}

impl Future for Durable {
    type Output = Result<(), StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.inner.progress.is_durable(self.epoch, context.waker()) {
            Some(true) => Poll::Ready(Ok(())),
            Some(false) => Poll::Ready(Err(NOT_KEPT)),
            None => Poll::Pending,
        }
    }
}

/// Waits until decisions may be made.
pub(crate) struct Passage {
    pub(crate) inner: Arc<Inner>,
}

impl Future for Passage {
    type Output = Gate;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Gate> {
        match self.inner.progress.passage(context.waker()) {
            Some(gate) => Poll::Ready(gate),
            None => Poll::Pending,
        }
    }
}

/// The answers, once what they change is on disk.
pub(crate) async fn kept(inner: Arc<Inner>, epoch: u64, answers: Answers) -> Answers {
    match (Durable { inner, epoch }).await {
        Ok(()) => answers,
        Err(error) => all_failed(answers.len(), error),
    }
}

/// The answers to plans that could not be decided at once.
pub(crate) async fn held(inner: Arc<Inner>, plans: OwnedPlans) -> Answers {
    let passage = Passage {
        inner: Arc::clone(&inner),
    };
    let mut answers = Answers::new();
    if passage.await == Gate::Shut {
        return all_failed(plans.len(), REFUSED);
    }
    plans.decide(&inner, &mut answers);
    answers
}

pub(crate) fn all_failed(plans: usize, error: StoreError) -> Answers {
    let mut answers = Answers::new();
    for _ in 0..plans {
        answers.push_failed(error);
    }
    answers
}

/// What a future that waits for nothing gives.
pub(crate) fn at_once<T>(mut future: Pin<Box<dyn Future<Output = T> + Send>>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(given) => Some(given),
        Poll::Pending => None,
    }
}
