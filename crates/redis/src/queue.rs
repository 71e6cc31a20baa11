//! What waits for the server: plans that come while a call is under way go together in the next one.
//!
//! Alone, a plan is sent at once. Under load, calls fill up by themselves: many plans in one script
//! cost the server little more than half of what they cost one by one. On a cluster a script has keys
//! of one slot only: there as many calls go together as there are slots.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use jeton_core::{Quota, StoreError, StoreErrorKind, When, Written};
use redis::Value;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::cluster::Cluster;
use crate::line::{Call, Failed, Line};
use crate::reply::{self, Told};
use crate::request::{self, Request};
use crate::script::Algorithms;

/// The most plans that wait; more are told that the store cannot be reached.
const MOST_WAITING: usize = 1 << 16;
/// The most ops in one call: a server decides nothing else meanwhile.
const MOST_OPS: usize = 64;
/// Calls under way at once: one is being decided while the next one travels.
const CALLS: usize = 2;
/// So often a plan is sent on to another node.
const MOST_HOPS: u8 = 4;

/// One plan on its way.
pub(crate) struct Job {
    request: Arc<Request>,
    when: When,
    /// On a cluster, where its keys are.
    slot: Option<u16>,
    /// The node that it goes to does not have the slot yet.
    asking: bool,
    hops: u8,
    deadline: Instant,
    answer: oneshot::Sender<Result<Told, StoreError>>,
}

impl Job {
    pub(crate) fn fail(self, error: StoreError) {
        // Who has gone does not want to know.
        let _ = self.answer.send(Err(error));
    }

    /// What must be the same of all that share a call.
    fn sort(&self) -> (Option<u16>, bool) {
        (self.slot, self.asking)
    }
}

/// The entrance.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    jobs: mpsc::Sender<Job>,
    timeout: Duration,
}

pub(crate) const NOT_SENT: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::No,
};

impl Queue {
    /// Opens a queue to `line`. Needs to be called on a runtime.
    pub(crate) fn open(line: Line, timeout: Duration, cluster: Option<Weak<Cluster>>) -> Self {
        let (jobs, waiting) = mpsc::channel(MOST_WAITING);
        tokio::spawn(drive(Driver { line, cluster }, waiting));
        Self { jobs, timeout }
    }

    /// Sends a plan; its answer comes within the timeout.
    pub(crate) fn send(
        &self,
        request: Arc<Request>,
        when: When,
        slot: Option<u16>,
    ) -> oneshot::Receiver<Result<Told, StoreError>> {
        let (answer, comes) = oneshot::channel();
        let deadline = Instant::now() + self.timeout;
        self.push(Job {
            request,
            when,
            slot,
            asking: false,
            hops: 0,
            deadline,
            answer,
        });
        comes
    }

    /// Takes over a job that another node has not done.
    pub(crate) fn forward(&self, mut job: Job, asking: bool) {
        (job.asking, job.hops) = (asking, job.hops + 1);
        if job.hops > MOST_HOPS {
            return job.fail(NOT_SENT);
        }
        self.push(job);
    }

    fn push(&self, job: Job) {
        if let Err(refused) = self.jobs.try_send(job) {
            refused.into_inner().fail(NOT_SENT);
        }
    }
}

/// Where calls go, and who knows better.
#[derive(Clone)]
struct Driver {
    line: Line,
    cluster: Option<Weak<Cluster>>,
}

async fn drive(driver: Driver, mut waiting: mpsc::Receiver<Job>) {
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
        let turn = Arc::new(turn);
        for batch in by_sort(fill(first, &mut waiting, &mut next)) {
            let (driver, turn) = (driver.clone(), Arc::clone(&turn));
            let mut deciding = Box::pin(async move {
                driver.decide(batch).await;
                drop(turn);
            });
            // Plans are decided in the order in which they came: this one is on its way before the
            // next one is.
            if poll_fn(|context| Poll::Ready(deciding.as_mut().poll(context)))
                .await
                .is_pending()
            {
                tokio::spawn(deciding);
            }
        }
    }
}

/// Parts what cannot share a call.
fn by_sort(mut jobs: Vec<Job>) -> Vec<Vec<Job>> {
    if jobs.iter().all(|job| job.sort() == (None, false)) {
        return vec![jobs];
    }
    // Stable: what was sent first stays first.
    jobs.sort_by_key(Job::sort);
    let mut batches: Vec<Vec<Job>> = Vec::new();
    for job in jobs {
        match batches.last_mut() {
            Some(batch) if batch.last().is_some_and(|last| last.sort() == job.sort()) => {
                batch.push(job);
            }
            _ => batches.push(vec![job]),
        }
    }
    batches
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

impl Driver {
    /// Decides plans in one call and hands out the answers.
    async fn decide(&self, batch: Vec<Job>) {
        let sizes: Vec<usize> = batch.iter().map(|job| job.request.packed.len()).collect();
        let failed = match self.call(&batch).await {
            Ok(Value::BulkString(bytes)) => match reply::split(Bytes::from(bytes), &sizes) {
                Some(told) => {
                    return batch.into_iter().zip(told).for_each(|(job, told)| {
                        let _ = job.answer.send(Ok(told));
                    });
                }
                None => reply::BAD_ANSWER.into(),
            },
            Ok(_) => reply::BAD_ANSWER.into(),
            Err(failed) => failed,
        };
        self.fail(batch, &failed);
    }

    async fn call(&self, batch: &[Job]) -> Result<Value, Failed> {
        let Some(first) = batch.first() else {
            return Ok(Value::Nil);
        };
        let head = request::head(first.when, batch.iter().map(|job| &*job.request));
        let packed = || batch.iter().flat_map(|job| &job.request.packed);
        let ops: Vec<u8> = packed().flat_map(|packed| &packed.op).copied().collect();
        let quotas = batch.iter().flat_map(|job| job.request.quotas());
        let algorithms: Algorithms = quotas.map(Quota::kind).collect();
        let call = Call {
            script: algorithms.script(),
            keys: packed().map(|packed| packed.key.as_slice()).collect(),
            arguments: vec![&head, &ops],
        };
        if first.asking {
            self.line.ask(&call, first.deadline).await
        } else {
            self.line.call(&call, first.deadline).await
        }
    }

    fn fail(&self, batch: Vec<Job>, failed: &Failed) {
        let cluster = self.cluster.as_ref().and_then(Weak::upgrade);
        match (cluster, &failed.redirection) {
            (Some(cluster), Some(redirection)) => return cluster.redirect(batch, redirection),
            (Some(cluster), None) => cluster.look_again(),
            (None, _) => {}
        }
        for job in batch {
            job.fail(failed.error);
        }
    }
}
