//! Counters found again by their identity, whatever holds now.

use jeton_core::RuleId;

use super::charge::{Charge, Counter, Source};
use super::policy::{CompiledRule, Policy};

/// Every counter that a rule can have.
const COUNTERS: [Counter; 3] = [Counter::Requests, Counter::Preflights, Counter::Trial];

impl Policy {
    /// The rule that has a counter of this identity, and which of its counters that is.
    pub fn counter(&self, id: RuleId) -> Option<(usize, Counter)> {
        self.rules().iter().enumerate().find_map(|(index, rule)| {
            let of = |counter: &Counter| rule.counter_of(*counter) == Some(id);
            COUNTERS
                .into_iter()
                .find(of)
                .map(|counter| (index, counter))
        })
    }

    /// A charge to each counter of a rule under the rule's own terms, whatever plans and operators
    /// say: for acts that correct what has been charged. None for a rule that does not count.
    pub fn own_charges<'a>(&'a self, rule: usize, key: &'a [u8], out: &mut impl FnMut(Charge<'a>)) {
        let Some(compiled) = self.rules().get(rule) else {
            return;
        };
        for counter in COUNTERS {
            let quota = match counter {
                Counter::Requests => compiled.quota(),
                Counter::Preflights => compiled.preflight_quota(),
                Counter::Trial => compiled.trial_quota(),
            };
            let Some(quota) = quota else {
                continue;
            };
            out(compiled.charge(Source {
                rule,
                counter,
                key,
                quota,
                mode: compiled.mode(),
                cost: compiled.default_cost(),
                plan: None,
                overridden: false,
            }));
        }
    }
}

impl CompiledRule {
    fn counter_of(&self, counter: Counter) -> Option<RuleId> {
        match counter {
            Counter::Requests => Some(self.id()),
            Counter::Preflights => Some(self.preflight_id()),
            Counter::Trial => self.trial_id(),
        }
    }
}
