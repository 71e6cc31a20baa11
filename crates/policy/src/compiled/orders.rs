//! What operators set at run time, compiled for one policy.

use std::collections::HashMap;

use jeton_core::Micros;

use super::allowed::Allowed;
use super::decode::read_key;
use super::policy::Policy;
use crate::Mode;
use crate::alternative::Alternative;
use crate::diagnostic::{Fault, code};
use crate::orders::Order;
use crate::rule::Allowance;

/// What operators set at run time, compiled for one policy; evaluations consult it. By default
/// nothing is set.
///
/// Compile it anew for another policy: it knows rules by their place.
#[derive(Debug, Default)]
pub struct Orders {
    /// By the index of the rule; none at all if nothing is set.
    rules: Vec<OfRule>,
}

#[derive(Debug, Default)]
pub(super) struct OfRule {
    mode: Option<Mode>,
    keys: HashMap<Box<[u8]>, OfKey>,
}

#[derive(Debug, Default)]
pub(super) struct OfKey {
    block: Option<End>,
    altered: Option<Altered>,
}

/// An override.
#[derive(Clone, Copy, Debug)]
pub(super) struct Altered {
    pub(super) allowed: Allowed,
    /// The same, in the terms it was written in.
    pub(super) allowance: Allowance,
    pub(super) until: End,
}

/// When something is over: `None` for never.
type End = Option<Micros>;

fn in_force(until: End, now: Micros) -> bool {
    until.is_none_or(|until| now < until)
}

impl Orders {
    /// Nothing is set.
    pub const fn new() -> Self {
        Self { rules: Vec::new() }
    }

    /// Whether nothing is set.
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The mode that an operator gave a rule.
    pub fn mode(&self, rule: usize) -> Option<Mode> {
        self.rules.get(rule)?.mode
    }

    /// The override of one key of a rule that is in force, and when it ends.
    pub(crate) fn override_of(
        &self,
        rule: usize,
        key: &[u8],
        now: Micros,
    ) -> Option<(Allowance, End)> {
        let altered = self.of_key(rule, key)?.altered(now)?;
        Some((altered.allowance, altered.until))
    }

    /// What is set for one key of a rule.
    pub(super) fn of_key(&self, rule: usize, key: &[u8]) -> Option<&OfKey> {
        let keys = &self.rules.get(rule)?.keys;
        if keys.is_empty() { None } else { keys.get(key) }
    }
}

impl OfKey {
    /// The end of the block, if one is in force.
    pub(super) fn blocked(&self, now: Micros) -> Option<End> {
        self.block.filter(|until| in_force(*until, now))
    }

    /// The override, if one is in force.
    pub(super) fn altered(&self, now: Micros) -> Option<&Altered> {
        let altered = self.altered.as_ref();
        altered.filter(|altered| in_force(altered.until, now))
    }
}

impl Policy {
    /// Compiles what operators set. What does not fit this policy is left out and named by its
    /// index, with the reason; of two orders about one thing the later one holds.
    pub fn orders(&self, orders: &[Order]) -> (Orders, Vec<(usize, String)>) {
        let mut compiled = Orders::default();
        let mut left_out = Vec::new();
        for (index, order) in orders.iter().enumerate() {
            if let Err(why) = self.add_order(&mut compiled, order) {
                left_out.push((index, why));
            }
        }
        (compiled, left_out)
    }

    /// What the settings of an override allow in a rule: checked as those of a plan are.
    ///
    /// # Errors
    /// [`Fault`] names the setting that does not fit, and the fix.
    pub fn alternative(&self, rule: usize, settings: &Alternative) -> Result<Allowance, Fault> {
        let Some(rule) = self.rules().get(rule) else {
            let fault = Fault::new(code::UNKNOWN, "there is no such rule");
            return Err(fault.fix("the name of a rule"));
        };
        settings.applied(rule.rule())
    }

    fn add_order(&self, orders: &mut Orders, order: &Order) -> Result<(), String> {
        let name = order.rule();
        let Some((index, rule)) = self.rule(name) else {
            return Err(format!("no rule is named {name:?}"));
        };
        let keyed = |key: &[u8]| {
            if read_key(&rule.rule().key, key).is_some() {
                Ok(Box::from(key))
            } else {
                Err(format!("the key of {name:?} has other parts now"))
            }
        };
        match order {
            Order::Block { key, until, .. } => {
                let key = keyed(key)?;
                orders.of(index).keys.entry(key).or_default().block = Some(*until);
            }
            Order::Override {
                key,
                settings,
                until,
                ..
            } => {
                let key = keyed(key)?;
                let allowance = self
                    .alternative(index, settings)
                    .map_err(|fault| fault.what)?;
                let allowed = Allowed::of(&allowance).ok_or("its quota cannot be held")?;
                let altered = Altered {
                    allowed,
                    allowance,
                    until: *until,
                };
                orders.of(index).keys.entry(key).or_default().altered = Some(altered);
            }
            Order::Mode { mode, .. } => orders.of(index).mode = Some(*mode),
        }
        Ok(())
    }
}

impl Orders {
    fn of(&mut self, rule: usize) -> &mut OfRule {
        if self.rules.len() <= rule {
            self.rules.resize_with(rule + 1, OfRule::default);
        }
        &mut self.rules[rule]
    }
}
