//! What waits for the server: plans that come while a call is under way go together in the next one.
//!
//! Alone, a plan is sent at once. Under load, calls fill up by themselves: many plans in one script
//! cost the server little more than half of what they cost one by one. On a cluster a script has keys
//! of one slot only: there as many calls go together as there are slots.

use std::collections::VecDeque;
use std::future::{pending, poll_fn, ready};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use jeton_core::{Quota, StoreError, StoreErrorKind, When, Written};
use redis::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::cluster::Cluster;
use crate::line::{Call, Failed, How, Instead, Line, Open};
use crate::reply::{self, Told};
use crate::request::{self, Request};
use crate::script::Algorithms;

/// The most plans that wait; more are told that the store cannot be reached.
const MOST_WAITING: usize = 1 << 16;
/// The most ops in one call: a server decides nothing else meanwhile.
const MOST_OPS: usize = 64;
/// Turns under way at once: one is being decided while the next one travels.
const TURNS: usize = 2;
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

/// Plans are decided in the order in which they came, so calls are sent one behind the other. Those that a
/// server did not know the script of are sent again in that order, before anything else is.
async fn drive(driver: Driver, mut waiting: mpsc::Receiver<Job>) {
    let (mut under_way, mut next) = (UnderWay::default(), None);
    loop {
        let first = if let Some(job) = next.take() {
            job
        } else {
            tokio::select! {
                biased;
                unknown = under_way.oldest() => {
                    under_way.again(&driver, unknown).await;
                    continue;
                }
                job = waiting.recv() => match job {
                    Some(job) => job,
                    None => break,
                },
            }
        };
        if under_way.room(&driver, first.deadline).await.is_err() {
            first.fail(StoreError {
                kind: StoreErrorKind::Timeout,
                written: Written::No,
            });
            continue;
        }
        let batches = by_sort(fill(first, &mut waiting, &mut next));
        under_way.send(&driver, batches, How::ByHash).await;
    }
    while !under_way.calls.is_empty() {
        let unknown = under_way.oldest().await;
        under_way.again(&driver, unknown).await;
    }
}

/// A call that was sent, and what comes back of it if the server does not know the script.
struct Sent {
    unknown: JoinHandle<Option<Vec<Job>>>,
    ends_turn: bool,
}

/// Calls in the order in which they were sent.
#[derive(Default)]
struct UnderWay {
    calls: VecDeque<Sent>,
    turns: usize,
}

impl UnderWay {
    /// Sends the calls of one turn.
    async fn send(&mut self, driver: &Driver, batches: Vec<Vec<Job>>, how: How) {
        let last = batches.len();
        for (number, batch) in (1..).zip(batches) {
            let unknown = driver.send(batch, how).await;
            let ends_turn = number == last;
            self.turns += usize::from(ends_turn);
            self.calls.push_back(Sent { unknown, ends_turn });
        }
    }

    /// Waits until another turn may begin.
    async fn room(&mut self, driver: &Driver, deadline: Instant) -> Result<(), Elapsed> {
        while self.turns >= TURNS {
            let unknown = timeout_at(deadline, self.oldest()).await?;
            self.again(driver, unknown).await;
        }
        Ok(())
    }

    /// Waits until the oldest call is over, if there is any; what is to be sent again.
    async fn oldest(&mut self) -> Option<Vec<Job>> {
        let Some(oldest) = self.calls.front_mut() else {
            return pending().await;
        };
        let unknown = (&mut oldest.unknown).await;
        self.turns -= usize::from(oldest.ends_turn);
        self.calls.pop_front();
        unknown.ok().flatten()
    }

    /// Sends again what came back, and what does of all that was sent behind it.
    async fn again(&mut self, driver: &Driver, unknown: Option<Vec<Job>>) {
        let Some(batch) = unknown else { return };
        let mut batches = vec![batch];
        while !self.calls.is_empty() {
            batches.extend(self.oldest().await);
        }
        self.send(driver, batches, How::WithText).await;
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
    /// Has plans decided in one call, which is on its way when this is over.
    async fn send(&self, batch: Vec<Job>, how: How) -> JoinHandle<Option<Vec<Job>>> {
        let deadline = batch.first().map_or_else(Instant::now, |job| job.deadline);
        let open = match self.line.open(deadline).await {
            Ok(open) => open,
            Err(error) => {
                self.fail(batch, error.into());
                return tokio::spawn(ready(None));
            }
        };
        let driver = self.clone();
        let mut deciding = Box::pin(async move { driver.decide(open, batch, how).await });
        match poll_fn(|context| Poll::Ready(deciding.as_mut().poll(context))).await {
            Poll::Ready(unknown) => tokio::spawn(ready(unknown)),
            Poll::Pending => tokio::spawn(deciding),
        }
    }

    /// Decides plans in one call and hands out the answers; gives the plans back if the server does not know
    /// the script, and so has done nothing.
    async fn decide(&self, open: Open, batch: Vec<Job>, how: How) -> Option<Vec<Job>> {
        let sizes: Vec<usize> = batch.iter().map(|job| job.request.packed.len()).collect();
        let failed = match self.call(open, &batch, how).await {
            Ok(Value::BulkString(bytes)) => match reply::split(Bytes::from(bytes), &sizes) {
                Some(told) => {
                    for (job, told) in batch.into_iter().zip(told) {
                        let _ = job.answer.send(Ok(told));
                    }
                    return None;
                }
                None => reply::BAD_ANSWER.into(),
            },
            Ok(_) => reply::BAD_ANSWER.into(),
            Err(failed) => failed,
        };
        if matches!(failed.instead, Some(Instead::WithText)) && how == How::ByHash {
            return Some(batch);
        }
        self.fail(batch, failed);
        None
    }

    async fn call(&self, open: Open, batch: &[Job], how: How) -> Result<Value, Failed> {
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
        let how = if first.asking { How::Asking } else { how };
        self.line.call_on(open, &call, how, first.deadline).await
    }

    fn fail(&self, batch: Vec<Job>, failed: Failed) {
        let cluster = self.cluster.as_ref().and_then(Weak::upgrade);
        match (cluster, failed.instead) {
            (Some(cluster), Some(Instead::Elsewhere(to))) => return cluster.redirect(batch, &to),
            (Some(cluster), _) => cluster.look_again(),
            (None, _) => {}
        }
        for job in batch {
            job.fail(failed.error);
        }
    }
}
