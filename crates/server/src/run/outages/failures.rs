//! What the store has failed to answer since the last look, and which rules that was about.

use std::collections::HashMap;

use jeton::policy::BROUGHT;
use jeton::{Gate, StoreErrorKind};

use crate::metrics::in_force;

/// How many kinds there are.
const KINDS: usize = StoreErrorKind::ALL.len();

/// Counters as they were at the last look.
#[derive(Debug, Default)]
pub(super) struct Failures {
    all: [u64; KINDS],
    /// By the name of the rule: a reload keeps the counters of a name.
    of_rules: HashMap<String, [u64; KINDS]>,
}

/// Answers that the store did not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) why: StoreErrorKind,
    /// The rules that would have been charged, in the order of the file; none if it was about no rule.
    pub(super) rules: Vec<String>,
}

impl Failures {
    /// What has failed since the last look.
    pub(super) fn since(&mut self, gate: &Gate) -> Vec<Failure> {
        let mut failures = Vec::new();
        for ((why, count), seen) in gate.tally().store_errors().zip(&mut self.all) {
            if *seen != count {
                *seen = count;
                let rules = Vec::new();
                failures.push(Failure { why, rules });
            }
        }
        if failures.is_empty() {
            return failures;
        }
        let (policy, tally) = in_force(gate);
        let rules = policy.rules().iter().enumerate();
        let of_rules = rules.map(|(index, rule)| {
            let count = StoreErrorKind::ALL.map(|why| tally.store_errors_of(index, why));
            (rule.name(), count)
        });
        let of_brought = StoreErrorKind::ALL.map(|why| tally.store_errors_of_brought(why));
        for (name, count) in of_rules.chain([(BROUGHT, of_brought)]) {
            let seen = self.of_rules.insert(name.to_owned(), count);
            let counts = StoreErrorKind::ALL
                .into_iter()
                .zip(count.into_iter().zip(seen.unwrap_or_default()));
            for (why, _) in counts.filter(|(_, (count, seen))| count != seen) {
                if let Some(failure) = failures.iter_mut().find(|failure| failure.why == why) {
                    failure.rules.push(name.to_owned());
                }
            }
        }
        failures
    }
}
