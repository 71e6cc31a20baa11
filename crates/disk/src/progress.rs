//! How far the writer has come, and who waits for it.

use std::sync::atomic::{
    AtomicU8,
    Ordering::{Acquire, Release},
};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::{Health, Sync, Trouble};

/// May decisions be made?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Gate {
    Open = 0,
    /// Not now: more would be at stake than was promised.
    Held = 1,
    /// No: they could not be kept.
    Shut = 2,
}

/// What the writer is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Write,
    Idle,
    Close,
}

/// How far the writer has come.
#[derive(Debug)]
pub(crate) struct Progress {
    sync: Sync,
    gate: AtomicU8,
    state: Mutex<State>,
    /// There is something to write.
    work: Condvar,
    /// There is something that must be written in time.
    clock: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The epoch that is on disk, with all before it.
    durable: u64,
    /// When the first change was made that is in no batch yet.
    open_since: Option<Instant>,
    /// When the first change was made of the batch that is being written.
    writing_since: Option<Instant>,
    /// What keeps it from being written.
    trouble: Option<Trouble>,
    latest_trouble: Option<Trouble>,
    /// When the latest batch began, and how long the one before took.
    began: Option<Instant>,
    took: Duration,
    /// How many waited when the latest batch was through: so many may wait again soon.
    expected: usize,
    hurry: bool,
    closing: bool,
    closed: bool,
    for_epoch: Vec<(u64, Waker)>,
    for_gate: Vec<Waker>,
}

impl State {
    fn oldest(&self) -> Option<Instant> {
        self.writing_since.or(self.open_since)
    }

    /// How long after its first change a batch begins.
    fn pace(&self, sync: Sync) -> Duration {
        match sync {
            // Half the span to gather, and less if the disk takes long; the rest is for the disk.
            Sync::Every(span) => (span / 2).saturating_sub(self.took * 2).max(span / 16),
            Sync::Always if self.for_epoch.len() >= self.expected => Duration::ZERO,
            // Those who were answered together ask again together: one sync for all of them.
            Sync::Always => self.took / 2,
        }
    }
}

