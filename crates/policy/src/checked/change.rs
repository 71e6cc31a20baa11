//! What plans, overrides and trials change of a rule: settings of its own algorithm.

use jeton_core::{QuotaError, Span};

use super::allowance::refused;
use crate::diagnostic::{Fault, code};
use crate::rule::Terms;
use crate::units::Pace;

/// Settings that are written anew; the others stay the rule's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) limit: Option<u64>,
    pub(crate) window: Option<Span>,
    pub(crate) rate: Option<Pace>,
    /// Without it, the units of one period of `rate` if that is written anew.
    pub(crate) burst: Option<u64>,
}

/// Refuses a setting that the rule's algorithm does not have.
pub(crate) fn change_fits(base: &Terms, name: &str) -> Result<(), Fault> {
    let own = settings_of(base);
    if own.contains(&name) {
        return Ok(());
    }
    let own = own.map(|name| format!("`{name}`")).join(" and ");
    let what = match name {
        "algorithm" | "anchor" => format!("`{name}` is the rule's: another one is another counter"),
        "limit" | "window" | "rate" | "burst" => {
            format!("`{name}` is of another algorithm: this rule has {own}")
        }
        _ => format!("there is no setting {name:?} here: this rule has {own}"),
    };
    let code = match name {
        "algorithm" | "anchor" | "limit" | "window" | "rate" | "burst" => code::CONTRADICTION,
        _ => code::UNKNOWN,
    };
    Err(Fault::new(code, what).fix(own))
}

/// The settings of an algorithm that are no other counter.
pub(crate) const fn settings_of(base: &Terms) -> [&'static str; 2] {
    match base {
        Terms::Bucket { .. } => ["rate", "burst"],
        Terms::FixedWindow { .. } | Terms::SlidingLog { .. } | Terms::SlidingCounter { .. } => {
            ["limit", "window"]
        }
    }
}

/// The terms with a change. What is wrong with them is said with the setting it concerns.
pub(crate) fn changed(base: &Terms, change: &Change) -> Result<Terms, (&'static str, Fault)> {
    let mut terms = *base;
    match &mut terms {
        Terms::Bucket { pace, burst } => {
            let period = change.rate.map(|rate| rate.units);
            *burst = change.burst.or(period).unwrap_or(*burst);
            *pace = change.rate.unwrap_or(*pace);
        }
        Terms::FixedWindow { limit, window, .. }
        | Terms::SlidingLog { limit, window }
        | Terms::SlidingCounter { limit, window } => {
            *limit = change.limit.unwrap_or(*limit);
            *window = change.window.unwrap_or(*window);
        }
    }
    match terms.quota() {
        Ok(_) => Ok(terms),
        Err(error) => {
            let place = match (&terms, error) {
                (Terms::Bucket { .. }, QuotaError::AwkwardRate { .. }) => "rate",
                (Terms::Bucket { .. }, _) if change.burst.is_some() => "burst",
                (Terms::Bucket { .. }, _) => "rate",
                _ => "limit",
            };
            Err((place, refused(error, &terms)))
        }
    }
}
