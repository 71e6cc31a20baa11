//! Stores with one fault each, of the kinds that have been met in the field.

use std::collections::{HashMap, HashSet};
use std::future::ready;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use jeton_core::{
    Act, Answers, Cost, Decision, Fit, Kind, Micros, Mode, Note, NoteEdit, OnDeny, Op, Pending,
    Plan, Quota, Receipt, RuleId, Span, Store, StoreError, Submitted, Verdict, When,
};
use jeton_testkit::plain::PlainStore;

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Every charge of a plan is a step of its own.
    OneByOne,
    /// A denied plan stops the rest of its batch.
    BatchStops,
    /// It looks first and charges afterwards.
    CheckThenCharge,
    /// Rules share their keys' counters.
    NoRule,
    /// All algorithms share one state.
    OneKind,
    /// Only the first bytes of a key count.
    ShortKeys,
    /// A denied take is charged one unit all the same.
    DenialsCharge,
    NoOnDeny,
    NoShadow,
    LooksWrite,
    NoReset,
    NoGive,
    /// A settle is a refund of the present state.
    SettleIsRefund,
    NoDebt,
    /// However little debt there may be, a limit of it is made.
    FullDebt,
    /// A holder is only looked for, and stays.
    HoldersStay,
    /// A settle lowers whoever came last.
    LastHolder,
    /// Leases last for ever.
    NoLease,
    /// What is renewed ends all the same.
    NoRenewal,
    /// A ticket does not remember that it was settled.
    SettledAgain,
    /// A ticket that is not there is settled all the same.
    AnyTicket,
    /// A ticket can be opened twice.
    TicketTwice,
    /// Holders are let in by a look.
    LookThenHold,
    /// A note is not replaced.
    FirstNote,
    /// Notes are listed the other way round.
    NotesBackwards,
    /// Only the first bytes of a note's name count.
    ShortNotes,
    /// Notes have no end.
    EternalNotes,
    /// Notes are read, changed and written back.
    NotesRace,
    /// Another limit is another counter.
    LimitInKey,
    /// A changed limit starts with nothing left.
    ChangeFills,
    FrozenClock,
    MillisecondClock,
    /// The clock stands still until time is back where it was.
    ClockNeverBack,
    /// An old reading is taken for a clock that went back.
    OldReadingsRewind,
    /// Every key takes up room for ever; past the cap answers are guessed.
    NothingExpires,
}

/// The answer of a store that does not wait.
fn now_or_never<T>(pending: Pending<T>) -> Result<T, StoreError> {
    match pin!(pending).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("a plain store never waits"),
    }
}

/// A plain store with a fault.
pub(crate) struct Faulty {
    inner: PlainStore,
    fault: Fault,
    max_keys: u64,
    latest_us: AtomicU64,
    places: Mutex<HashSet<(RuleId, Vec<u8>)>>,
    limits: Mutex<HashMap<Vec<u8>, u32>>,
    last_holder: Mutex<Option<Receipt>>,
    notes: Mutex<Vec<Note>>,
}

