//! The store as the gate asks it: in bounded time, and while it is away not at all.

mod health;

use std::sync::Arc;
use std::time::Duration;

use jeton_core::{
    Anchor, Answers, Cost, Note, NoteEdit, Op, Pending, Plan, Quota, Reading, RuleId, Span, Store,
    StoreError, StoreErrorKind, Submitted, When, Written,
};
use jeton_policy::Store as Settings;
#[cfg(feature = "settling")]
use tokio::runtime::Handle;

use self::health::Health;
use super::breaker::{Breaker, Mood, is_of_store};
use super::deadline::Deadline;
use super::shedding::Asking;
use super::thrift::{Call, Thrift};
use crate::clock::Clock;

/// Whose states probes are: no rule's, but by a collision of SHA-256 cut to 64 bits.
const PROBES: RuleId = RuleId::new(u64::from_be_bytes(*b"probes\x01\x01"));

/// What a probe charges: too much to be denied, and forgotten within a second.
const PROBED: Result<Quota, jeton_core::QuotaError> =
    Quota::fixed_window(jeton_core::MAX_LIMIT as u64, Span::SECOND, Anchor::Epoch);

/// What operators set is kept before it is acknowledged, and so waits for disks longer than a request
/// may.
const OPERATORS_WAIT: Duration = Duration::from_secs(2);

/// Whether the store answers, as last known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreState {
    /// It does.
    Ready,
    /// It failed the last time, and is still asked.
    Failing {
        /// How it failed last.
        why: StoreErrorKind,
    },
    /// It failed several times in a row, and since then no plan has passed: it is not asked, and the
    /// outage rule speaks.
    Away {
        /// How it failed last.
        why: StoreErrorKind,
    },
}

/// A store behind a timeout and a breaker, and whatever need not be asked at all.
pub(super) struct Guard {
    store: Arc<dyn Store>,
    thrift: Option<Arc<Thrift>>,
    has_own_clock: bool,
    timeout: Duration,
    health: Arc<Health>,
    /// Read by every task that learns answers which nobody waits for.
    #[cfg(feature = "settling")]
    at_work: Arc<tokio::sync::RwLock<()>>,
}

/// Whether the answers are there.
#[must_use]
pub(super) enum Reply {
    /// They are where the caller wanted them.
    Done,
    /// They will come.
    Later(Awaiting),
}

/// Answers that will come, in bounded time.
#[must_use]
pub(super) struct Awaiting {
    later: std::pin::Pin<Box<dyn Future<Output = Answers> + Send>>,
    plans: usize,
    deadline: Deadline,
    health: Arc<Health>,
    call: Option<Box<Call>>,
    /// Counted for as long as they are waited for.
    asking: Option<Asking>,
}

impl Guard {
    pub(super) fn new(store: Arc<dyn Store>, settings: &Settings, clock: Clock) -> Self {
        let breaker = Breaker::new(store.fails_in_parts());
        Self {
            has_own_clock: store.has_own_clock(),
            store,
            thrift: Thrift::of(&settings.kind),
            timeout: settings.timeout,
            health: Arc::new(Health::new(breaker, clock)),
            #[cfg(feature = "settling")]
            at_work: Arc::default(),
        }
    }

    /// Whether the store answers, as last known.
    pub(super) fn state(&self) -> StoreState {
        if self.is_calm() {
            return StoreState::Ready;
        }
        let breaker = self.health.breaker();
        let why = breaker.why();
        match breaker.mood() {
            Mood::Calm => StoreState::Ready,
            Mood::Uneasy => StoreState::Failing { why },
            Mood::Away => StoreState::Away { why },
        }
    }

    /// Whether it has not failed since it last answered.
    pub(super) fn is_calm(&self) -> bool {
        self.health.is_calm()
    }

    pub(super) fn is_away(&self) -> bool {
        self.health.is_away()
    }

    /// Whose clock a decision goes by: the store's own where it has one, since all its nodes share
    /// it; unless ours moves by hand, which is then what somebody wants to see.
    #[inline]
    fn when(&self, reading: Reading) -> When {
        if self.has_own_clock && reading.is_steady() {
            When::StoreClock
        } else {
            When::from(reading)
        }
    }

