//! A store that fails as it is told to, over a table.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use jeton::{Answers, Micros, Settings, Store, StoreError, StoreErrorKind, Submitted, Table, When};
use jeton_core::{Note, NoteEdit, Pending, Plan, Written};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: it answers at once.
    None,
    /// It answers later.
    Slow(Duration),
    /// It says why not.
    Error(StoreErrorKind),
    /// The same, later.
    LateError(StoreErrorKind),
    /// It never answers, and does nothing.
    Hang,
    /// It does what it was asked, and the answer is lost.
    Lost,
    /// Plans fail, looks do not.
    Plans(StoreErrorKind),
    /// So many plans of a call are decided, and those behind them fail.
    Behind(usize, StoreErrorKind),
}

pub(crate) struct Faulty {
    pub(crate) table: Table,
    fault: Mutex<Fault>,
    asked: AtomicUsize,
    looks: AtomicUsize,
    /// The time by its own clock, if it has one.
    own: Option<Micros>,
}

impl Faulty {
    pub(crate) fn new() -> Self {
        Self {
            table: Table::new(&Settings::default()).unwrap(),
            fault: Mutex::new(Fault::None),
            asked: AtomicUsize::new(0),
            looks: AtomicUsize::new(0),
            own: None,
        }
    }

    pub(crate) fn with_clock(at: Micros) -> Self {
        Self {
            own: Some(at),
            ..Self::new()
        }
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn fault(&self) -> Fault {
        *self.fault.lock().unwrap()
    }

    /// How many calls with plans have reached it since this was last asked.
    pub(crate) fn asked(&self) -> usize {
        self.asked.swap(0, Relaxed)
    }

    pub(crate) fn looks(&self) -> usize {
        self.looks.swap(0, Relaxed)
    }

    fn when(&self, when: When) -> When {
        match self.own {
            Some(own) if when == When::StoreClock => When::NotBefore(own),
            _ => when,
        }
    }
}

fn error(kind: StoreErrorKind) -> StoreError {
    let written = Written::No;
    StoreError { kind, written }
}

fn failed(plans: usize, kind: StoreErrorKind, out: &mut Answers) {
    for _ in 0..plans {
        out.push_failed(error(kind));
    }
}

impl Store for Faulty {
    fn has_own_clock(&self) -> bool {
        self.own.is_some()
    }

    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        self.asked.fetch_add(1, Relaxed);
        let (when, plans_len) = (self.when(when), plans.len());
        match self.fault() {
            Fault::None => self.table.submit(plans, when, out),
            Fault::Slow(after) => {
                let mut answers = Answers::new();
                let _ = self.table.submit(plans, when, &mut answers);
                Submitted::Later(Box::pin(async move {
                    sleep(after).await;
                    answers
                }))
            }
            Fault::Error(kind) | Fault::Plans(kind) => {
                failed(plans_len, kind, out);
                Submitted::Done
            }
            Fault::LateError(kind) => Submitted::Later(Box::pin(async move {
                let mut answers = Answers::new();
                failed(plans_len, kind, &mut answers);
                answers
            })),
            Fault::Behind(plans_done, kind) => {
                let (done, behind) = plans.split_at(plans_done.min(plans_len));
                let submitted = self.table.submit(done, when, out);
                failed(behind.len(), kind, out);
                submitted
            }
            Fault::Hang => Submitted::Later(Box::pin(std::future::pending())),
            Fault::Lost => {
                let _ = self.table.submit(plans, when, &mut Answers::new());
                Submitted::Later(Box::pin(std::future::pending()))
            }
        }
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        match self.fault() {
            Fault::None | Fault::Plans(_) | Fault::Behind(..) => {
                self.table.note(edit, self.when(when))
            }
            Fault::Error(kind) | Fault::LateError(kind) => {
                Box::pin(std::future::ready(Err(error(kind))))
            }
            _ => Box::pin(std::future::pending()),
        }
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.looks.fetch_add(1, Relaxed);
        match self.fault() {
            Fault::None | Fault::Plans(_) | Fault::Behind(..) => self.table.notes(self.when(when)),
            Fault::Slow(after) => {
                let notes = self.table.notes(self.when(when));
                Box::pin(async move {
                    sleep(after).await;
                    notes.await
                })
            }
            Fault::Error(kind) | Fault::LateError(kind) => {
                Box::pin(std::future::ready(Err(error(kind))))
            }
            Fault::Hang | Fault::Lost => Box::pin(std::future::pending()),
        }
    }
}

#[cfg(feature = "settling")]
async fn sleep(after: Duration) {
    if !after.is_zero() {
        tokio::time::sleep(after).await;
    }
}

#[cfg(not(feature = "settling"))]
fn sleep(_: Duration) -> std::future::Ready<()> {
    std::future::ready(())
}
