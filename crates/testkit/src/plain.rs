//! The plainest store there is: a map behind one lock. It shows that the laws can be kept, and is
//! what they are tried out on; whoever writes a store may read it first.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use jeton_core::{
    Answers, Cell, Cells, Edit, Entry, Kind, Micros, Note, NoteEdit, Pending, Plan, RuleId, Store,
    StoreError, StoreErrorKind, Submitted, View, When, Written, decide_all,
};

type Place = (RuleId, Kind, Vec<u8>);

/// One state and the instant from which on it may vanish.
#[derive(Debug)]
struct Kept {
    cell: Cell,
    tail: Vec<Entry>,
    until: Micros,
}

/// A store that keeps as many states as memory holds, and forgets each at the first instant it may.
///
/// ```
/// use jeton_core::{Answers, Cost, Micros, Op, Plan, Quota, Rate, RuleId, Span, Store, When};
/// let store = jeton_testkit::plain::PlainStore::default();
/// let quota = Quota::bucket(Rate::new(1, Span::SECOND)?, 1)?;
/// let take = Op::take(RuleId::new(1), b"alice", &quota, Cost::ONE);
/// let mut out = Answers::new();
/// let _ = store.submit(&[Plan::one(&take)], When::At(Micros::new(0)), &mut out);
/// assert!(out.plan(0).0.is_ok_and(|verdict| verdict.allowed));
/// # Ok::<(), jeton_core::QuotaError>(())
/// ```
#[derive(Debug, Default)]
pub struct PlainStore {
    states: Mutex<HashMap<Place, Kept>>,
    notes: Mutex<BTreeMap<Box<[u8]>, Note>>,
    /// The latest steady reading in microseconds.
    latest: AtomicU64,
}

impl PlainStore {
    /// How many states it holds, those that may vanish included.
    pub fn states(&self) -> usize {
        self.states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl PlainStore {
    /// The instant to go by; there is no clock of its own.
    fn now(&self, when: When) -> Result<Micros, StoreError> {
        match when {
            When::At(now) => Ok(now),
            When::NotBefore(now) => {
                let latest = self.latest.fetch_max(now.get(), Relaxed);
                Ok(now.max(Micros::new(latest)))
            }
            When::StoreClock => Err(StoreError {
                kind: StoreErrorKind::Unsupported,
                written: Written::No,
            }),
        }
    }
}

impl Store for PlainStore {
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        for plan in plans {
            match self.now(when) {
                Ok(now) => {
                    let places: Vec<Place> =
                        plan.ops().iter().map(|op| owned(op.place())).collect();
                    for place in &places {
                        if states.get(place).is_some_and(|kept| kept.until <= now) {
                            states.remove(place);
                        }
                    }
                    let mut cells = PlanCells {
                        states: &mut states,
                        places: &places,
                    };
                    decide_all(*plan, &mut cells, now, out);
                }
                Err(error) => out.push_failed(error),
            }
        }
        Submitted::Done
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(ready(self.now(when).map(|now| {
            notes.retain(|_, note| note.is_in_force(now));
            match edit {
                NoteEdit::Put(note) => notes.insert(note.name.clone(), note).is_some(),
                NoteEdit::Remove { name } => notes.remove(&name).is_some(),
            }
        })))
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(ready(self.now(when).map(|now| {
            notes.retain(|_, note| note.is_in_force(now));
            notes.values().cloned().collect()
        })))
    }
}

fn owned((rule, kind, key): (RuleId, Kind, &[u8])) -> Place {
    (rule, kind, key.to_vec())
}

struct PlanCells<'a> {
    states: &'a mut HashMap<Place, Kept>,
    places: &'a [Place],
}

impl Cells for PlanCells<'_> {
    fn view(&self, op: usize) -> View<'_> {
        match self.states.get(&self.places[op]) {
            Some(kept) => View {
                cell: Some(kept.cell),
                tail: &kept.tail,
            },
            None => View::ABSENT,
        }
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        match edit {
            Edit::Keep => {}
            Edit::Erase => {
                self.states.remove(&self.places[op]);
            }
            Edit::Put {
                cell,
                until,
                tail: edit,
            } => {
                let kept = self.states.remove(&self.places[op]);
                let mut tail = kept.map_or_else(Vec::new, |kept| kept.tail);
                edit.apply(&mut tail);
                self.states
                    .insert(self.places[op].clone(), Kept { cell, tail, until });
            }
        }
    }
}
