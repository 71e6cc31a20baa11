//! What a rule makes of a request that it speaks of.

use jeton_core::OnDeny;

use super::{CostFrom, Explaining, PlanFound, Speaks, TermsFrom};
use crate::compiled::{CompiledRule, Counter, TermsOf, View, word};
use crate::printable::{printable, printable_bytes};
use crate::rule::{CostSpec, Rule};
use crate::words::{allows, at_most};

impl Explaining<'_> {
    pub(super) fn speaks(&self, index: usize, rule: &CompiledRule, view: &View) -> Speaks {
        let charge = self.charge(index);
        let counter = match charge {
            Some(charge) => charge.counter,
            None if self.request.is_preflight() => Counter::Preflights,
            None => Counter::Requests,
        };
        // A preflight that is charged is so under the rule's own terms.
        let (terms, allowance) = match (charge, counter) {
            (Some(_), Counter::Preflights) => (TermsFrom::Rule, &rule.rule().allowance),
            _ => (terms(view), &view.allowance),
        };
        let is_trial =
            |other: &&crate::Charge<'_>| other.rule == index && other.counter == Counter::Trial;
        let settles = settles(counter);
        Speaks {
            key: rule.show_key(&view.key, self.fingerprints),
            counter,
            plan: self.plan(rule.rule()),
            terms,
            allows: allows(allowance, ""),
            at_most: match counter {
                Counter::Preflights => String::new(),
                Counter::Requests | Counter::Trial => at_most(rule, allowance),
            },
            mode: view.mode,
            mode_by_order: self.orders.mode(index).is_some(),
            cost: view.cost,
            cost_from: self.cost_from(rule.rule(), counter),
            count: rule
                .rule()
                .count
                .filter(|_| settles)
                .map(|set| set.to_string()),
            charges_denials: rule.rule().on_deny == OnDeny::Charge,
            trial: self.charges.iter().any(|charge| is_trial(&charge)),
        }
    }

    fn plan(&self, rule: &Rule) -> PlanFound {
        let Some(plans) = &rule.plan else {
            return PlanFound::NoPlans;
        };
        let Some(word) = word(&plans.source, &self.request) else {
            return PlanFound::Unnamed;
        };
        let known = plans.named.iter().find(|(name, _)| name.as_bytes() == word);
        match known {
            Some((name, _)) => PlanFound::Known(printable(name)),
            None if plans.source.is_credential() => {
                PlanFound::Unknown(self.fingerprints.of(&word).to_string())
            }
            None => PlanFound::Unknown(printable_bytes(&word)),
        }
    }

    fn cost_from(&self, rule: &Rule, counter: Counter) -> CostFrom {
        match &rule.cost {
            CostSpec::Request(name) if self.request.has_header(name) => {
                CostFrom::Request(name.clone())
            }
            CostSpec::Response { source, .. } if settles(counter) => {
                CostFrom::Response(source.to_string())
            }
            CostSpec::Fixed(_) | CostSpec::Request(_) | CostSpec::Response { .. } => CostFrom::Rule,
        }
    }
}

/// The answer to a preflight says nothing of what the request costs.
fn settles(counter: Counter) -> bool {
    counter != Counter::Preflights
}

fn terms(view: &View) -> TermsFrom {
    match view.terms {
        TermsOf::Rule => TermsFrom::Rule,
        TermsOf::Plan(_) => TermsFrom::Plan,
        TermsOf::Override => TermsFrom::Override { until: view.until },
    }
}
