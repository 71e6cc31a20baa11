//! The worst case of one limit in words and numbers.

use jeton_core::Span;
use serde::Serialize;

use super::{allows, span, worst_case};
use crate::rule::{Allowance, Terms};
use crate::settings::Lease;
use crate::units::{Pace, grouped, in_words, short};

const SECOND: Span = Span::SECOND;

fn minute() -> Span {
    Span::from_micros(60_000_000).unwrap_or(SECOND)
}

/// Another limit of a rule in words, with its worst case for one key: that of a plan, or the one
/// on trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitWords {
    /// The plan; `trial` for the terms on trial.
    pub name: String,
    /// What it allows: `50/s, bursts to 200`.
    pub meaning: String,
    /// The promise in one sentence; empty for a word.
    pub at_most: String,
    /// The most in any second; none for `unlimited` and for requests in flight.
    pub any_second: Option<u64>,
    /// The most in any minute; none for `unlimited` and for requests in flight.
    pub any_minute: Option<u64>,
    /// Units that pass beyond these for each process that may have taken them ahead.
    pub per_process: u64,
    /// `true` if the promise is about a second or a minute, which have columns of their own.
    #[serde(skip)]
    pub(super) in_columns: bool,
}

impl LimitWords {
    pub(super) fn of(name: &str, allowance: &Allowance, beyond: Beyond) -> Self {
        let Promise {
            at_most,
            any_second,
            any_minute,
            per_process,
            in_columns,
            ..
        } = Promise::of(allowance, beyond);
        Self {
            name: name.to_owned(),
            meaning: allows(allowance, ""),
            at_most,
            any_second,
            any_minute,
            per_process,
            in_columns,
        }
    }
}

/// What may pass beyond what a limit alone promises.
#[derive(Clone, Copy)]
pub(super) struct Beyond {
    /// Answers may cost more than was held for them, which is owed.
    pub(super) by_response: bool,
    /// As far as that.
    pub(super) most_debt: Option<u64>,
    /// Units are taken ahead, and spent later than they are charged.
    pub(super) ahead: Option<Lease>,
}

impl Beyond {
    fn debt(self, terms: &Terms) -> u64 {
        let limit = terms.most();
        if self.by_response {
            self.most_debt.unwrap_or(limit).min(limit)
        } else {
            0
        }
    }

    /// A bucket's units that pass in a span were charged in it, or up to a lease's life before.
    fn charged_in(self, terms: &Terms, within: Span) -> Span {
        let lease = self.ahead.filter(|lease| lease.units_under(terms) > 0);
        match (terms, lease) {
            (Terms::Bucket { .. }, Some(lease)) => {
                let us = within.as_micros() + span(lease.keep_for).as_micros();
                Span::from_micros(us).unwrap_or(Span::LONGEST)
            }
            _ => within,
        }
    }

    /// What each process may hold when a span begins, charged before it: nothing of a fixed window,
    /// whose leases end with it, and of a bucket what [`Beyond::charged_in`] holds.
    fn per_process(self, terms: &Terms) -> u64 {
        match (terms, self.ahead) {
            (Terms::SlidingLog { .. } | Terms::SlidingCounter { .. }, Some(lease)) => {
                lease.units_under(terms)
            }
            _ => 0,
        }
    }
}

/// What holds whatever clients do.
pub(super) struct Promise {
    pub(super) at_most: String,
    pub(super) interval: String,
    pub(super) any_second: Option<u64>,
    pub(super) any_minute: Option<u64>,
    pub(super) per_process: u64,
    pub(super) in_columns: bool,
}

impl Promise {
    pub(super) fn of(allowance: &Allowance, beyond: Beyond) -> Self {
        let (any, terms) = match allowance {
            Allowance::Unlimited => (None, None),
            Allowance::Deny => (Some(0), None),
            Allowance::Quota(terms) => (None, Some(terms)),
        };
        let in_any = |span| match terms {
            Some(Terms::Concurrency { .. }) => None,
            Some(terms) => Some(most(terms, span, beyond).saturating_add(beyond.debt(terms))),
            None => any,
        };
        let own = terms.and_then(own_span);
        Self {
            at_most: terms
                .map(|terms| at_most(terms, beyond))
                .unwrap_or_default(),
            interval: terms.map(interval).unwrap_or_default(),
            any_second: in_any(SECOND),
            any_minute: in_any(minute()),
            per_process: terms.map_or(0, |terms| beyond.per_process(terms)),
            in_columns: own.is_some_and(|own| own == SECOND || own == minute())
                && !beyond.by_response,
        }
    }
}

/// The span in which a limit's worst case is told: its own. Requests in flight have none.
const fn own_span(terms: &Terms) -> Option<Span> {
    match terms {
        Terms::Bucket { pace, .. } => Some(pace.per),
        Terms::FixedWindow { window, .. }
        | Terms::SlidingLog { window, .. }
        | Terms::SlidingCounter { window, .. } => Some(*window),
        Terms::Concurrency { .. } => None,
    }
}

fn most(terms: &Terms, span: Span, beyond: Beyond) -> u64 {
    worst_case(terms, beyond.charged_in(terms, span))
}

fn at_most(terms: &Terms, beyond: Beyond) -> String {
    let Some(span) = own_span(terms) else {
        let limit = grouped(terms.most());
        return format!("at most {limit} in flight, as long as holders renew");
    };
    let most = grouped(most(terms, span, beyond));
    let held = format!("at most {most} in any {}", in_words(span));
    let held = match beyond.per_process(terms) {
        0 => held,
        more => format!("{held}, and {} more for each process", grouped(more)),
    };
    match beyond.debt(terms) {
        0 if beyond.by_response => format!("{held}; what answers cost above what was held is lost"),
        0 => held,
        owed => format!("{held}, and up to {} more in debt", grouped(owed)),
    }
}

fn interval(terms: &Terms) -> String {
    let (units, per) = match terms {
        Terms::Bucket {
            pace: Pace { units, per },
            ..
        } => (*units, *per),
        Terms::Concurrency { lease, .. } => {
            return format!("back after {} unless renewed", in_words(*lease));
        }
        _ => return String::new(),
    };
    let us = per.as_micros();
    if us.is_multiple_of(units) {
        let each = Span::from_micros(us / units).unwrap_or(per);
        return format!("one per {}", in_words(each));
    }
    format!("one per about {}", short(us.into(), units.into()))
}
