//! Whether units of rules can be taken ahead, and why not.

use jeton_core::OnDeny;

use super::{charged_together, replaces};
use crate::key::KeyPart;
use crate::rule::{Allowance, CostSpec, Missing, Rule, Terms};
use crate::settings::{Lease, Store};

/// Whether units of a rule are taken ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leased {
    /// Never: why not, to be read after the rule's name.
    Never(String),
    /// So many at once, but not for its own requests, and why not: a caller who names the rule, an
    /// override or an operator's word may still bring it about.
    Aside { units: u64, why: String },
    /// So many at once by a process; of no request that one of these other rules charges too.
    Ahead { units: u64, but: Vec<String> },
}

/// What a store with leases does with one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    lease: Lease,
    pub(crate) leased: Leased,
}

impl Ahead {
    /// For each rule; `None` where nothing is counted, or the store has no leases.
    pub(crate) fn of(rules: &[Rule], store: &Store) -> Vec<Option<Self>> {
        let Some(lease) = store.lease() else {
            return rules.iter().map(|_| None).collect();
        };
        let with = |leased| Self { lease, leased };
        let all = leased(rules, lease).into_iter();
        all.map(|leased| leased.map(with)).collect()
    }

    /// The lease, if it is one of this rule too.
    pub(crate) fn lease(&self) -> Option<Lease> {
        let leases = matches!(self.leased, Leased::Ahead { .. } | Leased::Aside { .. });
        leases.then_some(self.lease)
    }
}

/// Whether units of each rule are taken ahead; `None` of rules that count nothing.
pub(super) fn leased(rules: &[Rule], lease: Lease) -> Vec<Option<Leased>> {
    let never: Vec<&Rule> = rules
        .iter()
        .filter(|rule| never_leased(rule, lease).is_some() || keeps_requests(rule, lease).is_some())
        .collect();
    let of = |rule: &Rule| {
        let Allowance::Quota(terms) = &rule.allowance else {
            return None;
        };
        let units = lease.units_under(terms);
        if let Some(why) = never_leased(rule, lease) {
            return Some(Leased::Never(why));
        }
        if let Some(why) = keeps_requests(rule, lease) {
            let why = why.to_owned();
            return Some(Leased::Aside { units, why });
        }
        let beside = never.iter().filter(|other| charged_together(rule, other));
        let beside: Vec<&Rule> = beside.copied().collect();
        let always = |other: &&&Rule| always_charged(other, rule, rules);
        if let Some(other) = beside.iter().find(always) {
            let why = format!("{:?} applies too, and never is", other.name);
            return Some(Leased::Aside { units, why });
        }
        Some(Leased::Ahead {
            units,
            but: beside.iter().map(|other| other.name.clone()).collect(),
        })
    };
    rules.iter().map(of).collect()
}

/// Whether a rule charges every request that `rule` charges, as far as their words tell.
fn always_charged(other: &Rule, rule: &Rule, rules: &[Rule]) -> bool {
    let replaced = rules.iter().any(|third| replaces(third, other));
    let skipped =
        other.missing == Missing::Skip && !matches!(other.key.as_slice(), [KeyPart::Global]);
    other.matches.covers(&rule.matches) && !skipped && !replaced
}

/// Why nothing of a rule is ever taken ahead; `None` if something may be, or it counts nothing.
fn never_leased(rule: &Rule, lease: Lease) -> Option<String> {
    let Allowance::Quota(terms) = &rule.allowance else {
        return None;
    };
    let why = match terms {
        Terms::Concurrency { .. } => "it counts requests in flight",
        _ if rule.on_deny == OnDeny::Charge => "its denials are charged",
        Terms::FixedWindow { window, .. } if *window <= Lease::BRIEF => "its window is too short",
        _ if most_leased(rule, lease) == 0 => {
            return Some(format!("its limit is below {}", Lease::LEAST_LIMIT));
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Why its requests are never paid from what is taken ahead, if that is so.
fn keeps_requests(rule: &Rule, lease: Lease) -> Option<&'static str> {
    let why = match &rule.cost {
        CostSpec::Response { .. } => "its cost is known afterwards",
        _ if rule.count.is_some() => "it waits for the answer",
        _ if !rule.mode.has_vote() => "it has no vote",
        _ if rule.trial.is_some() => "it has a trial",
        CostSpec::Fixed(cost) if *cost > most_leased(rule, lease) => {
            "a request costs more than is taken ahead"
        }
        _ => return None,
    };
    Some(why)
}

/// Units of a key that a process takes ahead at most, under any plan.
fn most_leased(rule: &Rule, lease: Lease) -> u64 {
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let all = plans
        .map(|(_, allowance)| allowance)
        .chain([&rule.allowance]);
    let units = |allowance: &Allowance| match allowance {
        Allowance::Quota(terms) => lease.units_under(terms),
        Allowance::Unlimited | Allowance::Deny => 0,
    };
    all.map(units).max().unwrap_or(0)
}
