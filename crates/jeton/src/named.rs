//! Charges that a caller names, resolved against a policy.

use std::fmt;
use std::ops::Range;

use jeton_core::{Act, Cost, MAX_OPS, Micros};
use jeton_policy::{Charge, CompiledRule, NamedKeyError, Settle};
use smallvec::SmallVec;

use crate::answered::Disposition;
use crate::gate::Live;
use crate::verb::{NamedCharge, Verb};

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
    /// The rule has no plan of this name.
    UnknownPlan {
        /// Which charge.
        index: usize,
        /// The name it gave.
        plan: String,
        /// The plans that there are.
        known: Vec<String>,
    },
    /// One key under two plans at once.
    TwoPlans {
        /// Which charge is the second.
        index: usize,
    },
    /// The receipt is for another rule, or for a counter that the rule no longer has.
    Receipt {
        /// Which charge.
        index: usize,
    },
    /// The rule limits how much is in flight: its units have to be reserved, so that they come back.
    NeedsHold {
        /// Which charge.
        index: usize,
        /// The rule.
        rule: String,
    },
    /// More charges than one step can hold.
    TooMany {
        /// How many there are.
        charges: usize,
    },
}

impl ChargeError {
    /// Which charge is wrong, counted from 0; none if it is all of them together.
    pub const fn index(&self) -> Option<usize> {
        match self {
            Self::UnknownRule { index, .. }
            | Self::Key { index, .. }
            | Self::UnknownPlan { index, .. }
            | Self::TwoPlans { index }
            | Self::Receipt { index }
            | Self::NeedsHold { index, .. } => Some(*index),
            Self::TooMany { .. } => None,
        }
    }
}

/// What is said to those who name the reserved rule where no quota can be brought.
pub(crate) const RESERVED: &str = "\"resp\" is reserved for quotas that Redis clients bring along; \
     `JETON.RESET resp KEY` through that door forgets what a key has used";

impl fmt::Display for ChargeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRule { rule, .. } if rule == jeton_policy::BROUGHT => {
                f.write_str(RESERVED)
            }
            Self::UnknownRule { rule, nearest, .. } => {
                write!(f, "no rule is named {rule:?}")?;
                match nearest {
                    Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
                    None => Ok(()),
                }
            }
            Self::Key { error, .. } => error.fmt(f),
            Self::UnknownPlan { plan, known, .. } if known.is_empty() => {
                write!(f, "the rule has no plans, so none is named {plan:?}")
            }
            Self::UnknownPlan { plan, known, .. } => {
                let known = known.join("\", \"");
                write!(f, "no plan is named {plan:?}; there are \"{known}\"")
            }
            Self::TwoPlans { .. } => f.write_str("the same key stands under another plan before"),
            Self::Receipt { .. } => f.write_str(
                "the receipt is for another rule, or for a counter that this rule no longer has",
            ),
            Self::NeedsHold { rule, .. } => write!(
                f,
                "{rule:?} limits how much is in flight: reserve its units, and cancel when done"
            ),
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

impl Live {
    /// The rule that charge number `index` names.
    fn rule(&self, name: &str, index: usize) -> Result<(usize, &CompiledRule), ChargeError> {
        let policy = &self.policy;
        policy.rule(name).ok_or_else(|| ChargeError::UnknownRule {
            index,
            rule: name.to_owned(),
            nearest: policy.rule_named_like(name).map(str::to_owned),
        })
    }
}

/// Charges with their rules and keys.
pub(crate) struct NamedKeys<'a> {
    keys: Vec<u8>,
    slots: SmallVec<[Slot<'a>; 4]>,
}

pub(crate) struct Slot<'a> {
    /// Which of the caller's charges it is.
    index: usize,
    rule: usize,
    key: Range<usize>,
    named: NamedCharge<'a>,
}

