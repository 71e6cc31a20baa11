//! The outage rule: what becomes of a request that the store gave no decision about.
//!
//! Of several rules the strictest word holds. One that says `deny` refuses; else those that say
//! `local` decide, all or none, in this process's own memory, under their share of the quota in
//! force; and what those that say `allow` would have charged is charged nowhere. Every such answer is
//! marked, and tells no numbers but of local decisions.

use jeton_core::{
    Act, Answers, Decision, Fit, OnDeny, Op, Plan, Reading, StoreError, StoreErrorKind,
};
use jeton_policy::{Counter, OnFailure};
use smallvec::SmallVec;

use super::Gate;
use super::asked::{Asked, Seed};
use super::guard::StoreState;
use crate::answered::{Answered, Disposition};

/// Where charges stand, and so where they are settled.
#[cfg(feature = "settling")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ledger {
    /// In the store.
    Store,
    /// In this process, since the store was away.
    Local,
}

impl Seed {
    /// The same under its rule's share of the quota, if the rule decides locally in an outage.
    /// What is on trial waits for the store.
    pub(super) fn locally(self) -> Option<Self> {
        match self.on_failure {
            OnFailure::Local(share) if self.counter != Counter::Trial => Some(Self {
                quota: share.of(&self.quota),
                ..self
            }),
            _ => None,
        }
    }
}

/// What of an op is needed again if the store gives no decision about it.
pub(super) struct Kept {
    key: Box<[u8]>,
    act: Act,
    on_deny: OnDeny,
}

impl Kept {
    /// All ops, if any of them may have to be decided locally: one for each seed.
    pub(super) fn of(seeds: &[Seed], ops: &[Op<'_>]) -> Vec<Self> {
        if seeds.iter().all(|seed| seed.locally().is_none()) {
            return Vec::new();
        }
        let kept = ops.iter().map(|op| Self {
            key: op.key.into(),
            act: op.act,
            on_deny: op.on_deny,
        });
        kept.collect()
    }

    /// The op of `seed`.
    pub(super) fn op<'a>(&'a self, seed: &'a Seed) -> Op<'a> {
        Op {
            mode: seed.mode.into(),
            on_deny: self.on_deny,
            ..Op::new(seed.id, &self.key, &seed.quota, self.act)
        }
    }
}

impl Gate {
    /// Whether the store answers, as last known. After five failures in a row it is away, and is not
    /// asked but for a probe: by [`Gate::drive`](Self::drive) twice a second, else by one request a
    /// second. It is ready again once a plan has passed.
    pub fn store_state(&self) -> StoreState {
        self.0.store.state()
    }

    /// What the table holds that decides while the store is away; none if there is none: it is made
    /// when it is needed, and let go when nothing in it counts any more ([`Gate::look`](Self::look)).
    pub fn local_stats(&self) -> Option<jeton_memory::Stats> {
        self.0.local.stats()
    }

    /// The same for ops that were kept while the store was asked.
    pub(super) fn outage_of_kept(
        &self,
        asked: Asked,
        error: StoreError,
        kept: &[Kept],
        reading: Reading,
    ) -> Answered {
        let seeds = asked.seeds.clone();
        let ops = kept.iter().zip(&seeds).map(|(kept, seed)| kept.op(seed));
        let ops: SmallVec<[Op<'_>; 4]> = ops.collect();
        self.outage(asked, error, &ops, reading)
            .without_local_receipts()
    }

    /// The outage rule's answer to `ops`, one for each seed; none are needed where nothing is decided
    /// locally. Receipts of what was charged locally are for holds, and for nobody outside.
    pub(super) fn outage(
        &self,
        asked: Asked,
        error: StoreError,
        ops: &[Op<'_>],
        reading: Reading,
    ) -> Answered {
        let closed = |seed: &Seed| seed.has_vote() && seed.on_failure == OnFailure::Deny;
        // What corrects a state cannot be done without it.
        if asked.corrects || asked.seeds.iter().any(closed) {
            return asked.degraded(error.kind, true);
        }
        let local: SmallVec<[(Seed, Op<'_>); 4]> = asked
            .seeds
            .iter()
            .zip(ops)
            .filter_map(|(seed, op)| Some((seed.locally()?, *op)))
            .collect();
        if local.is_empty() {
            return asked.degraded(error.kind, false);
        }
        self.decide_locally(asked, error.kind, &local, reading)
    }

    fn decide_locally(
        &self,
        asked: Asked,
        error: StoreErrorKind,
        local: &[(Seed, Op<'_>)],
        reading: Reading,
    ) -> Answered {
        let ops: SmallVec<[Op<'_>; 4]> = local
            .iter()
            .map(|(seed, op)| Op {
                quota: &seed.quota,
                ..*op
            })
            .collect();
        let mut answers = Answers::new();
        if let Ok(plan) = Plan::new(&ops) {
            self.0.local.decide(&[plan], reading, &mut answers);
        }
        // A cost above the share, and not above the limit, is not impossible: it has to wait for the
        // store. A 429 would say that it fits nowhere.
        let (_, decisions) = answers.plan(0);
        let beyond = |((_, op), decision): (&(Seed, Op<'_>), &Decision)| {
            decision.fit == Fit::Impossible && cost(op) <= op.quota.limit()
        };
        let votes = local.iter().zip(decisions);
        let mut votes = votes.filter(|((seed, _), _)| seed.has_vote());
        if answers.is_empty() || votes.any(beyond) {
            return asked.degraded(error, true);
        }
        let seeds = local.iter().map(|(seed, _)| *seed).collect();
        let rules: SmallVec<[usize; 4]> = asked.seeds.iter().map(|seed| seed.rule).collect();
        let asked = Asked { seeds, ..asked };
        let (live, is_metered) = (asked.live.clone(), asked.is_metered);
        let answered = asked.decided(&answers);
        let mut answered = answered.unwrap_or_else(|(asked, _)| asked.degraded(error, true));
        if let Disposition::Decided(_) = answered.disposition {
            answered.keep().without_store = Some(error);
            if is_metered {
                live.tally.degraded(error, rules.into_iter());
            }
        }
        answered
    }
}

fn cost(op: &Op<'_>) -> u32 {
    match op.act {
        Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost } => cost.get(),
        _ => 0,
    }
}
