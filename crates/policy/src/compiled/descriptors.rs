//! Charges of descriptors.

use jeton_core::Micros;

use super::charge::{Charge, Counter, Source};
use super::named::Named;
use super::orders::Orders;
use super::policy::Policy;
use super::verdict::DenyReason;
use crate::envoy::{OwnLimit, Ruling, Rulings};
use crate::rule::Mode;

impl Policy {
    /// The charge of the descriptor of this number, as [`Descriptors::rule`](crate::Descriptors::rule)
    /// ruled on it; what operators have set holds for it too. None if nothing limits it.
    pub fn descriptor_charge<'a>(
        &'a self,
        orders: &'a Orders,
        now: Micros,
        rulings: &'a Rulings,
        descriptor: usize,
        out: &mut impl FnMut(Charge<'a>),
    ) -> Option<Named> {
        match rulings.list.get(descriptor)? {
            Ruling::Nothing | Ruling::Replaced => None,
            Ruling::Unlimited(_) => Some(Named::Unlimited),
            Ruling::Limit { limit, key } => {
                let rule = self.descriptors().limits().get(*limit)?.rule;
                let key = rulings.keys.get(key.clone())?;
                let mut own = |charge: Charge<'a>| {
                    if charge.counter == Counter::Requests {
                        out(charge);
                    }
                };
                Some(self.name_charge(orders, now, rule, None, key, &mut own))
            }
            Ruling::Own(own) => {
                self.own_charge(orders, now, own, rulings.keys.get(own.key.clone())?, out)
            }
        }
    }

    /// A limit that the request brings: it always has a vote.
    fn own_charge<'a>(
        &'a self,
        orders: &'a Orders,
        now: Micros,
        own: &'a OwnLimit,
        key: &'a [u8],
        out: &mut impl FnMut(Charge<'a>),
    ) -> Option<Named> {
        let set = orders.of_key(own.rule, key);
        if let Some(until) = set.and_then(|set| set.blocked(now)) {
            return Some(Named::BlockedUntil(until));
        }
        let Some(quota) = &own.quota else {
            return Some(Named::Denied(DenyReason::Word));
        };
        let rule = self.rules().get(own.rule)?;
        out(rule.charge(Source {
            rule: own.rule,
            counter: Counter::Requests,
            key,
            quota,
            mode: Mode::Enforce,
            cost: rule.default_cost(),
            plan: None,
            overridden: true,
        }));
        Some(Named::Charged)
    }
}
