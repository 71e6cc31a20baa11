//! What is kept while a store decides, and what becomes of its answer.

use std::sync::Arc;

use jeton_core::{
    Act, Answers, Cost, Decision, Micros, Op, Quota, RuleId, StoreError, StoreErrorKind,
};
use jeton_policy::{Charge, Counter, Mode, OnFailure};
use smallvec::SmallVec;

use super::Live;
use crate::answered::{Answered, Disposition, Part};
use crate::meters::{Event, RuleOutcome};

/// Whose decision it will be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    pub(crate) rule: usize,
    pub(crate) counter: Counter,
    /// The identity of that counter.
    pub(crate) id: RuleId,
    /// The plan's number in its rule.
    pub(crate) plan: Option<usize>,
    pub(crate) mode: Mode,
    pub(crate) quota: Quota,
    pub(crate) on_failure: OnFailure,
}

impl Seed {
    pub(crate) fn of(live: &Live, charge: &Charge<'_>) -> Self {
        let rule = live.policy.rules().get(charge.rule);
        let plans = rule.and_then(|rule| rule.rule().plan.as_ref());
        let named = charge.plan.zip(plans);
        Self {
            rule: charge.rule,
            counter: charge.counter,
            id: charge.id,
            plan: named.and_then(|(name, plans)| plans.named.iter().position(|p| p.0 == name)),
            mode: charge.mode,
            quota: *charge.quota,
            on_failure: charge.on_failure,
        }
    }

    /// The plan it was decided under.
    pub(crate) fn plan_name<'l>(&self, live: &'l Live) -> Option<&'l str> {
        let rule = live.policy.rules().get(self.rule)?.rule();
        let (name, _) = rule.plan.as_ref()?.named.get(self.plan?)?;
        Some(name)
    }

    /// Whether it can deny.
    pub(super) fn has_vote(&self) -> bool {
        self.mode == Mode::Enforce && self.counter != Counter::Trial
    }
}

/// The op of a charge.
pub(super) fn op<'a>(charge: &Charge<'a>, act: Act) -> Op<'a> {
    Op {
        mode: charge.mode.into(),
        on_deny: charge.on_deny,
        ..Op::new(charge.id, charge.key, charge.quota, act)
    }
}

/// A plan that is with the store.
pub(crate) struct Asked {
    pub(crate) live: Arc<Live>,
    /// Whether the answer belongs into the meters: looking and correcting are no requests.
    pub(crate) is_metered: bool,
    /// Whether it is to change what has been charged: nothing that an outage rule could speak of.
    pub(crate) corrects: bool,
    pub(crate) at: Micros,
    pub(crate) seeds: SmallVec<[Seed; 3]>,
}

impl Asked {
    /// The answer to plan number 0. Ops behind those of the seeds are the caller's own.
    ///
    /// # Errors
    /// Gives itself back if the store failed.
    #[allow(clippy::result_large_err)] // a box would cost an allocation, and it is looked at at once
    pub(crate) fn decided(self, answers: &Answers) -> Result<Answered, (Self, StoreError)> {
        let (verdict, decisions) = match answers.plan(0) {
            (Ok(verdict), decisions) => (verdict, decisions),
            (Err(error), _) => return Err((self, error)),
        };
        let part = |(&seed, &decision): (&Seed, &Decision)| Part { seed, decision };
        let parts: SmallVec<[Part; 3]> = self.seeds.iter().zip(decisions).map(part).collect();
        if self.is_metered {
            for Part { seed, decision } in &parts {
                let outcome = RuleOutcome::of(decision, seed.mode, seed.counter, verdict.allowed);
                self.live.tally.decided(seed.rule, outcome);
            }
        }
        let at = parts.first().map_or(self.at, |part| part.decision.at);
        let disposition = Disposition::Decided(verdict);
        Ok(Answered::new(self.live, disposition, at, parts))
    }

    /// No store answered: there is no decision.
    #[cold]
    pub(crate) fn degraded(self, error: StoreErrorKind, denied: bool) -> Answered {
        let rules = self.seeds.iter().map(|seed| seed.rule);
        if self.is_metered {
            self.live.tally.degraded(error, rules);
        } else {
            self.live.tally.store_failed(error, rules);
        }
        let disposition = Disposition::Degraded { error, denied };
        Answered::new(self.live, disposition, self.at, SmallVec::new())
    }

    /// The rules of one policy are told apart and bounded in number before this; should they ever
    /// not make one plan, refusing is the safe answer.
    pub(crate) fn without_plan(self) -> Answered {
        if self.is_metered {
            self.live.tally.happened(Event::TooManyRules);
        }
        let disposition = Disposition::TooManyRules;
        Answered::new(self.live, disposition, self.at, SmallVec::new())
    }
}

/// The cost of a charge: the caller's, else the rule's own.
pub(super) fn cost_of(charge: &Charge<'_>, asked: Option<Cost>) -> Cost {
    asked.unwrap_or(charge.cost)
}
