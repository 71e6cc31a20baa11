//! What plans, overrides and trials change of a rule: settings of its own algorithm.

use jeton_core::{QuotaError, Span};

use super::allowance::{refused, value, value_mark};
use crate::diagnostic::{Fault, code};
use crate::raw::{Context, Section};
use crate::rule::Terms;
use crate::units::{Pace, parse_duration, parse_rate, zero};

/// Settings that are written anew; the others stay the rule's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub(crate) limit: Option<u64>,
    pub(crate) window: Option<Span>,
    pub(crate) rate: Option<Pace>,
    /// Without it, the units of one period of `rate` if that is written anew.
    pub(crate) burst: Option<u64>,
    pub(crate) lease: Option<Span>,
}

/// What a rule has that an algorithm can be set by, and more.
const NAMES: [&str; 5] = ["limit", "window", "rate", "burst", "lease"];

/// Reads the settings of a section that stand for a rule's own, and what they make of it.
pub(super) fn read(cx: &mut Context<'_>, section: &Section<'_>, base: &Terms) -> Option<Terms> {
    let before = cx.findings.errors();
    for name in NAMES.into_iter().filter(|name| section.has(name)) {
        if let Err(fault) = change_fits(base, name) {
            let _: Option<()> = cx.error(section.mark_of(name), fault);
        }
    }
    let never = |name: &str| zero(&format!("a {name} of 0"));
    let units = |cx: &mut Context<'_>, name| {
        let units = section.count(cx, name, || never(name));
        units.map(|units| units.value)
    };
    let change = Change {
        limit: units(cx, "limit"),
        burst: units(cx, "burst"),
        window: value(section.parsed(cx, "window", parse_duration)),
        rate: value(section.parsed(cx, "rate", parse_rate)),
        lease: value(section.parsed(cx, "lease", parse_duration)),
    };
    if cx.findings.errors() > before {
        return None;
    }
    match changed(base, &change) {
        Ok(terms) => Some(terms),
        Err(unfit) => cx.error(value_mark(section, unfit.setting), unfit.fault()),
    }
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
        name if NAMES.contains(&name) => {
            format!("`{name}` is of another algorithm: this rule has {own}")
        }
        _ => format!("there is no setting {name:?} here: this rule has {own}"),
    };
    let known = NAMES.contains(&name) || matches!(name, "algorithm" | "anchor");
    let code = if known {
        code::CONTRADICTION
    } else {
        code::UNKNOWN
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
        Terms::Concurrency { .. } => ["limit", "lease"],
    }
}

/// Terms that cannot be held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unfit {
    /// The setting that it concerns.
    setting: &'static str,
    terms: Terms,
    error: QuotaError,
}

impl Unfit {
    pub(crate) fn fault(&self) -> Fault {
        refused(self.error, &self.terms)
    }
}

/// The terms with a change.
pub(crate) fn changed(base: &Terms, change: &Change) -> Result<Terms, Unfit> {
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
        Terms::Concurrency { limit, lease } => {
            *limit = change.limit.unwrap_or(*limit);
            *lease = change.lease.unwrap_or(*lease);
        }
    }
    match terms.quota() {
        Ok(_) => Ok(terms),
        Err(error) => {
            let setting = match (&terms, error) {
                (Terms::Bucket { .. }, QuotaError::AwkwardRate { .. }) => "rate",
                (Terms::Bucket { .. }, _) if change.burst.is_some() => "burst",
                (Terms::Bucket { .. }, _) => "rate",
                _ => "limit",
            };
            Err(Unfit {
                setting,
                terms,
                error,
            })
        }
    }
}
