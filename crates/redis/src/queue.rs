//! What waits for the server: plans that come while a call is under way go together in the next one.
//!
//! Alone, a plan is sent at once. Under load, calls fill up by themselves: many plans in one script
//! cost the server little more than half of what they cost one by one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jeton_core::{StoreError, StoreErrorKind, When, Written};
use redis::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::line::{Call, Line};
use crate::reply::{self, Told};
use crate::request::{self, Request};
use crate::script::PLANS;

/// The most plans that wait; more are told that the store cannot be reached.
const MOST_WAITING: usize = 1 << 16;
/// The most ops in one call: a server decides nothing else meanwhile.
const MOST_OPS: usize = 64;
/// Calls under way at once: one is being decided while the next one travels.
const CALLS: usize = 2;

/// One plan on its way.
struct Job {
    request: Arc<Request>,
    when: When,
    deadline: Instant,
    answer: oneshot::Sender<Result<Told, StoreError>>,
}

impl Job {
    fn fail(self, error: StoreError) {
        // Who has gone does not want to know.
        let _ = self.answer.send(Err(error));
    }
}

/// The entrance.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    jobs: mpsc::Sender<Job>,
    timeout: Duration,
}

const NOT_SENT: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::No,
};

impl Queue {
    /// Opens a queue to `line`. Needs to be called on a runtime.
    pub(crate) fn open(line: Line, timeout: Duration) -> Self {
        let (jobs, waiting) = mpsc::channel(MOST_WAITING);
        tokio::spawn(drive(line, waiting));
        Self { jobs, timeout }
    }

    /// Sends a plan; its answer comes within the timeout.
    pub(crate) fn send(
        &self,
        request: Arc<Request>,
        when: When,
    ) -> oneshot::Receiver<Result<Told, StoreError>> {
        let (answer, comes) = oneshot::channel();
        let deadline = Instant::now() + self.timeout;
        if let Err(refused) = self.jobs.try_send(Job {
            request,
            when,
            deadline,
            answer,
        }) {
            refused.into_inner().fail(NOT_SENT);
        }
        comes
    }
}

async fn drive(line: Line, mut waiting: mpsc::Receiver<Job>) {
    let calls = Arc::new(Semaphore::new(CALLS));
    let mut next = None;
    loop {
        let first = match next.take() {
            Some(job) => job,
            None => match waiting.recv().await {
                Some(job) => job,
                None => return,
            },
        };
        let Ok(Ok(turn)) = timeout_at(first.deadline, Arc::clone(&calls).acquire_owned()).await
        else {
            first.fail(StoreError {
                kind: StoreErrorKind::Timeout,
                written: Written::No,
            });
            continue;
        };
        let batch = fill(first, &mut waiting, &mut next);
        let line = line.clone();
        tokio::spawn(async move {
            decide(&line, batch).await;
            drop(turn);
        });
    }
}

/// What goes together with `first`: all that wait and go by the same clock. What does not is `next`.
fn fill(first: Job, waiting: &mut mpsc::Receiver<Job>, next: &mut Option<Job>) -> Vec<Job> {
    let mut ops = first.request.packed.len();
    let when = first.when;
    let mut batch = vec![first];
    while let Ok(job) = waiting.try_recv() {
        ops += job.request.packed.len();
        if ops > MOST_OPS || job.when != when {
            *next = Some(job);
            break;
        }
        batch.push(job);
    }
    batch
}

/// Decides plans in one call and hands out the answers.
async fn decide(line: &Line, batch: Vec<Job>) {
    let Some(first) = batch.first() else { return };
    let sizes: Vec<usize> = batch.iter().map(|job| job.request.packed.len()).collect();
    let head = request::head(first.when, sizes.iter().copied());
    let packed = || batch.iter().flat_map(|job| &job.request.packed);
    let ops = packed().map(|packed| packed.op.as_slice());
    let call = Call {
        script: &PLANS,
        keys: packed().map(|packed| packed.key.as_slice()).collect(),
        arguments: std::iter::once(head.as_slice()).chain(ops).collect(),
    };
    let said = line.call(&call, first.deadline).await;
    let told = said.and_then(|value| match value {
        Value::BulkString(bytes) => {
            reply::split(Bytes::from(bytes), &sizes).ok_or(reply::BAD_ANSWER)
        }
        _ => Err(reply::BAD_ANSWER),
    });
    match told {
        Ok(told) => batch.into_iter().zip(told).for_each(|(job, told)| {
            let _ = job.answer.send(Ok(told));
        }),
        Err(error) => batch.into_iter().for_each(|job| job.fail(error)),
    }
}