    /// Decides plans: as far as that is known without the store, and else there.
    #[inline]
    pub(super) fn submit(
        &self,
        plans: &[Plan<'_>],
        reading: Reading,
        answers: &mut Answers,
    ) -> Reply {
        answers.clear();
        match &self.thrift {
            None => self.ask(plans, reading, answers),
            Some(thrift) => self.spare(thrift, plans, reading, answers),
        }
    }

    /// What is known says nothing of how the store is doing: the breaker does not hear of it.
    fn spare(
        &self,
        thrift: &Arc<Thrift>,
        plans: &[Plan<'_>],
        reading: Reading,
        answers: &mut Answers,
    ) -> Reply {
        let Some(call) = thrift.consider(plans, reading, answers, goes_on) else {
            return Reply::Done;
        };
        let is_awaited = !call.answers_nobody();
        let mut said = Answers::new();
        match call.with_plans(plans, |plans| self.ask(plans, reading, &mut said)) {
            Reply::Done => {
                call.finish(&said, self.health.clock.now(), answers);
                Reply::Done
            }
            Reply::Later(later) => {
                let later = Awaiting {
                    call: Some(Box::new(call)),
                    ..later
                };
                if is_awaited {
                    return Reply::Later(later);
                }
                self.go_on_with(later);
                Reply::Done
            }
        }
    }

    /// Learns answers that nobody waits for.
    #[cfg(feature = "settling")]
    fn go_on_with(&self, later: Awaiting) {
        if let Ok(runtime) = Handle::try_current() {
            let at_work = Arc::clone(&self.at_work).try_read_owned();
            runtime.spawn(async move {
                let _at_work = at_work;
                later.answered().await
            });
        }
    }

    /// None are asked for.
    #[cfg(not(feature = "settling"))]
    #[allow(clippy::unused_self)] // as above
    fn go_on_with(&self, _: Awaiting) {}

    /// Waits for answers that nobody else waits for.
    #[cfg(feature = "settling")]
    pub(super) async fn all_learnt(&self) {
        drop(self.at_work.write().await);
    }

    /// What need not be asked.
    pub(super) fn thrift(&self) -> Option<&Thrift> {
        self.thrift.as_deref()
    }

    /// Asks the store for plans, and appends its answers. What failed is never asked again: it may have
    /// been carried out.
    #[inline]
    pub(super) fn ask(&self, plans: &[Plan<'_>], reading: Reading, answers: &mut Answers) -> Reply {
        let is_calm = self.is_calm();
        if !is_calm && let Some(why) = self.health.refuses() {
            let written = Written::No;
            fail(plans.len(), StoreError { kind: why, written }, answers);
            return Reply::Done;
        }
        match self.store.submit(plans, self.when(reading), answers) {
            Submitted::Done => {
                if !is_calm || answers.plan(0).0.is_err() {
                    self.health.learn(answers, plans.len());
                }
                Reply::Done
            }
            Submitted::Later(later) => Reply::Later(Awaiting {
                later,
                plans: plans.len(),
                deadline: Deadline::after(self.timeout),
                health: Arc::clone(&self.health),
                call: None,
                asking: None,
            }),
        }
    }

    /// The notes in force.
    pub(super) async fn notes(&self, reading: Reading) -> Result<Vec<Note>, StoreError> {
        let notes = bounded(self.timeout, self.store.notes(self.when(reading))).await;
        if let Err(error) = notes
            && is_of_store(error.kind)
        {
            self.health.failed(error.kind);
        }
        notes
    }

    /// Changes a note. How that went says little about plans.
    pub(super) async fn note(&self, edit: NoteEdit, reading: Reading) -> Result<bool, StoreError> {
        let patience = self.timeout.max(OPERATORS_WAIT);
        bounded(patience, self.store.note(edit, self.when(reading))).await
    }

    /// Whoever calls this twice a second probes: requests need not.
    pub(super) fn probed_elsewhere(&self) {
        if self.is_away() {
            self.health.change(Breaker::probed_elsewhere);
        }
    }

    /// Sees whether a plan passes that writes, as those of requests do.
    pub(super) async fn probe(&self) {
        let Ok(quota) = PROBED else { return };
        let mut answers = Answers::new();
        let deadline = Deadline::after(self.timeout);
        let submitted = {
            let op = Op::take(PROBES, b"", &quota, Cost::ONE);
            let when = self.when(self.health.clock.reading());
            self.store.submit(&[Plan::one(&op)], when, &mut answers)
        };
        if let Submitted::Later(later) = submitted {
            answers = match deadline.bound(later).await {
                Some(answers) => answers,
                None => timed_out(1),
            };
        }
        match answers.plan(0).0 {
            Err(error) if is_of_store(error.kind) => self.health.failed(error.kind),
            _ => self.health.change(Breaker::probe_passed),
        }
    }
}

impl Awaiting {
    /// The same, counted until they are there.
    pub(super) fn counted(self, asking: Asking) -> Self {
        Self {
            asking: Some(asking),
            ..self
        }
    }

    /// The answers: those of the store, or failures when it has taken too long.
    ///
    /// Where something has to be learnt from them, they are waited for even if this is dropped.
    pub(super) async fn answers(self) -> Answers {
        #[cfg(feature = "settling")]
        if self.call.as_ref().is_some_and(|call| call.must_be_learnt())
            && let Ok(runtime) = Handle::try_current()
        {
            let plans = self.plans;
            let answers = runtime.spawn(self.answered()).await;
            return answers.unwrap_or_else(|_| timed_out(plans));
        }
        self.answered().await
    }

    async fn answered(self) -> Answers {
        let Self {
            later,
            plans,
            deadline,
            health,
            call,
            asking,
        } = self;
        let answers = match deadline.bound(later).await {
            Some(answers) => answers,
            None => timed_out(plans),
        };
        drop(asking);
        if !health.is_calm() || answers.plan(0).0.is_err() {
            health.learn(&answers, plans);
        }
        let Some(call) = call else {
            return answers;
        };
        let mut finished = Answers::new();
        call.finish(&answers, health.clock.now(), &mut finished);
        finished
    }
}

/// Whether somebody goes on with a call that nobody waits for.
#[cfg(feature = "settling")]
fn goes_on() -> bool {
    Handle::try_current().is_ok()
}

/// Nobody does.
#[cfg(not(feature = "settling"))]
fn goes_on() -> bool {
    false
}

/// Whether it was carried out, nobody knows.
const TIMEOUT: StoreError = StoreError {
    kind: StoreErrorKind::Timeout,
    written: Written::Unknown,
};

async fn bounded<T>(timeout: Duration, pending: Pending<T>) -> Result<T, StoreError> {
    let deadline = Deadline::after(timeout);
    deadline.bound(pending).await.unwrap_or(Err(TIMEOUT))
}

fn timed_out(plans: usize) -> Answers {
    let mut answers = Answers::new();
    fail(plans, TIMEOUT, &mut answers);
    answers
}

fn fail(plans: usize, error: StoreError, answers: &mut Answers) {
    for _ in 0..plans {
        answers.push_failed(error);
    }
}
