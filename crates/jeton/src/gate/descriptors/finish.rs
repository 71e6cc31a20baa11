//! What the store's answer makes of a request of descriptors.

use std::sync::Arc;

use jeton_core::{Act, Answers, Cost, Decision, Micros, Op, Quota, RuleId, StoreError};
use jeton_core::{Receipt, StoreErrorKind, Verdict, Written};
use jeton_policy::Mode;
use smallvec::SmallVec;

use super::draft::Group;
use super::outline::{Noted, Outline, refuses};
use super::part::Part;
use super::{Ruled, RuledDescriptor, Standing};
use crate::answered::{self, Answered, Disposition};
use crate::gate::verdicts;
use crate::meters::RuleOutcome;

/// A charge that goes back.
pub(super) struct Back {
    line: usize,
    id: RuleId,
    key: Box<[u8]>,
    quota: Quota,
    receipt: Receipt,
}

impl Back {
    pub(super) fn op(&self) -> Op<'_> {
        let act = Act::Settle {
            receipt: self.receipt,
            actual: Cost::ZERO,
            max_debt: Cost::ZERO,
        };
        Op::new(self.id, &self.key, &self.quota, act)
    }
}

/// An answer, and what goes back because of it.
pub(super) struct Finished {
    pub(super) ruled: Ruled,
    pub(super) back: SmallVec<[Back; 4]>,
}

impl Outline {
    /// The decisions, in the order of the lines.
    fn decisions(&self, answers: &Answers) -> Result<SmallVec<[Decision; 8]>, StoreError> {
        let mut decisions = SmallVec::new();
        let mut plan = 0;
        while decisions.len() < self.lines.len() {
            let (verdict, of_plan) = answers.plan(plan);
            verdict?;
            if of_plan.is_empty() {
                return Err(StoreError {
                    kind: StoreErrorKind::BadAnswer,
                    written: Written::Unknown,
                });
            }
            decisions.extend_from_slice(of_plan);
            plan += 1;
        }
        Ok(decisions)
    }

    /// The answer.
    ///
    /// # Errors
    /// Gives itself back if the store failed.
    #[allow(clippy::result_large_err)] // looked at at once
    pub(super) fn finish(mut self, answers: &Answers) -> Result<Finished, (Self, StoreError)> {
        let decisions = match self.decisions(answers) {
            Ok(decisions) => decisions,
            Err(error) => return Err((self, error)),
        };
        let over: SmallVec<[bool; 4]> = self
            .parts
            .iter()
            .map(|part| is_over(part, &decisions))
            .collect();
        let quotas = self.parts.iter().zip(&over);
        let refusing = quotas
            .filter(|(part, over)| part.is_quota && **over)
            .count();
        let by_quota = self.sharing.quotas > 1
            && self.sharing.can_refuse
            && !self.sharing.is_shadow
            && refusing == self.sharing.quotas;
        if by_quota {
            self.give_quotas_their_vote();
        }
        let verdict = self.verdict(&decisions, by_quota);
        let back = if by_quota {
            self.take_back(&decisions)
        } else {
            SmallVec::new()
        };
        self.meter(&decisions, verdict.allowed);
        let answered = self.answered(&decisions, verdict);
        let descriptors = self.descriptors(&decisions, &over);
        Ok(Finished {
            ruled: Ruled {
                answered,
                descriptors,
            },
            back,
        })
    }

    /// All of them refuse: so each does.
    fn give_quotas_their_vote(&mut self) {
        for part in self.parts.iter().filter(|part| part.is_quota) {
            if let Some(line) = part.line.and_then(|line| self.lines.get_mut(line)) {
                line.seed.mode = Mode::Enforce;
            }
        }
    }

    /// The votes of all that were asked, and of what refuses by a word.
    fn verdict(&self, decisions: &[Decision], by_quota: bool) -> Verdict {
        let of_shadow = |at: usize| {
            let mut parts = self
                .parts
                .iter()
                .filter(|part| part.line == Some(at))
                .peekable();
            let belongs = parts.peek().is_some();
            belongs
                && (self.sharing.is_shadow
                    || parts.all(|part| part.is_shadow || self.sharing.has_no_vote(part)))
        };
        let votes = self.lines.iter().zip(decisions).enumerate();
        let votes = votes.filter(|(at, (line, _))| {
            line.group != Group::Back && line.seed.has_vote() && (by_quota || !of_shadow(*at))
        });
        let verdict =
            Verdict::of(votes.map(|(_, (_, decision))| (jeton_core::Mode::Enforce, decision.fit)));
        let refused = self.listed.as_ref().is_some_and(refuses) || self.refused().is_some();
        Verdict {
            allowed: verdict.allowed && !refused,
            impossible: verdict.impossible,
            retry_after: verdict.retry_after,
        }
    }

