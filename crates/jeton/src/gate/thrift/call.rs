//! One call of the store: what goes with the plans, and what becomes of the answers.

use std::sync::Arc;

use jeton_core::{Answers, Decision, Micros, Op, Plan, Quota, StoreError, Verdict};
use smallvec::SmallVec;

use super::Thrift;
use super::cell::Worth;
use super::known::Decisions;
use super::lease::Ahead;
use super::place::Place;
use super::pool::Unspent;

/// A call that is made, or under way.
#[derive(Debug)]
pub(in crate::gate) struct Call {
    thrift: Arc<Thrift>,
    sent: Micros,
    /// What becomes of each plan.
    steps: SmallVec<[Step; 1]>,
    /// Goes back before them.
    pub(super) unspent: SmallVec<[Unspent; 1]>,
    /// Is taken after them.
    pub(super) aheads: SmallVec<[Ahead; 1]>,
}

/// What becomes of one plan.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // one of them, on its way over a network
pub(super) enum Step {
    /// It is answered.
    Known(Verdict, Decisions),
    /// The store is asked.
    Asked(SmallVec<[AskedOp; 2]>),
}

/// What of an op is needed when it is answered.
#[derive(Debug)]
pub(super) struct AskedOp {
    pub(super) place: Place,
    pub(super) quota: Quota,
    pub(super) cost: u32,
    /// How often units had been given back there when it was asked.
    pub(super) freed: u64,
    pub(super) effect: Effect,
}

/// What an op does to what is known of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It is a plain take or look, and its answer says something.
    Plain,
    /// It lowers the state whoever has charged it: units that were taken ahead may be gone as well.
    Lowers,
    /// It may free units.
    Other,
}

impl Call {
    /// A call made at `sent`. The first `known` plans are answered in `answers`.
    pub(super) fn new(
        thrift: &Arc<Thrift>,
        sent: Micros,
        answers: &mut Answers,
        known: usize,
    ) -> Self {
        let steps = (0..known).filter_map(|plan| {
            let (verdict, decisions) = answers.plan(plan);
            Some(Step::Known(verdict.ok()?, decisions.into()))
        });
        let steps = steps.collect();
        answers.clear();
        Self {
            steps,
            ..Self::of_nobody(thrift, sent)
        }
    }

    /// A call made at `sent` that no plan has to wait for.
    pub(super) fn of_nobody(thrift: &Arc<Thrift>, sent: Micros) -> Self {
        Self {
            thrift: Arc::clone(thrift),
            sent,
            steps: SmallVec::new(),
            unspent: SmallVec::new(),
            aheads: SmallVec::new(),
        }
    }

    /// Whether all plans are answered without it.
    pub(in crate::gate) fn answers_nobody(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Whether its answer has to be learnt even if whoever asked has gone away: units are on their way,
    /// or may not be what they were.
    #[cfg(feature = "settling")] // else there is nobody who could go on with it
    pub(in crate::gate) fn must_be_learnt(&self) -> bool {
        let lowers = |step: &Step| match step {
            Step::Known(..) => false,
            Step::Asked(ops) => ops.iter().any(|op| op.effect == Effect::Lowers),
        };
        !self.aheads.is_empty() || self.steps.iter().any(lowers)
    }

    /// Hands over all plans that the store is called with for `plans`.
    pub(in crate::gate) fn with_plans<R>(
        &self,
        plans: &[Plan<'_>],
        then: impl FnOnce(&[Plan<'_>]) -> R,
    ) -> R {
        let unspent: SmallVec<[Op<'_>; 1]> = self.unspent.iter().map(Unspent::op).collect();
        let aheads: SmallVec<[_; 1]> = self.aheads.iter().map(Ahead::ops).collect();
        let is_asked = |step: &Step| matches!(step, Step::Asked(_));
        let asked = plans.iter().zip(&self.steps);
        let asked = asked.filter(|(_, step)| is_asked(step));
        let all: SmallVec<[Plan<'_>; 4]> = unspent
            .iter()
            .map(Plan::one)
            .chain(asked.map(|(plan, _)| *plan))
            // Some of the ops of one plan are one plan.
            .chain(aheads.iter().filter_map(|ops| Plan::new(ops).ok()))
            .collect();
        then(&all)
    }

    /// Learns what the store has said, as it came, and appends the answers to the plans.
    pub(in crate::gate) fn finish(self, said: &Answers, came: Micros, answers: &mut Answers) {
        let times = (self.sent, came.max(self.sent));
        let mut next = self.unspent.len()..;
        for step in self.steps {
            let ops = match step {
                Step::Known(verdict, decisions) => {
                    answers.push(verdict, &decisions);
                    continue;
                }
                Step::Asked(ops) => ops,
            };
            let (verdict, decisions) = said.plan(next.next().unwrap_or(usize::MAX));
            self.thrift.learn(&ops, verdict, decisions, times);
            match verdict {
                Ok(verdict) => answers.push(verdict, decisions),
                Err(error) => answers.push_failed(error),
            }
        }
        for ahead in self.aheads {
            let (verdict, decisions) = said.plan(next.next().unwrap_or(usize::MAX));
            // Whether an answer that did not come was carried out, nobody knows: what it would have
            // taken is not spent.
            if let Ok(verdict) = verdict {
                self.thrift.fund(ahead, verdict, decisions, times);
            }
        }
    }
}

impl Thrift {
    /// What the store has said of a plan.
    fn learn(
        &self,
        ops: &[AskedOp],
        verdict: Result<Verdict, StoreError>,
        decisions: &[Decision],
        times: (Micros, Micros),
    ) {
        let places: SmallVec<[Place; 4]> = ops.iter().map(|op| op.place).collect();
        let mut held = self.cells.hold(&places);
        for (i, op) in ops.iter().enumerate() {
            if op.effect != Effect::Plain {
                held.free(&op.place);
                let Some(cell) = held.get(&op.place) else {
                    continue;
                };
                cell.disturb_after(op.effect == Effect::Lowers);
                continue;
            }
            let (Ok(verdict), Some(decision)) = (verdict, decisions.get(i)) else {
                continue;
            };
            if held.freed(&op.place) != op.freed || decision.approximate {
                continue;
            }
            let is_worth_it = !verdict.allowed && !self.deny_for.is_zero();
            let cell = if is_worth_it {
                held.claim(&op.place, &op.quota, Worth::Denied, times.1)
            } else {
                held.get(&op.place)
            };
            let Some(cell) = cell.filter(|cell| *cell.quota() == op.quota) else {
                continue;
            };
            cell.learn(*decision, times.1);
            if is_worth_it {
                let denied = decision.fit.retry_after().map(|wait| (op.cost, wait));
                cell.remember(denied, self.deny_for, times);
            }
        }
    }
}