/// What a verb comes to.
#[derive(Default)]
pub(crate) struct Named<'k> {
    /// The charges with what to do, unless `refused` speaks.
    pub(crate) acts: SmallVec<[(Charge<'k>, Act, Cost); 4]>,
    /// What becomes of it without asking any counter.
    pub(crate) refused: Option<Disposition>,
}

impl<'a> NamedKeys<'a> {
    pub(crate) fn resolve(live: &Live, charges: &[NamedCharge<'a>]) -> Result<Self, ChargeError> {
        if charges.len() > MAX_OPS {
            return Err(ChargeError::TooMany {
                charges: charges.len(),
            });
        }
        let mut named = Self {
            keys: Vec::new(),
            slots: SmallVec::new(),
        };
        for (index, charge) in charges.iter().enumerate() {
            named.add(live, index, *charge)?;
        }
        Ok(named)
    }

    fn add(
        &mut self,
        live: &Live,
        index: usize,
        named: NamedCharge<'a>,
    ) -> Result<(), ChargeError> {
        let (rule, compiled) = live.rule(named.rule, index)?;
        let start = self.keys.len();
        let key = compiled.named_key(named.key, &mut self.keys);
        key.map_err(|error| ChargeError::Key { index, error })?;
        let key = start..self.keys.len();
        let bytes = self.keys.get(key.clone());
        let keys = &self.keys;
        let same = |slot: &&mut Slot<'_>| slot.rule == rule && keys.get(slot.key.clone()) == bytes;
        let Some(slot) = self.slots.iter_mut().find(same) else {
            self.slots.push(Slot {
                index,
                rule,
                key,
                named,
            });
            return Ok(());
        };
        if slot.named.plan != named.plan {
            return Err(ChargeError::TwoPlans { index });
        }
        if slot.named.receipt.is_some() || named.receipt.is_some() {
            return Err(ChargeError::Receipt { index });
        }
        // Two charges on one rule and key are one: a counter is charged once per request.
        let own = compiled.default_cost();
        let [one, two] = [slot.named.cost, named.cost].map(|cost| cost.unwrap_or(own).get());
        slot.named.cost = Some(Cost::new(u64::from(one) + u64::from(two)));
        Ok(())
    }

    /// What `verb` on them comes to at `now`.
    pub(crate) fn judge<'k>(
        &'k self,
        live: &'k Live,
        verb: Verb,
        now: Micros,
    ) -> Result<Named<'k>, ChargeError> {
        let mut named = Named::default();
        for slot in &self.slots {
            let key = self.keys.get(slot.key.clone()).unwrap_or_default();
            slot.judge(live, verb, now, key, &mut named)?;
        }
        Ok(named.or_unlimited())
    }
}

impl Named<'_> {
    /// Where nothing is left to do and nothing refuses, nothing counts.
    fn or_unlimited(mut self) -> Self {
        if self.acts.is_empty() && self.refused.is_none() {
            self.refused = Some(Disposition::Unlimited);
        }
        self
    }
}

impl<'a> Slot<'a> {
    /// The place of one charge alone. Its key is appended to `keys`.
    pub(crate) fn alone(
        live: &Live,
        named: NamedCharge<'a>,
        keys: &mut Vec<u8>,
    ) -> Result<Self, ChargeError> {
        let (index, start) = (0, keys.len());
        let (rule, compiled) = live.rule(named.rule, index)?;
        let key = compiled.named_key(named.key, keys);
        key.map_err(|error| ChargeError::Key { index, error })?;
        Ok(Self {
            index,
            rule,
            key: start..keys.len(),
            named,
        })
    }

