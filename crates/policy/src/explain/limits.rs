//! What limits of files of descriptors make of a request, and why not more.

use jeton_core::{Cost, Micros, OnDeny};

use super::{
    Condition, CostFrom, Explained, Outcome, PlanFound, Refusal, RuleExplained, Speaks, TermsFrom,
    Unmet, not_asked, refusal,
};
use crate::compiled::{Charge, CompiledRule, Counter, DenyReason, Named, Orders, Policy, Verdict};
use crate::envoy::{AskedDescriptor, DescriptorLimit, DescriptorPath, Ruling, Rulings};
use crate::facts::Facts;
use crate::fingerprint::Fingerprints;
use crate::words::{allows, at_most};

impl Policy {
    /// The same of a request that comes as descriptors of a domain; `facts` are what they tell rules.
    /// Behind the rules stand the limits of the domain, or all if no file speaks of it.
    pub fn explain_descriptors(
        &self,
        facts: &dyn Facts,
        (domain, asked): (&str, &[AskedDescriptor<'_>]),
        orders: &Orders,
        now: Micros,
        fingerprints: &Fingerprints,
    ) -> Explained {
        let mut explained = self.explain(facts, orders, now, fingerprints);
        let mut rulings = Rulings::default();
        self.descriptors().rule(domain, asked, &mut rulings);
        let explaining = Limits {
            policy: self,
            orders,
            now,
            fingerprints,
            domain,
            asked,
            rulings: &rulings,
            verdict: explained.verdict,
        };
        let limits = self.descriptors().limits().iter().enumerate();
        let limits = limits.filter_map(|(index, limit)| explaining.limit(index, limit));
        explained.rules.extend(limits);
        explained.unmatched &= !rulings
            .list()
            .iter()
            .any(|ruling| !matches!(ruling, Ruling::Nothing));
        explained
    }
}

struct Limits<'a> {
    policy: &'a Policy,
    orders: &'a Orders,
    now: Micros,
    fingerprints: &'a Fingerprints,
    domain: &'a str,
    asked: &'a [AskedDescriptor<'a>],
    rulings: &'a Rulings,
    verdict: Verdict,
}

