//! Charges that a caller names, resolved against a policy.

use std::fmt;
use std::ops::Range;

use jeton_core::{Cost, MAX_OPS, Micros};
use jeton_policy::{Allowance, Charge, DenyReason, NamedKeyError, Orders, Policy};
use smallvec::SmallVec;

use crate::verb::NamedCharge;

/// Why a charge that a caller named cannot be made. `index` counts from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChargeError {
    /// No rule has this name.
    UnknownRule {
        /// Which charge.
        index: usize,
        /// The name it gave.
        rule: String,
        /// The name that it may have meant.
        nearest: Option<String>,
    },
    /// The key does not fit the rule.
    Key {
        /// Which charge.
        index: usize,
        /// What is wrong with it.
        error: NamedKeyError,
    },
    /// More charges than one step can hold.
    TooMany {
        /// How many there are.
        charges: usize,
    },
}

impl fmt::Display for ChargeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule { rule, nearest, .. } => {
                write!(f, "no rule is named {rule:?}")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => Ok(()),
                }
            }
            Self::Key { error, .. } => error.fmt(f),
            Self::TooMany { charges } => {
                write!(
                    f,
                    "{charges} charges at once; at most {MAX_OPS} can be decided together"
                )
            }
        }
    }
}

impl std::error::Error for ChargeError {}

/// Charges with their rules and keys.
pub(crate) struct Named<'a> {
    policy: &'a Policy,
    orders: &'a Orders,
    keys: Vec<u8>,
    slots: SmallVec<[(usize, Range<usize>, Cost); 4]>,
    /// A rule with a vote that refuses whatever has been used.
    pub(crate) refused: Option<(usize, DenyReason)>,
}

impl<'a> Named<'a> {
    pub(crate) fn resolve(
        policy: &'a Policy,
        orders: &'a Orders,
        charges: &[NamedCharge<'_>],
    ) -> Result<Self, ChargeError> {
        if charges.len() > MAX_OPS {
            return Err(ChargeError::TooMany {
                charges: charges.len(),
            });
        }
        let mut named = Self {
            policy,
            orders,
            keys: Vec::new(),
            slots: SmallVec::new(),
            refused: None,
        };
        for (index, charge) in charges.iter().enumerate() {
            named.add(index, charge)?;
        }
        Ok(named)
    }

    fn add(&mut self, index: usize, charge: &NamedCharge<'_>) -> Result<(), ChargeError> {
        let Some((rule, compiled)) = self.policy.rule(charge.rule) else {
            return Err(ChargeError::UnknownRule {
                index,
                rule: charge.rule.to_owned(),
                nearest: self.policy.rule_named_like(charge.rule).map(str::to_owned),
            });
        };
        let start = self.keys.len();
        let key = compiled.named_key(charge.key, &mut self.keys);
        key.map_err(|error| ChargeError::Key { index, error })?;
        match compiled.rule().allowance {
            Allowance::Quota(_) => self.merge(rule, start..self.keys.len(), charge.cost),
            Allowance::Deny if compiled.mode().has_vote() => {
                self.refused = self.refused.or(Some((rule, DenyReason::Word)));
            }
            Allowance::Deny | Allowance::Unlimited => {}
        }
        Ok(())
    }

    /// Two charges on one rule and key are one: a counter is charged once per request.
    fn merge(&mut self, rule: usize, key: Range<usize>, cost: Cost) {
        let bytes = self.keys.get(key.clone());
        let same = |slot: &&mut (usize, Range<usize>, Cost)| {
            slot.0 == rule && self.keys.get(slot.1.clone()) == bytes
        };
        match self.slots.iter_mut().find(same) {
            Some(slot) => slot.2 = Cost::new(u64::from(slot.2.get()) + u64::from(cost.get())),
            None => self.slots.push((rule, key, cost)),
        }
    }

    pub(crate) fn charges(&self) -> SmallVec<[(Charge<'_>, Cost); 4]> {
        let mut charges = SmallVec::new();
        for (rule, key, cost) in &self.slots {
            let key = self.keys.get(key.clone()).unwrap_or_default();
            let mut push = |charge| charges.push((charge, *cost));
            let (orders, now) = (self.orders, Micros::ZERO);
            self.policy
                .name_charge(orders, now, *rule, None, key, &mut push);
        }
        charges
    }
}
