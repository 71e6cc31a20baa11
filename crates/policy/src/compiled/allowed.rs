//! What rules, plans and overrides allow, as the engine holds it.

use jeton_core::Quota;

use super::PREFLIGHT_FACTOR;
use crate::rule::{Allowance, Terms};

/// An allowance as the engine holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    Unlimited,
    Deny,
    Quota(Quota),
}

impl Allowed {
    /// `None` for terms that cannot be held, which no check lets through.
    pub(super) fn of(allowance: &Allowance) -> Option<Self> {
        Some(match allowance {
            Allowance::Unlimited => Self::Unlimited,
            Allowance::Deny => Self::Deny,
            Allowance::Quota(terms) => Self::Quota(terms.quota().ok()?),
        })
    }

    pub(super) const fn quota(&self) -> Option<&Quota> {
        match self {
            Self::Quota(quota) => Some(quota),
            Self::Unlimited | Self::Deny => None,
        }
    }
}

/// [`PREFLIGHT_FACTOR`] times as much, or as many times as a quota can hold.
pub(super) fn preflights(terms: &Terms) -> Option<Quota> {
    let factors = (1..=PREFLIGHT_FACTOR).rev();
    let mut quotas = factors.filter_map(|factor| terms.times(factor)?.quota().ok());
    quotas.next()
}
