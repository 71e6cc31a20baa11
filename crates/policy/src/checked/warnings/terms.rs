//! What the terms of one rule bring with them.

use crate::checked::Marks;
use crate::diagnostic::{Fault, Findings, code};
use crate::rule::Terms;
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
        Terms::SlidingLog { limit, .. } => {
            if let Some(fault) = large_log(name, limit, max_memory) {
                findings.warning(places.limit, fault);
            }
        }
        _ => {}
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

fn large_log(name: &str, limit: u64, max_memory: u64) -> Option<Fault> {
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
        "algorithm = \"sliding-counter\" or \"gcra\""
    } else {
        "algorithm = \"sliding-counter\" or \"gcra\"; or keep it: only a reminder"
    };
    Some(Fault::new(code::LOG_MEMORY, what).label(label).fix(fix))
}