    /// The word by which a descriptor refuses the request.
    fn refused(&self) -> Option<Disposition> {
        if self.sharing.is_shadow {
            return None;
        }
        let mut parts = self.parts.iter();
        let alone = parts.find(|part| {
            part.refused.is_some() && !part.is_shadow && !self.sharing.has_no_vote(part)
        });
        alone.and_then(|part| part.refused)
    }

    /// What limits were charged that are not those of quota mode.
    fn take_back(&self, decisions: &[Decision]) -> SmallVec<[Back; 4]> {
        let lines = self.lines.iter().zip(decisions).zip(&self.keys);
        let charged = lines.enumerate().filter(|(_, ((line, decision), _))| {
            line.group == Group::Together && decision.fit.passes() && decision.receipt.cost > 0
        });
        let back = charged.map(|(at, ((line, decision), key))| Back {
            line: at,
            id: line.seed.id,
            key: key.clone(),
            quota: line.seed.quota,
            receipt: decision.receipt,
        });
        back.collect()
    }

    fn meter(&self, decisions: &[Decision], passed: bool) {
        for (
            Noted {
                seed,
                is_metered,
                group,
                ..
            },
            decision,
        ) in self.lines.iter().zip(decisions)
        {
            if *is_metered && *group != Group::Back {
                let outcome = RuleOutcome::of(decision, seed.mode, seed.counter, passed);
                self.live.tally.decided(seed.rule, outcome);
            }
        }
    }

    fn answered(&self, decisions: &[Decision], verdict: Verdict) -> Answered {
        let parts = self.lines.iter().zip(decisions);
        let parts = parts.filter(|(line, _)| line.group != Group::Back);
        let parts: SmallVec<[answered::Part; 3]> = parts
            .map(|(line, decision)| answered::Part {
                seed: line.seed,
                decision: *decision,
            })
            .collect();
        let at = decisions
            .first()
            .map_or(Micros::ZERO, |decision| decision.at);
        let listed = self.listed.filter(refuses);
        match listed.or_else(|| self.refused()) {
            Some(refused) => {
                let mut answered = verdicts::without_counter(&self.live, refused, true, at);
                answered.parts = parts;
                answered
            }
            None => Answered::new(
                Arc::clone(&self.live),
                Disposition::Decided(verdict),
                at,
                parts,
            ),
        }
    }

    /// The answer where no counter has to be asked.
    pub(super) fn settled(self, at: Micros) -> Ruled {
        let is_limited = self
            .parts
            .iter()
            .any(|part| part.is_unlimited || part.refused.is_some());
        let listed = self.listed.filter(|listed| refuses(listed) || !is_limited);
        let disposition = listed
            .or_else(|| self.refused())
            .unwrap_or(Disposition::Unlimited);
        let answered = verdicts::without_counter(&self.live, disposition, true, at);
        let over: SmallVec<[bool; 4]> = self.parts.iter().map(|part| is_over(part, &[])).collect();
        let descriptors = self.descriptors(&[], &over);
        Ruled {
            answered,
            descriptors,
        }
    }
}

/// Whether a descriptor is over its limit. One that only counts never is.
fn is_over(part: &Part, decisions: &[Decision]) -> bool {
    let denied = || {
        let decision = part.line.and_then(|line| decisions.get(line));
        decision.is_some_and(|decision| !decision.fit.passes())
    };
    !part.is_shadow && (part.refused.is_some() || denied())
}

/// An answer about which no more is known of each descriptor.
pub(super) fn degraded(answered: Answered, descriptors: usize) -> Ruled {
    let one = RuledDescriptor {
        over: !answered.allowed(),
        standing: Standing::Free,
        limit: None,
        line: None,
    };
    Ruled {
        answered,
        descriptors: std::iter::repeat_n(one, descriptors).collect(),
    }
}

/// What charges that went back have left.
pub(super) fn told_anew(ruled: &mut Ruled, back: &[Back], answers: &Answers) {
    let (_, decisions) = answers.plan(0);
    for (back, now) in back.iter().zip(decisions) {
        let left = |decision: &mut Decision| {
            decision.remaining = now.remaining;
            decision.reset_after = now.reset_after;
            decision.next_after = now.next_after;
            decision.receipt.cost = 0;
        };
        // Those that are charged together come first, here and there.
        if let Some(part) = ruled.answered.parts.get_mut(back.line) {
            left(&mut part.decision);
        }
        for one in &mut ruled.descriptors {
            if let (true, Standing::Decided { decision, .. }) =
                (one.line == Some(back.line), &mut one.standing)
            {
                left(decision);
            }
        }
    }
}
