//! Stores with one fault each, of the kinds that have been met in the field.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use jeton_core::{
    Act, Answers, Cost, Decision, Fit, Micros, Mode, Note, NoteEdit, OnDeny, Op, Pending, Plan,
    Quota, Receipt, RuleId, Span, Store, Submitted, Verdict, When,
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

/// A plain store with a fault.
pub(crate) struct Faulty {
    inner: PlainStore,
    fault: Fault,
    max_keys: u64,
    latest_us: AtomicU64,
    places: Mutex<HashSet<(RuleId, Vec<u8>)>>,
    limits: Mutex<HashMap<Vec<u8>, u32>>,
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
        }
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
            (_, act) => act,
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
        self.inner.note(edit, when)
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.inner.notes(when)
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
                decision.approximate |= self.is_full(op);
            }
            out.push(verdict, &decisions);
        }
        Submitted::Done
    }
}