impl Progress {
    pub(crate) fn new(sync: Sync) -> Self {
        Self {
            sync,
            gate: AtomicU8::new(Gate::Open as u8),
            state: Mutex::default(),
            work: Condvar::new(),
            clock: Condvar::new(),
        }
    }

    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        match self.gate.load(Acquire) {
            0 => Gate::Open,
            1 => Gate::Held,
            _ => Gate::Shut,
        }
    }

    /// The first change of an epoch has been made.
    #[cold]
    pub(crate) fn stir(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.open_since.get_or_insert(now);
        drop(state);
        self.work.notify_one();
        self.clock.notify_one();
    }

    /// What has changed so far shall be written now.
    pub(crate) fn hurry(&self) {
        self.lock().hurry = true;
        self.work.notify_one();
    }

    /// What has been decided is still to be written, and nothing more is decided.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        let mut woken = Vec::new();
        self.judge(&mut state, &mut woken);
        drop(state);
        self.work.notify_one();
        self.clock.notify_one();
        woken.into_iter().for_each(Waker::wake);
    }

    /// Whether an epoch is on disk.
    pub(crate) fn has_reached(&self, epoch: u64) -> bool {
        self.lock().durable >= epoch
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// Waits for something to do: a batch that is due, or nothing for as long as `idle`.
    pub(crate) fn next(&self, idle: Duration) -> Next {
        let mut state = self.lock();
        loop {
            if state.closing {
                return Next::Close;
            }
            let age = state.open_since.map(|since| since.elapsed());
            let pace = state.pace(self.sync);
            if state.hurry || age.is_some_and(|age| age >= pace) {
                return Next::Write;
            }
            let left = age.map_or(idle, |age| pace.saturating_sub(age));
            let (guard, waited) = self
                .work
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if age.is_none() && waited.timed_out() && state.open_since.is_none() {
                return Next::Idle;
            }
        }
    }

    /// Waits until it is time to try again.
    pub(crate) fn pause(&self, pause: Duration) {
        let state = self.lock();
        let over = |state: &mut State| !state.closing;
        drop(self.work.wait_timeout_while(state, pause, over));
    }

    /// A batch is about to be gathered.
    pub(crate) fn begin(&self) {
        let mut state = self.lock();
        (state.hurry, state.began) = (false, Some(Instant::now()));
        state.writing_since = state.open_since.take();
    }

    /// An epoch is on disk.
    pub(crate) fn reached(&self, epoch: u64) {
        let mut state = self.lock();
        state.durable = epoch;
        state.took = state.began.map_or(Duration::ZERO, |began| began.elapsed());
        state.writing_since = None;
        state.trouble = None;
        let arrived = |(wanted, _): &mut (u64, Waker)| *wanted <= epoch;
        let mut woken: Vec<Waker> = state
            .for_epoch
            .extract_if(.., arrived)
            .map(|(_, waker)| waker)
            .collect();
        state.expected = woken.len() + state.for_epoch.len();
        self.judge(&mut state, &mut woken);
        drop(state);
        self.clock.notify_one();
        woken.into_iter().for_each(Waker::wake);
    }

    /// It could not be written.
    pub(crate) fn failed(&self, trouble: Trouble) {
        let mut state = self.lock();
        state.trouble = Some(trouble.clone());
        state.latest_trouble = Some(trouble);
        let mut woken: Vec<Waker> = state.for_epoch.drain(..).map(|(_, waker)| waker).collect();
        self.judge(&mut state, &mut woken);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// The writer is gone.
    pub(crate) fn closed(&self) {
        let mut state = self.lock();
        (state.closing, state.closed) = (true, true);
        let mut woken: Vec<Waker> = state.for_epoch.drain(..).map(|(_, waker)| waker).collect();
        self.judge(&mut state, &mut woken);
        drop(state);
        self.clock.notify_one();
        woken.into_iter().for_each(Waker::wake);
    }

    /// Opens and shuts the gate.
    fn judge(&self, state: &mut State, woken: &mut Vec<Waker>) {
        let late = match self.sync {
            Sync::Always => state.trouble.is_some(),
            Sync::Every(span) => state
                .oldest()
                .is_some_and(|oldest| oldest.elapsed() >= hold_after(span)),
        };
        let gate = match (late, &state.trouble) {
            _ if state.closing => Gate::Shut,
            (false, _) => Gate::Open,
            (true, None) => Gate::Held,
            (true, Some(_)) => Gate::Shut,
        };
        self.gate.store(gate as u8, Release);
        if gate != Gate::Held {
            woken.append(&mut state.for_gate);
        }
    }

    /// Holds decisions when the oldest change is about to grow older than promised. Returns when the
    /// store is closed.
    pub(crate) fn watch(&self, span: Duration) {
        let mut state = self.lock();
        while !state.closing {
            let age = state.oldest().map(|oldest| oldest.elapsed());
            let limit = hold_after(span);
            state = match age {
                Some(age) if age < limit => {
                    let waited = self.clock.wait_timeout(state, limit.saturating_sub(age));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                Some(_) if self.gate() == Gate::Open => {
                    let mut woken = Vec::new();
                    self.judge(&mut state, &mut woken);
                    drop(state);
                    woken.into_iter().for_each(Waker::wake);
                    self.lock()
                }
                _ => {
                    let waited = self.clock.wait(state);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    /// Whether `epoch` is on disk; none: not yet, and `waker` is called.
    pub(crate) fn is_durable(&self, epoch: u64, waker: &Waker) -> Option<bool> {
        let mut state = self.lock();
        if state.durable >= epoch {
            return Some(true);
        }
        if state.trouble.is_some() || state.closed {
            return Some(false);
        }
        state.for_epoch.push((epoch, waker.clone()));
        if state.for_epoch.len() == state.expected {
            self.work.notify_one();
        }
        None
    }

    /// The gate, if it is not held; else `waker` is called when it no longer is.
    pub(crate) fn passage(&self, waker: &Waker) -> Option<Gate> {
        let mut state = self.lock();
        match self.gate() {
            Gate::Held => {
                state.for_gate.push(waker.clone());
                None
            }
            gate => Some(gate),
        }
    }

    pub(crate) fn health(&self) -> Health {
        let state = self.lock();
        match (&state.trouble, self.gate()) {
            (Some(trouble), _) => Health::Down(trouble.kind),
            (None, Gate::Held) => Health::Behind,
            _ => Health::Up,
        }
    }

    pub(crate) fn latest_trouble(&self) -> Option<Trouble> {
        self.lock().latest_trouble.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A little before the span is over, for nobody is woken in no time.
fn hold_after(span: Duration) -> Duration {
    span.saturating_sub(span / 16)
}
