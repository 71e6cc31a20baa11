//! The seam between the engine and wherever state lives.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::ops::Range;
use core::pin::Pin;

use crate::{Decision, Edit, Micros, Plan, Reading, Span};

/// A place where states live.
///
/// `submit` decides plans in order. They are independent of each other, and each is all or nothing.
/// A store that can answer at once fills `out` and returns [`Submitted::Done`]; one that must wait
/// has read everything it needs from `plans` before it returns, so that the future borrows nothing.
/// `out` is the caller's, to be used again: answers are appended to it.
///
/// What a store owes (the suite of store laws in `jeton-testkit` holds every one to it): one
/// indivisible step per plan under any number of threads and nodes; a rule's states apart from
/// every other rule's, and apart by [`Kind`](crate::Kind); no state lives past its `until` for
/// good; keys are bytes of any content.
pub trait Store: Send + Sync + 'static {
    /// Decides `plans` at `when`.
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted;

    /// Whether it goes by a clock of its own, which all who share it go by. Then plans come with
    /// [`When::StoreClock`], and decisions carry its time. It does not change.
    fn has_own_clock(&self) -> bool {
        false
    }

    /// Whether it is several servers, of which one may fail while the others decide. Then a failure says
    /// nothing about the next plan, which is sent all the same: such a store answers at once itself
    /// about a part that is away. It does not change.
    fn fails_in_parts(&self) -> bool {
        false
    }

    /// Changes a note; whether there was one of that name, still in force at `when`. A note that
    /// finds no room is [`StoreErrorKind::OutOfMemory`], and the one that it would have replaced stays.
    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool>;

    /// The notes in force at `when`, ordered by name.
    fn notes(&self, when: When) -> Pending<Vec<Note>>;
}

/// Something that an operator has set and every node must know within a second: a block, an
/// override, a mode. The store does not know what it means. There are few, and they are read every
/// now and then, never for a decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Note {
    /// What tells it from every other; bytes of any content.
    pub name: Box<[u8]>,
    /// What it says; bytes of any content.
    pub value: Box<[u8]>,
    /// The instant at which it is over; none: when it is removed.
    pub until: Option<Micros>,
}

impl Note {
    /// Whether it is in force at `now`.
    ///
    /// ```
    /// use jeton_core::{Micros, Note};
    /// let until = Some(Micros::new(5));
    /// let note = Note { name: [].into(), value: [].into(), until };
    /// assert!(note.is_in_force(Micros::new(4)) && !note.is_in_force(Micros::new(5)));
    /// ```
    pub fn is_in_force(&self, now: Micros) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// What happens to a note.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoteEdit {
    /// It is set, in the place of one of the same name.
    Put(Note),
    /// It is removed.
    Remove {
        /// The name of the note.
        name: Box<[u8]>,
    },
}

/// An answer of a store that may take time.
pub type Pending<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// Whose clock a decision goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// This instant, even if it lies before one that was seen already: simulations, replays, tests.
    At(Micros),
    /// A reading of a clock that never goes back. A thread that is held up between reading and
    /// deciding comes with an old one; by the clock law the time in between would then be given to
    /// its key twice. So the store goes by the latest instant at which it has decided about these
    /// states, if that is later.
    NotBefore(Micros),
    /// The store's own clock, which all nodes share.
    StoreClock,
}

impl From<Reading> for When {
    fn from(reading: Reading) -> Self {
        if reading.is_steady() {
            Self::NotBefore(reading.at())
        } else {
            Self::At(reading.at())
        }
    }
}

/// Whether a store has answered.
#[must_use]
pub enum Submitted {
    /// The answers are in `out`.
    Done,
    /// The answers will come; `out` was left as it was.
    Later(Pin<Box<dyn Future<Output = Answers> + Send>>),
}

impl fmt::Debug for Submitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "Done",
            Self::Later(_) => "Later",
        })
    }
}

/// Why a store gave no decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreError {
    /// What went wrong.
    pub kind: StoreErrorKind,
    /// Whether the plan may have been carried out all the same.
    pub written: Written,
}

/// What went wrong in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No answer within the time allowed.
    Timeout,
    /// No way to reach it.
    Unavailable,
    /// It is still starting, or busy with something that takes long.
    NotReady,
    /// It has no memory left for this.
    OutOfMemory,
    /// It wants another user or password.
    Unauthenticated,
    /// This user may not do what has to be done.
    Forbidden,
    /// It is a copy that takes no writes, or cut off from the others it decides with.
    NotPrimary,
    /// It takes no writes, since it could not keep them.
    CannotPersist,
    /// What stands at the key is not a state of ours.
    BadState,
    /// It answered, and what it said makes no sense.
    BadAnswer,
    /// It refused, for another reason.
    Refused,
    /// This store cannot do what the plan asks of it.
    Unsupported,
    /// It was not asked: whoever asks has as much in flight as it may have.
    Saturated,
}