    /// What `verb` on it comes to at `now`; `keys` are those to which its own was appended.
    pub(crate) fn judge_alone<'k>(
        &self,
        live: &'k Live,
        verb: Verb,
        now: Micros,
        keys: &'k [u8],
    ) -> Result<Named<'k>, ChargeError> {
        let mut named = Named::default();
        let key = keys.get(self.key.clone()).unwrap_or_default();
        self.judge(live, verb, now, key, &mut named)?;
        Ok(named.or_unlimited())
    }

    /// Where its key stands among those it was appended to.
    pub(crate) fn key(&self) -> Range<usize> {
        self.key.clone()
    }

    fn judge<'k>(
        &self,
        live: &'k Live,
        verb: Verb,
        now: Micros,
        key: &'k [u8],
        named: &mut Named<'k>,
    ) -> Result<(), ChargeError> {
        use jeton_policy::Named as Ruled;
        let index = self.index;
        let mut charges: SmallVec<[Charge<'k>; 2]> = SmallVec::new();
        let plan = self.named.plan;
        let mut add = |charge| charges.push(charge);
        let policy = &live.policy;
        let mut ruled = policy.name_charge(&live.orders, now, self.rule, plan, key, &mut add);
        let corrects = matches!(verb, Verb::Refund | Verb::Reset);
        if corrects && !matches!(ruled, Ruled::Charged | Ruled::UnknownPlan) {
            // What was used stands there whatever holds now.
            policy.own_charges(self.rule, key, &mut add);
            ruled = Ruled::Charged;
        }
        let rule = self.rule;
        let refused = match ruled {
            Ruled::Denied(reason) => Some(Disposition::Refused { rule, reason }),
            Ruled::BlockedUntil(until) => Some(Disposition::BlockedUntil { rule, until }),
            Ruled::UnknownPlan => return Err(self.unknown_plan(live)),
            Ruled::ShadowDenied(reason) => {
                if verb.is_metered() {
                    let denied = jeton_policy::Denied { rule, reason };
                    live.tally.refused_without_vote(live, &[denied]);
                }
                None
            }
            _ => None,
        };
        // The first refusal speaks, as with requests; an operator's block before all others.
        let blocks = |d: &Disposition| matches!(d, Disposition::BlockedUntil { .. });
        let is_first = named.refused.as_ref().is_none_or(|before| !blocks(before));
        if let Some(refused) = refused
            && (named.refused.is_none() || (is_first && blocks(&refused)))
        {
            named.refused = Some(refused);
        }
        for charge in charges {
            let cost = self.named.cost.unwrap_or(charge.cost);
            if verb == Verb::Take && matches!(charge.settle, Some(Settle::Lease)) {
                let rule = self.named.rule.to_owned();
                return Err(ChargeError::NeedsHold { index, rule });
            }
            if let Some(act) = self.act(&charge, verb, cost)? {
                named.acts.push((charge, act, cost));
            }
        }
        Ok(())
    }

    /// What to do with one counter; none if a receipt is not about it.
    fn act(&self, charge: &Charge<'_>, verb: Verb, cost: Cost) -> Result<Option<Act>, ChargeError> {
        let Some(given) = self.named.receipt else {
            return Ok(Some(verb.act(cost)));
        };
        let index = self.index;
        if charge.counter != jeton_policy::Counter::Requests {
            return Ok(None);
        }
        let is_its_own = given.rule == charge.id && given.kind == charge.quota.kind();
        if verb != Verb::Refund || !is_its_own {
            return Err(ChargeError::Receipt { index });
        }
        let receipt = given.receipt;
        let units = self.named.cost.map_or(receipt.cost, Cost::get);
        Ok(Some(Act::Settle {
            receipt,
            actual: Cost::new(u64::from(receipt.cost.saturating_sub(units))),
            max_debt: Cost::ZERO,
        }))
    }

    fn unknown_plan(&self, live: &Live) -> ChargeError {
        let rule = live.policy.rules().get(self.rule);
        let plans = rule.and_then(|rule| rule.rule().plan.as_ref());
        let names = plans.iter().flat_map(|plans| &plans.named);
        ChargeError::UnknownPlan {
            index: self.index,
            plan: self.named.plan.unwrap_or_default().to_owned(),
            known: names.map(|(name, _)| name.clone()).collect(),
        }
    }
}
