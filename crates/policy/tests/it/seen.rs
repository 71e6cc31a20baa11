//! What an evaluation says, kept after its buffers are gone.

use std::time::Duration;

use jeton_core::{Micros, OnDeny, RuleId};
use jeton_policy::{
    Buffers, Charge, Counter, DenyReason, Facts, Mode, OnFailure, Orders, Policy, Settle, Verdict,
};

use crate::common::{NOTHING, NOW};

/// One charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) rule: String,
    pub(crate) counter: Counter,
    pub(crate) id: RuleId,
    pub(crate) key: Vec<u8>,
    pub(crate) limit: u32,
    pub(crate) mode: Mode,
    pub(crate) cost: u32,
    pub(crate) plan: Option<String>,
    pub(crate) overridden: bool,
    pub(crate) settle: Option<&'static str>,
    pub(crate) max_debt: u32,
    pub(crate) hold_wait: Duration,
    pub(crate) on_deny: OnDeny,
    pub(crate) on_failure: OnFailure,
}

impl Seen {
    pub(crate) fn of(policy: &Policy, charge: &Charge<'_>) -> Self {
        Self {
            rule: policy.rules()[charge.rule].name().to_owned(),
            counter: charge.counter,
            id: charge.id,
            key: charge.key.to_vec(),
            limit: charge.quota.limit(),
            mode: charge.mode,
            cost: charge.cost.get(),
            plan: charge.plan.map(str::to_owned),
            overridden: charge.overridden,
            settle: charge.settle.map(|settle| match settle {
                Settle::Status(_) => "status",
                Settle::Response(_) => "response",
                Settle::Lease => "lease",
            }),
            max_debt: charge.max_debt.get(),
            hold_wait: charge.hold_wait,
            on_deny: charge.on_deny,
            on_failure: charge.on_failure,
        }
    }
}

/// All that is said of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct All {
    pub(crate) verdict: Verdict,
    pub(crate) charges: Vec<Seen>,
    pub(crate) shadow: Vec<(usize, DenyReason)>,
}

pub(crate) fn under(policy: &Policy, orders: &Orders, now: Micros, facts: &dyn Facts) -> All {
    let mut buffers = Buffers::default();
    let evaluation = policy.evaluate(facts, orders, now, &mut buffers);
    let shadow = evaluation.shadow_denials().iter();
    All {
        verdict: evaluation.verdict(),
        charges: evaluation
            .charges()
            .map(|charge| Seen::of(policy, &charge))
            .collect(),
        shadow: shadow.map(|denied| (denied.rule, denied.reason)).collect(),
    }
}

pub(crate) fn seen(policy: &Policy, facts: &dyn Facts) -> All {
    under(policy, &NOTHING, NOW, facts)
}

/// The only charge there is.
pub(crate) fn only(policy: &Policy, facts: &dyn Facts) -> Seen {
    let all = seen(policy, facts);
    assert_eq!(all.verdict, Verdict::Charges);
    assert_eq!(all.charges.len(), 1, "{all:?}");
    all.charges[0].clone()
}
