//! Counters found again by their identity, whatever holds now; keys as people are shown them.

use jeton_core::RuleId;

use super::charge::{Charge, Counter, Source};
use super::decode::{KeyText, PartValue, read_key};
use super::policy::{CompiledRule, Policy};
use crate::fingerprint::Fingerprints;

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

    /// A key of this rule as people are shown it, one text per part: an absent part as `-`; parts
    /// of secret keys, and keys that were too long to be kept, as a fingerprint.
    pub fn shown_key(&self, key: &[u8], fingerprints: &Fingerprints) -> Vec<String> {
        let is_secret = self.rule().secret_key;
        let shown = |value: PartValue<'_>| match value {
            PartValue::Missing => "-".to_owned(),
            PartValue::Text(text) if is_secret => fingerprints.of(text).to_string(),
            PartValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
            PartValue::Address(network) => network.to_string(),
        };
        match read_key(&self.rule().key, key) {
            Some(KeyText::Parts(parts)) => parts.into_iter().map(shown).collect(),
            _ => vec![fingerprints.of(key).to_string()],
        }
    }
}
