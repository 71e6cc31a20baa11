//! The worst case of one limit in words and numbers.

use jeton_core::Span;
use serde::Serialize;

use super::{allows, worst_case};
use crate::rule::{Allowance, Terms};
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
    /// `true` if the promise is about a second or a minute, which have columns of their own.
    #[serde(skip)]
    pub(super) in_columns: bool,
}

impl LimitWords {
    pub(super) fn of(name: &str, allowance: &Allowance, debt: Debt) -> Self {
        let Promise {
            at_most,
            any_second,
            any_minute,
            in_columns,
            ..
        } = Promise::of(allowance, debt);
        Self {
            name: name.to_owned(),
            meaning: allows(allowance, ""),
            at_most,
            any_second,
            any_minute,
            in_columns,
        }
    }
}

/// Units that answers may cost beyond what was held for them, as far as they are owed: none where
/// costs are known before.
#[derive(Clone, Copy)]
pub(super) struct Debt {
    pub(super) by_response: bool,
    pub(super) most: Option<u64>,
}

impl Debt {
    fn under(self, terms: &Terms) -> u64 {
        let limit = terms.most();
        if self.by_response {
            self.most.unwrap_or(limit).min(limit)
        } else {
            0
        }
    }
}

/// What holds whatever clients do.
pub(super) struct Promise {
    pub(super) at_most: String,
    pub(super) interval: String,
    pub(super) any_second: Option<u64>,
    pub(super) any_minute: Option<u64>,
    pub(super) in_columns: bool,
}

impl Promise {
    pub(super) fn of(allowance: &Allowance, debt: Debt) -> Self {
        let (any, terms) = match allowance {
            Allowance::Unlimited => (None, None),
            Allowance::Deny => (Some(0), None),
            Allowance::Quota(terms) => (None, Some(terms)),
        };
        let in_any = |span| match terms {
            Some(Terms::Concurrency { .. }) => None,
            Some(terms) => Some(worst_case(terms, span).saturating_add(debt.under(terms))),
            None => any,
        };
        let own = terms.and_then(own_span);
        Self {
            at_most: terms.map(|terms| at_most(terms, debt)).unwrap_or_default(),
            interval: terms.map(interval).unwrap_or_default(),
            any_second: in_any(SECOND),
            any_minute: in_any(minute()),
            in_columns: own.is_some_and(|own| own == SECOND || own == minute())
                && !debt.by_response,
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

fn at_most(terms: &Terms, debt: Debt) -> String {
    let Some(span) = own_span(terms) else {
        let limit = grouped(terms.most());
        return format!("at most {limit} in flight, as long as holders renew");
    };
    let most = grouped(worst_case(terms, span));
    let held = format!("at most {most} in any {}", in_words(span));
    match debt.under(terms) {
        0 if debt.by_response => format!("{held}; what answers cost above what was held is lost"),
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