impl Faulty {
    pub(crate) fn new(fault: Fault, max_keys: u64) -> Self {
        Self {
            inner: PlainStore::default(),
            fault,
            max_keys,
            latest_us: AtomicU64::new(0),
            places: Mutex::default(),
            limits: Mutex::default(),
            last_holder: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    fn change_and_write_back(&self, edit: NoteEdit) -> Pending<bool> {
        let mut notes = self.notes.lock().unwrap().clone();
        std::thread::yield_now();
        let (NoteEdit::Put(Note { name, .. }) | NoteEdit::Remove { name }) = &edit;
        let before = notes.len();
        notes.retain(|note| note.name != *name);
        let was = notes.len() < before;
        if let NoteEdit::Put(note) = edit {
            notes.push(note);
        }
        notes.sort();
        *self.notes.lock().unwrap() = notes;
        Box::pin(ready(Ok(was)))
    }

    fn clock(&self, now: Micros) -> Micros {
        let latest_us = self.latest_us.fetch_max(now.get(), Ordering::Relaxed);
        match self.fault {
            Fault::FrozenClock if latest_us > 0 => {
                self.latest_us.store(latest_us, Ordering::Relaxed);
                Micros::new(latest_us)
            }
            Fault::ClockNeverBack => Micros::new(latest_us.max(now.get())),
            Fault::MillisecondClock => Micros::new(now.get() / 1000 * 1000),
            _ => now,
        }
    }

    fn key(&self, op: &Op<'_>) -> Vec<u8> {
        match self.fault {
            Fault::ShortKeys => op.key[..op.key.len().min(8)].to_vec(),
            Fault::LimitInKey => [op.key, &op.quota.limit().to_be_bytes()].concat(),
            _ => op.key.to_vec(),
        }
    }

    fn quota(&self, op: &Op<'_>) -> Quota {
        match self.fault {
            Fault::OneKind => {
                let window = op.quota.window().unwrap_or(Span::SECOND);
                Quota::sliding_log(op.quota.limit().into(), window).unwrap()
            }
            Fault::NoLease if op.quota.kind() == Kind::Concurrency => {
                Quota::concurrency(op.quota.limit().into(), Span::LONGEST).unwrap()
            }
            _ => *op.quota,
        }
    }

    fn act(&self, op: &Op<'_>) -> Act {
        let nothing = Act::Peek { cost: Cost::ZERO };
        match (self.fault, op.act) {
            (Fault::LooksWrite, Act::Peek { cost }) => Act::Take { cost },
            (Fault::NoReset, Act::Reset) | (Fault::NoGive, Act::Give { .. }) => nothing,
            (
                Fault::SettleIsRefund,
                Act::Settle {
                    receipt, actual, ..
                },
            ) => {
                let units = receipt.cost.saturating_sub(actual.get());
                Act::Give {
                    units: Cost::new(units.into()),
                }
            }
            (
                Fault::NoDebt,
                Act::Settle {
                    receipt,
                    actual,
                    max_debt,
                },
            ) => {
                let actual = actual.min(Cost::new(receipt.cost.into()));
                Act::Settle {
                    receipt,
                    actual,
                    max_debt,
                }
            }
            (Fault::ChangeFills, Act::Take { .. }) if self.limit_changed(op) => {
                Act::Take { cost: Cost::MAX }
            }
            (
                Fault::FullDebt,
                Act::Settle {
                    receipt, actual, ..
                },
            ) => Act::Settle {
                receipt,
                actual,
                max_debt: Cost::MAX,
            },
            (fault, act) => self.act_on_what_is_held(fault, op, act),
        }
    }

    fn act_on_what_is_held(&self, fault: Fault, op: &Op<'_>, act: Act) -> Act {
        let nothing = Act::Give { units: Cost::ZERO };
        match (fault, op.quota.kind(), act) {
            (Fault::HoldersStay, Kind::Concurrency, Act::Settle { .. })
            | (Fault::NoRenewal, _, Act::Renew { .. })
            | (Fault::AnyTicket, Kind::Ticket, Act::Settle { .. } | Act::Renew { .. }) => nothing,
            (Fault::SettledAgain, Kind::Ticket, Act::Settle { .. }) => {
                Act::Peek { cost: Cost::ONE }
            }
            (Fault::TicketTwice, Kind::Ticket, Act::Hold { .. }) => Act::Reset,
            (
                Fault::LastHolder,
                Kind::Concurrency,
                Act::Settle {
                    receipt, actual, ..
                },
            ) => Act::Settle {
                receipt: self.last_holder.lock().unwrap().unwrap_or(receipt),
                actual,
                max_debt: Cost::MAX,
            },
            (_, _, act) => act,
        }
    }

    fn limit_changed(&self, op: &Op<'_>) -> bool {
        let place = [&op.rule.get().to_be_bytes(), op.key].concat();
        let mut limits = self.limits.lock().unwrap();
        let limit = op.quota.limit();
        limits
            .insert(place, limit)
            .is_some_and(|before| before != limit)
    }

    /// Asks the store itself.
    fn ask(&self, ops: &[Op<'_>], now: Micros) -> (Verdict, Vec<Decision>) {
        let mut out = Answers::new();
        let plan = Plan::new(ops).unwrap();
        let _ = self.inner.submit(&[plan], When::At(now), &mut out);
        let (verdict, decisions) = out.plan(0);
        (verdict.unwrap(), decisions.to_vec())
    }

    fn decide(&self, ops: &[Op<'_>], now: Micros) -> (Verdict, Vec<Decision>) {
        match self.fault {
            Fault::OneByOne => {
                let answers: Vec<_> = ops.iter().map(|op| self.ask(&[*op], now)).collect();
                let verdict = Verdict {
                    allowed: answers.iter().all(|(verdict, _)| verdict.allowed),
                    impossible: answers.iter().any(|(verdict, _)| verdict.impossible),
                    retry_after: answers.iter().filter_map(|one| one.0.retry_after).max(),
                };
                (verdict, answers.into_iter().flat_map(|one| one.1).collect())
            }
            Fault::CheckThenCharge => self.check_then_charge(ops, now),
            Fault::LookThenHold => self.look_then_hold(ops, now),
            Fault::DenialsCharge => {
                let answer = self.ask(ops, now);
                if matches!(answer.1[0].fit, Fit::Denied { .. }) && answer.1[0].remaining > 0 {
                    let charge = Op {
                        act: Act::Take { cost: Cost::ONE },
                        ..ops[0]
                    };
                    self.ask(&[charge], now);
                }
                answer
            }
            _ => self.ask(ops, now),
        }
    }

    fn check_then_charge(&self, ops: &[Op<'_>], now: Micros) -> (Verdict, Vec<Decision>) {
        let cost_of = |op: &Op<'_>| match op.act {
            Act::Take { cost } => Some(cost),
            _ => None,
        };
        if ops.iter().any(|op| cost_of(op).is_none()) {
            return self.ask(ops, now);
        }
        let looks: Vec<Op<'_>> = ops
            .iter()
            .map(|op| Op {
                act: Act::Peek {
                    cost: cost_of(op).unwrap(),
                },
                ..*op
            })
            .collect();
        let answer = self.ask(&looks, now);
        std::thread::yield_now();
        if answer.0.allowed {
            for op in ops {
                let receipt = Receipt {
                    cost: 0,
                    part: 0,
                    at: now,
                    mark: now,
                };
                let charge = Act::Settle {
                    receipt,
                    actual: cost_of(op).unwrap(),
                    max_debt: Cost::MAX,
                };
                self.ask(&[Op { act: charge, ..*op }], now);
            }
        }
        answer
    }

    fn look_then_hold(&self, ops: &[Op<'_>], now: Micros) -> (Verdict, Vec<Decision>) {
        let (Act::Hold { cost }, Kind::Concurrency) = (ops[0].act, ops[0].quota.kind()) else {
            return self.ask(ops, now);
        };
        let look = self.ask(
            &[Op {
                act: Act::Peek { cost },
                ..ops[0]
            }],
            now,
        );
        std::thread::yield_now();
        if !look.0.allowed {
            return look;
        }
        let lease = ops[0].quota.lease().unwrap();
        let wide = Quota::concurrency(1_000, lease).unwrap();
        let mut held = self.ask(
            &[Op {
                quota: &wide,
                ..ops[0]
            }],
            now,
        );
        held.1[0].remaining = look.1[0].remaining - cost.get();
        held.1[0].limit = ops[0].quota.limit();
        held
    }

    /// Whether an op would take up room that is not there.
    fn is_full(&self, op: &Op<'_>) -> bool {
        let forgets = !matches!(self.fault, Fault::NothingExpires | Fault::LooksWrite);
        let charges = matches!(op.act, Act::Take { .. } | Act::Hold { .. });
        if forgets || !(charges || self.fault == Fault::LooksWrite) {
            return false;
        }
        let mut places = self.places.lock().unwrap();
        places.insert((op.rule, op.key.to_vec()));
        places.len() as u64 > self.max_keys
    }
}

impl Store for Faulty {
    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        let short = |name: Box<[u8]>| match self.fault {
            Fault::ShortNotes => name[..name.len().min(2)].into(),
            _ => name,
        };
        let edit = match edit {
            NoteEdit::Put(note) => NoteEdit::Put(Note {
                name: short(note.name),
                until: note.until.filter(|_| self.fault != Fault::EternalNotes),
                ..note
            }),
            NoteEdit::Remove { name } => NoteEdit::Remove { name: short(name) },
        };
        if self.fault == Fault::NotesRace {
            return self.change_and_write_back(edit);
        }
        let set = now_or_never(self.inner.notes(when)).unwrap();
        match &edit {
            NoteEdit::Put(note)
                if self.fault == Fault::FirstNote
                    && set.iter().any(|one| one.name == note.name) =>
            {
                Box::pin(ready(Ok(true)))
            }
            _ => self.inner.note(edit, when),
        }
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        if self.fault == Fault::NotesRace {
            return Box::pin(ready(Ok(self.notes.lock().unwrap().clone())));
        }
        let mut notes = now_or_never(self.inner.notes(when)).unwrap();
        if self.fault == Fault::NotesBackwards {
            notes.reverse();
        }
        Box::pin(ready(Ok(notes)))
    }

    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        let now = match when {
            When::At(now) => self.clock(now),
            When::NotBefore(now) if self.fault == Fault::OldReadingsRewind => self.clock(now),
            When::NotBefore(now) => {
                let latest_us = self.latest_us.load(Ordering::Relaxed);
                self.clock(Micros::new(latest_us.max(now.get())))
            }
            When::StoreClock => unreachable!("the laws bring their own clock"),
        };
        let mut stopped = false;
        for plan in plans {
            let keys: Vec<Vec<u8>> = plan.ops().iter().map(|op| self.key(op)).collect();
            let quotas: Vec<Quota> = plan.ops().iter().map(|op| self.quota(op)).collect();
            let changed = plan.ops().iter().zip(keys.iter().zip(&quotas));
            let ops: Vec<Op<'_>> = changed
                .map(|(op, (key, quota))| Op {
                    rule: if self.fault == Fault::NoRule {
                        RuleId::new(0)
                    } else {
                        op.rule
                    },
                    key,
                    quota,
                    act: if stopped {
                        Act::Take { cost: Cost::MAX }
                    } else {
                        self.act(op)
                    },
                    mode: if self.fault == Fault::NoShadow {
                        Mode::Enforce
                    } else {
                        op.mode
                    },
                    on_deny: if self.fault == Fault::NoOnDeny {
                        OnDeny::Keep
                    } else {
                        op.on_deny
                    },
                })
                .collect();
            let (verdict, mut decisions) = self.decide(&ops, now);
            stopped |= self.fault == Fault::BatchStops && !verdict.allowed;
            for (op, decision) in plan.ops().iter().zip(&mut decisions) {
                if op.quota.kind() == Kind::Concurrency && decision.receipt.cost > 0 {
                    *self.last_holder.lock().unwrap() = Some(decision.receipt);
                }
                decision.approximate |= self.is_full(op);
            }
            out.push(verdict, &decisions);
        }
        Submitted::Done
    }
}
