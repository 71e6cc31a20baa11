//! What the terms of one rule bring with them.

use crate::checked::{Draft, Marks};
use crate::diagnostic::{Fault, Findings, code};
use crate::rule::{Allowance, Terms};
use crate::source::Mark;
use crate::units::{Pace, grouped, in_words};
use crate::words::worst_case;

/// A full log of this many requests for one key is worth a word.
const LARGE_LOG: u64 = 100_000;
/// Bytes that a log keeps for each request in force.
const LOG_ENTRY_BYTES: u64 = 16;

/// Where warnings about terms point.
pub(crate) struct TermPlaces {
    pub(crate) burst: Mark,
    pub(crate) limit: Mark,
    pub(crate) algorithm: Mark,
}

impl Marks {
    pub(super) fn places(&self) -> TermPlaces {
        TermPlaces {
            burst: self.burst,
            limit: self.limit,
            algorithm: self.algorithm,
        }
    }
}

/// Warns of a burst of one, of edges, and of logs that are large for a store of so many bytes.
pub(crate) fn warn_about_terms(
    findings: &mut Findings<'_>,
    name: &str,
    terms: &Terms,
    places: &TermPlaces,
    max_memory: u64,
) {
    match *terms {
        Terms::Bucket { pace, burst: 1 } => findings.warning(places.burst, burst_one(name, pace)),
        Terms::FixedWindow { window, .. } => {
            let (edge, window) = (grouped(worst_case(terms, window)), in_words(window));
            let what = format!("{name:?} passes {edge} around the edge of a window of {window}");
            let fault = Fault::new(code::WINDOW_EDGE, what)
                .fix("algorithm = \"sliding-log\"; or keep it: only a reminder");
            findings.warning(places.algorithm, fault);
        }
        _ => {
            if let Some(fault) = large_log(name, terms, max_memory) {
                findings.warning(places.limit, fault);
            }
        }
    }
}

/// Warns of plans that refuse the second of two requests, and of those that take more memory than
/// the rule itself is warned of.
pub(super) fn warn_about_plans(
    findings: &mut Findings<'_>,
    Draft { rule, marks }: &Draft,
    max_memory: u64,
) {
    let own = match &rule.allowance {
        Allowance::Quota(terms) => terms.most(),
        Allowance::Unlimited | Allowance::Deny => return,
    };
    for (plan, allowance) in rule.plan.iter().flat_map(|plans| &plans.named) {
        let Allowance::Quota(terms) = allowance else {
            continue;
        };
        let name = format!("{}, plan {plan}", rule.name);
        let fault = match *terms {
            Terms::Bucket { pace, burst: 1 } if own > 1 => Some(burst_one(&name, pace)),
            _ if terms.most() > own => large_log(&name, terms, max_memory),
            _ => None,
        };
        if let Some(fault) = fault {
            findings.warning(marks.plans, fault);
        }
    }
}

fn burst_one(name: &str, pace: Pace) -> Fault {
    let what =
        format!("{name:?} has a burst of 1: the second of two requests sent together is refused");
    let fault = Fault::new(code::BURST_ONE, what);
    if pace.units > 1 {
        let fix = format!("leave `burst` out: it is {} then", grouped(pace.units));
        fault.fix(fix)
    } else {
        fault.fix("burst = 2, or more")
    }
}

fn large_log(name: &str, terms: &Terms, max_memory: u64) -> Option<Fault> {
    let (limit, instead) = match *terms {
        Terms::SlidingLog { limit, .. } => (limit, "algorithm = \"sliding-counter\" or \"gcra\""),
        Terms::Concurrency { limit, .. } => (limit, "a lower limit"),
        _ => return None,
    };
    let bytes = limit.saturating_mul(LOG_ENTRY_BYTES);
    let kib = |bytes: u64| grouped(bytes >> 10);
    let label = if bytes > max_memory {
        let (full, most) = (kib(bytes), kib(max_memory));
        format!("a full log takes {full} KiB, and the store has {most} KiB")
    } else if limit >= LARGE_LOG {
        format!("about {} KiB for one busy key", kib(bytes))
    } else {
        return None;
    };
    let what = format!(
        "{name:?} remembers up to {} requests per key",
        grouped(limit)
    );
    let fix = if bytes > max_memory {
        instead.to_owned()
    } else {
        format!("{instead}; or keep it: only a reminder")
    };
    Some(Fault::new(code::LOG_MEMORY, what).label(label).fix(fix))
}
