//! The one object that every door asks: policy, store, clock, outage rule and meters.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jeton_core::{
    Act, Answers, Cost, Decision, Micros, Op, Plan, Reading, Store, StoreError, Submitted, When,
};
use jeton_policy::{Buffers, Charge, Counter, Facts, Orders, Policy, Verdict as Ruling};
use smallvec::SmallVec;

use crate::answered::{Answered, Disposition, Part};
use crate::clock::Clock;
use crate::meters::{Event, RuleOutcome};
use crate::tally::Tally;
use crate::verb::{NamedCharge, Verb};

/// Decides about requests under a policy. Clones share everything. Reading a policy from text, as
/// here, needs the feature `policy-files`.
///
/// ```
/// use std::sync::Arc;
/// use jeton::policy::{NoReferences, Policy, Source};
/// use jeton::{Clock, Cost, Gate, NamedCharge, Settings, Table, Verb};
///
/// let file = Source::new("jeton.toml", r#"
///     [[rule]]
///     name = "api"
///     key = ["header:x-user"]
///     algorithm = "gcra"
///     rate = "5/s"
/// "#);
/// let policy = Policy::load(&file, &NoReferences)?.policy;
/// let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
///
/// let charge = NamedCharge { rule: "api", key: &["alice"], cost: Cost::ONE };
/// if let Ok(answered) = gate.charge(Verb::Take, &[charge])?.now() {
///     assert!(answered.allowed());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    live: ArcSwap<Live>,
    store: Arc<dyn Store>,
    clock: Clock,
}

/// A policy with its counters.
struct Live {
    policy: Arc<Policy>,
    tally: Arc<Tally>,
    orders: Orders,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("clock", &self.0.clock)
            .finish_non_exhaustive()
    }
}

/// An answer that is there, or will be.
#[must_use]
#[allow(clippy::large_enum_variant)] // a box would cost an allocation on the path that is taken
pub enum Deciding {
    /// The store answered at once: memory always does.
    Now(Answered),
    /// It will.
    Later(Pin<Box<dyn Future<Output = Answered> + Send>>),
}

impl fmt::Debug for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(answered) => f.debug_tuple("Now").field(answered).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

impl Deciding {
    /// The answer if it is there.
    ///
    /// # Errors
    /// Gives itself back if the store has still to answer.
    #[allow(clippy::result_large_err)] // as above
    pub fn now(self) -> Result<Answered, Self> {
        match self {
            Self::Now(answered) => Ok(answered),
            later @ Self::Later(_) => Err(later),
        }
    }

    /// Waits for the answer.
    pub async fn wait(self) -> Answered {
        match self {
            Self::Now(answered) => answered,
            Self::Later(answered) => answered.await,
        }
    }
}

/// Memory that decisions reuse, one per thread, so that they allocate nothing.
#[derive(Default)]
struct Scratch {
    buffers: Buffers,
    answers: Answers,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

fn with_scratch<R>(body: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let result = body(&mut scratch);
    SCRATCH.set(Some(scratch));
    result
}

impl Gate {
    /// A gate that keeps its states in `store` and goes by `clock`.
    pub fn new(policy: Policy, store: Arc<dyn Store>, clock: Clock) -> Self {
        let policy = Arc::new(policy);
        let tally = Arc::new(Tally::new(policy.rules().len()));
        let live = ArcSwap::from_pointee(Live {
            policy,
            tally,
            orders: Orders::default(),
        });
        Self(Arc::new(Inner { live, store, clock }))
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.0.live.load().policy.clone()
    }

    /// The counters of the policy in force.
    pub fn tally(&self) -> Arc<Tally> {
        self.0.live.load().tally.clone()
    }

    /// The clock it goes by.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Whether both are clones of one gate.
    #[cfg(feature = "tower")]
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Charges every rule that applies to a request, or none: one step.
    pub fn take(&self, facts: &dyn Facts) -> Deciding {
        self.decide(facts, Verb::Take, Cost::ONE)
    }

    /// Answers as [`Gate::take`] would, and changes nothing.
    pub fn check(&self, facts: &dyn Facts) -> Deciding {
        self.decide(facts, Verb::Check, Cost::ONE)
    }

    /// Does `verb` for every rule that applies to a request, with `cost` units each.
    pub fn decide(&self, facts: &dyn Facts, verb: Verb, cost: Cost) -> Deciding {
        let live = self.0.live.load();
        let reading = self.0.clock.reading();
        let now = reading.at();
        with_scratch(|Scratch { buffers, answers }| {
            let evaluation = live.policy.evaluate(facts, &live.orders, now, buffers);
            let unmatched = evaluation.is_unmatched();
            if verb.is_metered() {
                live.tally.shadow_refused(evaluation.shadow_denials());
            }
            let (disposition, event) = match evaluation.verdict() {
                Ruling::Charges => {
                    let ops: SmallVec<[_; 4]> = evaluation.charges().map(|c| (c, cost)).collect();
                    if !ops.is_empty() {
                        return self.submit(&live, &ops, verb, reading, answers);
                    }
                    if unmatched {
                        (Disposition::Unmatched, Event::Unmatched)
                    } else {
                        (Disposition::Unlimited, Event::Unlimited)
                    }
                }
                Ruling::Exempt => (Disposition::Exempt, Event::Exempt),
                Ruling::Blocked => (Disposition::Blocked, Event::Blocked),
                Ruling::Denied(denied) => {
                    let (rule, reason) = (denied.rule, denied.reason);
                    if verb.is_metered() {
                        live.tally.decided(rule, RuleOutcome::Denied);
                    }
                    (Disposition::Refused { rule, reason }, Event::Refused)
                }
                _ => (Disposition::TooManyRules, Event::TooManyRules),
            };
            if verb.is_metered() {
                live.tally.happened(event);
            }
            let policy = live.policy.clone();
            Deciding::Now(Answered {
                policy,
                disposition,
                at: now,
                parts: SmallVec::new(),
            })
        })
    }

