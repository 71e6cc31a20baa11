//! Plans that outlive their call, since they have to wait.

use jeton_core::{Act, Answers, Mode, OnDeny, Op, Plan, Quota, Reading, RuleId};

use crate::inner::Inner;
use crate::wait::REFUSED;

/// Plans with their keys, and when they were asked.
pub(crate) struct OwnedPlans {
    plans: Vec<Vec<OwnedOp>>,
    reading: Reading,
}

struct OwnedOp {
    rule: RuleId,
    key: Box<[u8]>,
    quota: Quota,
    act: Act,
    mode: Mode,
    on_deny: OnDeny,
}

impl OwnedPlans {
    pub(crate) fn new(plans: &[Plan<'_>], reading: Reading) -> Self {
        let op = |op: &Op<'_>| OwnedOp {
            rule: op.rule,
            key: op.key.into(),
            quota: *op.quota,
            act: op.act,
            mode: op.mode,
            on_deny: op.on_deny,
        };
        let plan = |plan: &Plan<'_>| plan.ops().iter().map(op).collect();
        Self {
            plans: plans.iter().map(plan).collect(),
            reading,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.plans.len()
    }

    pub(crate) fn decide(&self, inner: &Inner, out: &mut Answers) {
        for plan in &self.plans {
            let ops: Vec<Op<'_>> = plan.iter().map(OwnedOp::borrow).collect();
            match Plan::new(&ops) {
                Ok(plan) => drop(inner.decide(&[plan], self.reading, out)),
                Err(_) => out.push_failed(REFUSED),
            }
        }
    }
}

impl OwnedOp {
    fn borrow(&self) -> Op<'_> {
        Op {
            rule: self.rule,
            key: &self.key,
            quota: &self.quota,
            act: self.act,
            mode: self.mode,
            on_deny: self.on_deny,
        }
    }
}
