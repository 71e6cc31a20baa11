//! What is done with the store's answers to a batch: they are counted, and the outage rule speaks where
//! there are none.

use std::sync::Arc;

use jeton_core::{Op, StoreError};
use smallvec::SmallVec;

use super::super::Gate;
use super::super::asked::{Asked, Seed};
use super::super::shedding::SATURATED;
use super::super::verdicts;
use super::{BatchMemory, Decided};
use crate::meters::RuleOutcome;
use crate::tally::Tally;

/// Counters change once for all neighbours that ended alike, which in a row of calls most do.
struct Alike<'t> {
    tally: &'t Tally,
    ended: Option<(usize, RuleOutcome)>,
    times: u64,
}

impl Alike<'_> {
    #[inline]
    fn count(&mut self, rule: usize, outcome: RuleOutcome) {
        if self.ended != Some((rule, outcome)) {
            self.tell();
            self.ended = Some((rule, outcome));
        }
        self.times += 1;
    }

    fn tell(&mut self) {
        if let Some((rule, outcome)) = self.ended {
            self.tally.decided_often(rule, outcome, self.times);
        }
        self.times = 0;
    }
}

impl Decided {
    pub(super) fn finish(&mut self, gate: &Gate) {
        self.count();
        for call in 0..self.memory.calls.len() {
            if let Some(error) = self.failure(call) {
                self.outage(gate, call, error);
            }
        }
    }

    fn count(&self) {
        let BatchMemory {
            calls,
            counted,
            answers,
            ..
        } = &self.memory;
        let (tally, ended) = (&*self.live.tally, None);
        let mut alike = Alike {
            tally,
            ended,
            times: 0,
        };
        for call in calls {
            let is_metered = call.verb.is_metered();
            if let Some(disposition) = call.refused {
                let at = self.reading.at();
                verdicts::without_counter(&self.live, disposition, is_metered, at);
            }
            let (true, Some(plan)) = (is_metered, call.plan) else {
                continue;
            };
            let (Ok(verdict), decisions) = answers.plan(plan) else {
                continue;
            };
            let counted = counted.get(call.counted.clone()).unwrap_or_default();
            for (seed, decision) in counted.iter().map(|it| &it.seed).zip(decisions) {
                let outcome = RuleOutcome::of(decision, seed.mode, seed.counter, verdict.allowed);
                alike.count(seed.rule, outcome);
            }
        }
        alike.tell();
    }

    /// Why a call that counters decide about has no decision, if it has none.
    fn failure(&self, call: usize) -> Option<StoreError> {
        let call = self.memory.calls.get(call)?;
        match (call.refused, call.plan) {
            (Some(_), _) => None,
            (None, None) => Some(SATURATED),
            (None, Some(plan)) => self.memory.answers.plan(plan).0.err(),
        }
    }

    #[cold]
    fn outage(&mut self, gate: &Gate, number: usize, error: StoreError) {
        let BatchMemory {
            keys,
            counted,
            calls,
            outages,
            ..
        } = &mut self.memory;
        let Some(call) = calls.get(number) else {
            return;
        };
        let counted = counted.get(call.counted.clone()).unwrap_or_default();
        let seeds: SmallVec<[Seed; 3]> = counted.iter().map(|it| it.seed).collect();
        let ops: SmallVec<[Op<'_>; 4]> = counted.iter().map(|it| it.op(keys)).collect();
        let asked = Asked {
            live: Arc::clone(&self.live),
            is_metered: call.verb.is_metered(),
            corrects: call.verb.corrects(),
            at: self.reading.at(),
            seeds,
        };
        let answered = gate.outage(asked, error, &ops, self.reading);
        outages.push((number, answered.without_local_receipts()));
    }
}