    /// Does `verb` for charges that the caller names, all in one step. Two on one rule and key are
    /// one charge of their sum.
    ///
    /// # Errors
    /// [`ChargeError`](crate::ChargeError) names the charge and what is wrong with it; nothing is done.
    pub fn charge(
        &self,
        verb: Verb,
        charges: &[NamedCharge<'_>],
    ) -> Result<Deciding, crate::ChargeError> {
        let live = self.0.live.load();
        let reading = self.0.clock.reading();
        let now = reading.at();
        let named = crate::named::Named::resolve(&live.policy, &live.orders, charges)?;
        if let Some((rule, reason)) = named.refused {
            if verb.is_metered() {
                live.tally.decided(rule, RuleOutcome::Denied);
                live.tally.happened(Event::Refused);
            }
            let policy = live.policy.clone();
            let disposition = Disposition::Refused { rule, reason };
            let parts = SmallVec::new();
            return Ok(Deciding::Now(Answered {
                policy,
                disposition,
                at: now,
                parts,
            }));
        }
        let ops = named.charges();
        if ops.is_empty() {
            if verb.is_metered() {
                live.tally.happened(Event::Unlimited);
            }
            let (policy, parts) = (live.policy.clone(), SmallVec::new());
            let disposition = Disposition::Unlimited;
            return Ok(Deciding::Now(Answered {
                policy,
                disposition,
                at: now,
                parts,
            }));
        }
        Ok(with_scratch(|Scratch { answers, .. }| {
            self.submit(&live, &ops, verb, reading, answers)
        }))
    }

    /// One plan to the store.
    fn submit(
        &self,
        live: &Live,
        charges: &[(Charge<'_>, Cost)],
        verb: Verb,
        reading: Reading,
        answers: &mut Answers,
    ) -> Deciding {
        let ops: SmallVec<[Op<'_>; 4]> = charges
            .iter()
            .map(|(charge, cost)| op(charge, verb.act(*cost)))
            .collect();
        let asked = Asked {
            policy: live.policy.clone(),
            tally: verb.is_metered().then(|| live.tally.clone()),
            rules: charges
                .iter()
                .map(|(c, _)| (c.rule, c.counter == Counter::Preflights, c.mode.into()))
                .collect(),
            at: reading.at(),
        };
        let Ok(plan) = Plan::new(&ops) else {
            return Deciding::Now(asked.without_plan());
        };
        answers.clear();
        match self.0.store.submit(&[plan], When::from(reading), answers) {
            Submitted::Done => Deciding::Now(asked.answered(answers)),
            Submitted::Later(later) => {
                Deciding::Later(Box::pin(async move { asked.answered(&later.await) }))
            }
        }
    }
}

fn op<'a>(charge: &Charge<'a>, act: Act) -> Op<'a> {
    Op {
        mode: charge.mode.into(),
        ..Op::new(charge.id, charge.key, charge.quota, act)
    }
}

/// What has to be kept until the store has answered.
struct Asked {
    policy: Arc<Policy>,
    tally: Option<Arc<Tally>>,
    rules: SmallVec<[(usize, bool, jeton_core::Mode); 4]>,
    at: Micros,
}

impl Asked {
    fn answered(self, answers: &Answers) -> Answered {
        match answers.plan(0) {
            (Ok(verdict), decisions) => {
                let part = |(&(rule, preflight, mode), &decision): (_, &Decision)| Part {
                    rule,
                    preflight,
                    mode,
                    decision,
                };
                let parts: SmallVec<[Part; 3]> =
                    self.rules.iter().zip(decisions).map(part).collect();
                if let Some(tally) = &self.tally {
                    for Part {
                        rule,
                        mode,
                        decision,
                        ..
                    } in &parts
                    {
                        tally.decided(*rule, RuleOutcome::of(decision, *mode, verdict.allowed));
                    }
                }
                let at = parts.first().map_or(self.at, |part| part.decision.at);
                let disposition = Disposition::Decided(verdict);
                Answered {
                    policy: self.policy,
                    disposition,
                    at,
                    parts,
                }
            }
            (Err(error), _) => self.degraded(error),
        }
    }

    /// No store answered: there is no decision, and the outage rule alone speaks.
    fn degraded(self, error: StoreError) -> Answered {
        if let Some(tally) = &self.tally {
            tally.degraded(error.kind);
        }
        let disposition = Disposition::Degraded { error: error.kind };
        Answered {
            policy: self.policy,
            disposition,
            at: self.at,
            parts: SmallVec::new(),
        }
    }

    /// The rules of one policy are told apart and bounded in number before this; should they ever
    /// not make one plan, refusing is the safe answer.
    fn without_plan(self) -> Answered {
        if let Some(tally) = &self.tally {
            tally.happened(Event::TooManyRules);
        }
        let disposition = Disposition::TooManyRules;
        Answered {
            policy: self.policy,
            disposition,
            at: self.at,
            parts: SmallVec::new(),
        }
    }
}