impl Limits<'_> {
    fn limit(&self, index: usize, limit: &DescriptorLimit) -> Option<RuleExplained> {
        let rule = self.policy.rules().get(limit.rule)?;
        let path = rule.rule().descriptor.as_ref()?;
        let unmet = |condition, wanted: String| RuleExplained {
            rule: rule.name().to_owned(),
            outcome: Outcome::Unmet(Unmet {
                condition,
                wanted: vec![wanted],
            }),
            speaks: None,
        };
        if path.domain != self.domain {
            let is_known = self.policy.descriptors().knows(self.domain);
            return (!is_known).then(|| unmet(Condition::Domain, path.domain.clone()));
        }
        if matches!(self.verdict, Verdict::Blocked | Verdict::Exempt) {
            return Some(not_asked(rule));
        }
        Some(match self.descriptor_of(index) {
            Some(at) => self.speaking(at, index, rule),
            None => match self.instead(path) {
                Some(outcome) => RuleExplained {
                    rule: rule.name().to_owned(),
                    outcome,
                    speaks: None,
                },
                None => unmet(Condition::Descriptor, path.entries_in_words()),
            },
        })
    }

    /// The first descriptor that leads to a limit.
    fn descriptor_of(&self, index: usize) -> Option<usize> {
        let mut asked = self.asked.iter();
        asked.position(|one| self.found(one) == Some(index))
    }

    fn found(&self, asked: &AskedDescriptor<'_>) -> Option<usize> {
        let descriptors = self.policy.descriptors();
        descriptors.find(self.domain, asked.entries, &mut Vec::new())
    }

    /// Where a descriptor leads that looks as if it were for a limit: to none, or to this one.
    fn instead(&self, path: &DescriptorPath) -> Option<Outcome> {
        let mut asked = self.asked.iter();
        let alike = asked.find(|one| path.is_like(one.entries))?;
        let by = self.found(alike).and_then(|found| self.name(found));
        Some(Outcome::FoundBefore { by })
    }

    fn name(&self, limit: usize) -> Option<String> {
        let limit = self.policy.descriptors().limits().get(limit)?;
        let rule = self.policy.rules().get(limit.rule)?;
        Some(rule.name().to_owned())
    }

    /// A limit that the descriptor of this number leads to.
    fn speaking(&self, at: usize, index: usize, rule: &CompiledRule) -> RuleExplained {
        let mut key: &[u8] = &[];
        if let Some(Ruling::Limit { key: own, .. }) = self.rulings.list().get(at) {
            key = self.rulings.keys.get(own.clone()).unwrap_or_default();
        }
        let (orders, now) = (self.orders, self.now);
        let mut passed_over = |_: Charge<'_>| {};
        let named = self
            .policy
            .descriptor_charge(orders, now, self.rulings, at, &mut passed_over);
        let outcome = match (self.rulings.list().get(at), named) {
            (Some(Ruling::Replaced), _) => Outcome::Replaced {
                by: self.replacing(index).unwrap_or_default(),
            },
            (Some(Ruling::Own(_)), _) => Outcome::Replaced {
                by: "the limit that the request brings".to_owned(),
            },
            (_, Some(Named::Denied(reason))) => Outcome::Refuses(Refusal::Denied(reason)),
            (_, Some(Named::ShadowDenied(DenyReason::Block))) => {
                Outcome::WouldRefuse(Refusal::Blocked { until: None })
            }
            (_, Some(Named::ShadowDenied(reason))) => Outcome::WouldRefuse(Refusal::Denied(reason)),
            (_, Some(Named::BlockedUntil(until))) => Outcome::Refuses(Refusal::Blocked { until }),
            (_, Some(Named::Charged)) => match refusal(self.verdict) {
                Some((by, _)) => Outcome::Overruled {
                    by: self.rule_name(by),
                },
                None => Outcome::Charged,
            },
            _ => Outcome::Unlimited,
        };
        let is_replaced = matches!(outcome, Outcome::Replaced { .. });
        RuleExplained {
            rule: rule.name().to_owned(),
            speaks: (!is_replaced).then(|| self.speaks(index, rule, key)),
            outcome,
        }
    }

    fn rule_name(&self, rule: usize) -> String {
        let rule = self.policy.rules().get(rule);
        rule.map(|rule| rule.name().to_owned()).unwrap_or_default()
    }

    /// The limit of another descriptor that replaces one.
    fn replacing(&self, replaced: usize) -> Option<String> {
        let limits = self.policy.descriptors().limits();
        let own = limits.get(replaced)?.name.as_deref()?;
        let mut found = self.asked.iter().filter_map(|one| self.found(one));
        let by = found.find(|by| {
            let limit = limits.get(*by);
            limit.is_some_and(|limit| limit.replaces.iter().any(|name| name == own))
        });
        self.name(by?)
    }

    fn speaks(&self, index: usize, rule: &CompiledRule, key: &[u8]) -> Speaks {
        let limit = self.policy.descriptors().limits().get(index);
        let place = limit.map_or(usize::MAX, |limit| limit.rule);
        let (allowance, terms) = match self.orders.override_of(place, key, self.now) {
            Some((allowance, until)) => (allowance, TermsFrom::Override { until }),
            None => (rule.rule().allowance, TermsFrom::Rule),
        };
        let settings = self.policy.settings().rls.as_ref();
        let set = self.orders.mode(place);
        Speaks {
            key: rule.show_key(key, self.fingerprints),
            counter: Counter::Requests,
            plan: PlanFound::NoPlans,
            terms,
            allows: allows(&allowance, ""),
            at_most: at_most(rule, &allowance),
            mode: set.unwrap_or(rule.mode()),
            mode_by_order: set.is_some(),
            cost: Some(Cost::ONE),
            cost_from: CostFrom::Rule,
            count: None,
            charges_denials: settings.is_some_and(|rls| rls.on_deny == OnDeny::Charge),
            trial: false,
        }
    }
}