impl StoreErrorKind {
    /// Every kind, in their order.
    pub const ALL: [Self; 13] = [
        Self::Timeout,
        Self::Unavailable,
        Self::NotReady,
        Self::OutOfMemory,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotPrimary,
        Self::CannotPersist,
        Self::BadState,
        Self::BadAnswer,
        Self::Refused,
        Self::Unsupported,
        Self::Saturated,
    ];

    /// The word in metrics.
    ///
    /// ```
    /// use jeton_core::StoreErrorKind;
    /// assert_eq!(StoreErrorKind::OutOfMemory.word(), "out_of_memory");
    /// ```
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unreachable",
            Self::NotReady => "not_ready",
            Self::OutOfMemory => "out_of_memory",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::NotPrimary => "not_primary",
            Self::CannotPersist => "cannot_persist",
            Self::BadState => "wrong_type",
            Self::BadAnswer => "bad_answer",
            Self::Refused => "other",
            Self::Unsupported => "unsupported",
            Self::Saturated => "saturated",
        }
    }
}

impl fmt::Display for StoreErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "the store did not answer in time",
            Self::Unavailable => "the store cannot be reached",
            Self::NotReady => "the store is not ready yet",
            Self::OutOfMemory => "the store has no memory left",
            Self::Unauthenticated => "the store wants another user or password",
            Self::Forbidden => "the store does not let this user do what is needed",
            Self::NotPrimary => "the store is a copy that takes no writes",
            Self::CannotPersist => "the store takes no writes, since it could not keep them",
            Self::BadState => "what stands at the key is not a limiter's state",
            Self::BadAnswer => "the store's answer makes no sense",
            Self::Refused => "the store refused",
            Self::Unsupported => "the store cannot do this",
            Self::Saturated => "as much is in flight as may be, so the store was not asked",
        })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl core::error::Error for StoreError {}

/// May a failed plan be asked again?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    /// Nothing was written: yes.
    No,
    /// Perhaps it was: asking again may charge twice.
    Unknown,
}

/// The answer for all ops of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// Every op with a vote passed, and all were charged.
    pub allowed: bool,
    /// An op with a vote can never pass.
    pub impossible: bool,
    /// The longest wait among the ops that denied; none if allowed or impossible, or if an op with
    /// a vote was [`Repeated`](crate::Fit::Repeated) or [`Unknown`](crate::Fit::Unknown).
    pub retry_after: Option<Span>,
}

/// Answers to a row of plans, in their order. Keep it and [`Answers::clear`] it between uses:
/// once it has grown, deciding allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    plans: Vec<(Result<Verdict, StoreError>, Range<usize>)>,
    decisions: Vec<Decision>,
    /// Changes of the plan that is being decided.
    pub(crate) edits: Vec<Edit>,
}

impl Answers {
    /// No answers.
    pub const fn new() -> Self {
        Self {
            plans: Vec::new(),
            decisions: Vec::new(),
            edits: Vec::new(),
        }
    }

    /// Forgets all answers and keeps the memory.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.decisions.clear();
        self.edits.clear();
    }

    /// How many plans were answered.
    pub fn len(&self) -> usize {
        self.plans.len()
    }

    /// Whether no plan was answered.
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// The answer to plan number `index`: its verdict, and one decision per op in the plan's order.
    /// A store that failed, or never got to this plan, has no verdict and no decisions.
    pub fn plan(&self, index: usize) -> (Result<Verdict, StoreError>, &[Decision]) {
        let Some((verdict, range)) = self.plans.get(index) else {
            let missing = StoreError {
                kind: StoreErrorKind::BadAnswer,
                written: Written::Unknown,
            };
            return (Err(missing), &[]);
        };
        (
            *verdict,
            self.decisions.get(range.clone()).unwrap_or_default(),
        )
    }

    /// The decisions of the plan that was answered last: for a store that decided it on a stand-in
    /// for a state it has no room for, and has to say so.
    pub fn latest_mut(&mut self) -> &mut [Decision] {
        let range = self.plans.last().map_or(0..0, |(_, range)| range.clone());
        self.decisions.get_mut(range).unwrap_or_default()
    }

    /// Appends an answer: for stores that decide elsewhere. Stores that call
    /// [`decide_all`](crate::decide_all) need not.
    #[inline]
    pub fn push(&mut self, verdict: Verdict, decisions: &[Decision]) {
        let start = self.decisions.len();
        self.decisions.extend_from_slice(decisions);
        self.close(verdict, start);
    }

    /// Appends a failure.
    pub fn push_failed(&mut self, error: StoreError) {
        let end = self.decisions.len();
        self.plans.push((Err(error), end..end));
    }

    /// The place at which the next decision will stand.
    pub(crate) fn open(&mut self) -> usize {
        self.edits.clear();
        self.decisions.len()
    }

    pub(crate) fn decide(&mut self, decision: Decision) {
        self.decisions.push(decision);
    }

    pub(crate) fn decision_mut(&mut self, index: usize) -> Option<&mut Decision> {
        self.decisions.get_mut(index)
    }

    #[inline]
    pub(crate) fn close(&mut self, verdict: Verdict, start: usize) {
        self.plans.push((Ok(verdict), start..self.decisions.len()));
    }
}
