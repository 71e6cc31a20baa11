//! What a rule allows: an algorithm with its settings, or a word.

use jeton_core::{Anchor, QuotaError, Span};

use crate::diagnostic::{Fault, code};
use crate::language::names;
use crate::raw::{self, Context, Section, Spotted, Value};
use crate::rule::{Allowance, Terms};
use crate::source::Mark;
use crate::units::{Pace, parse_duration, parse_rate, print_duration, zero};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    FixedWindow,
    SlidingLog,
    SlidingCounter,
    /// `token-bucket` and `gcra`.
    Bucket,
    Concurrency,
}

const ALGORITHMS: [(&str, Algorithm); 6] = [
    ("fixed-window", Algorithm::FixedWindow),
    ("sliding-log", Algorithm::SlidingLog),
    ("sliding-counter", Algorithm::SlidingCounter),
    ("token-bucket", Algorithm::Bucket),
    ("gcra", Algorithm::Bucket),
    ("concurrency", Algorithm::Concurrency),
];

pub(super) const ALGORITHM_WORDS: &[&str] = &names(&ALGORITHMS);

/// The word that the rule has for its algorithm.
pub(super) fn algorithm_word(section: &Section<'_>) -> Option<&'static str> {
    let Value::Text(text) = &section.item("algorithm")?.value else {
        return None;
    };
    ALGORITHM_WORDS.iter().copied().find(|word| word == text)
}

/// The words for algorithms by what they are set by.
pub(crate) struct AlgorithmWords {
    /// `rate` and `burst`.
    pub(crate) buckets: Vec<&'static str>,
    /// `limit` and `window`.
    pub(crate) windows: Vec<&'static str>,
    /// `limit` and `lease`.
    pub(crate) leases: Vec<&'static str>,
}

impl AlgorithmWords {
    pub(crate) fn all() -> Self {
        let those = |of: fn(Algorithm) -> bool| {
            let words = ALGORITHMS.iter().filter(|(_, algorithm)| of(*algorithm));
            words.map(|(word, _)| *word).collect()
        };
        let other = |own| !matches!(own, Algorithm::Bucket | Algorithm::Concurrency);
        Self {
            buckets: those(|own| own == Algorithm::Bucket),
            windows: those(other),
            leases: those(|own| own == Algorithm::Concurrency),
        }
    }
}

const ANCHORS: [(&str, Anchor); 2] = [
    ("epoch", Anchor::Epoch),
    ("first-request", Anchor::FirstRequest),
];
pub(super) const ANCHOR_WORDS: &[&str] = &names(&ANCHORS);

pub(crate) const LIMITS: [(&str, Allowance); 2] = [
    ("unlimited", Allowance::Unlimited),
    ("deny", Allowance::Deny),
];
pub(super) const LIMIT_WORDS: &[&str] = &names(&LIMITS);

/// The settings, each read for itself, so that each is judged even if another one is wrong.
struct Written {
    algorithm: Option<Algorithm>,
    limit: Option<Limit>,
    window: Option<Span>,
    anchor: Option<Anchor>,
    rate: Option<Pace>,
    burst: Option<u64>,
    lease: Option<Span>,
}

#[derive(Clone, Copy)]
enum Limit {
    Units(u64),
    Word(Allowance),
}

pub(super) fn allowance(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Allowance> {
    let written = read(cx, section);
    if is_word(section) {
        const WHY: &str = "and a word for `limit` exclude each other";
        section.refuse(cx, "rate", WHY, "leave it out");
        section.refuse(cx, "burst", WHY, "leave it out");
        return match written.limit {
            Some(Limit::Word(word)) => Some(word),
            _ => None,
        };
    }
    section.require(cx, "algorithm", "algorithm = \"token-bucket\"");
    let (terms, place) = match written.algorithm {
        None => {
            section.has("limit").then(|| {
                let why = "and `limit` exclude each other: one is for buckets, one for windows";
                section.refuse(cx, "rate", why, "keep one of them");
            });
            return None;
        }
        Some(Algorithm::Bucket) => (bucket(cx, section, &written)?, "rate"),
        Some(Algorithm::Concurrency) => (concurrency(cx, section, &written)?, "limit"),
        Some(algorithm) => (window(cx, section, algorithm, &written)?, "limit"),
    };
    match terms.quota() {
        Ok(_) => Some(Allowance::Quota(terms)),
        Err(error) => {
            let concerns_burst = !matches!(error, QuotaError::AwkwardRate { .. });
            let key = if concerns_burst && section.has("burst") {
                "burst"
            } else {
                place
            };
            cx.error(value_mark(section, key), refused(error, &terms))
        }
    }
}

fn read(cx: &mut Context<'_>, section: &Section<'_>) -> Written {
    let never = || {
        zero("a burst of 0")
            .fix("burst = 1, or limit = \"unlimited\" or \"deny\" without rate and burst")
    };
    let algorithm = section.word(cx, "algorithm", &ALGORITHMS, &[]);
    // Where it is refused, what it says is no second mistake.
    let leases = matches!(algorithm, None | Some(Algorithm::Concurrency));
    let lease = leases.then(|| section.parsed(cx, "lease", parse_duration));
    Written {
        algorithm,
        limit: limit(cx, section),
        window: value(section.parsed(cx, "window", parse_duration)),
        anchor: section.word(cx, "anchor", &ANCHORS, &[]),
        rate: value(section.parsed(cx, "rate", parse_rate)),
        burst: section.count(cx, "burst", never).map(|count| count.value),
        lease: value(lease.flatten()),
    }
}

pub(super) fn value<T: Copy>(spotted: Option<Spotted<crate::Setting<T>>>) -> Option<T> {
    spotted.map(|spotted| *spotted.value.get())
}

fn limit(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Limit> {
    if is_word(section) {
        return value(section.parsed(cx, "limit", word));
    }
    let zero = || zero("a limit of 0");
    let count = section.count(cx, "limit", zero)?;
    Some(Limit::Units(count.value))
}

/// Whether `limit` is meant as a word, be it spelt right or not.
pub(super) fn is_word(section: &Section<'_>) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match section.item("limit").map(|item| &item.value) {
        Some(Value::Text(text)) => !is_number(text),
        Some(Value::Table(_)) => true,
        _ => false,
    }
}

fn word(text: &str) -> Result<Limit, Fault> {
    raw::word("limit", text, &LIMITS, &[])
        .map(Limit::Word)
        .map_err(|fault| fault.label("a number, \"unlimited\" or \"deny\""))
}

const ANCHORED: &str = "is for fixed-window";
const LEASED: &str = "is for concurrency: other limits come back by themselves";

fn bucket(cx: &mut Context<'_>, section: &Section<'_>, written: &Written) -> Option<Terms> {
    const WHY: &str = "is for windows; a bucket has `rate` and `burst`";
    let fix = match (written.limit, written.window) {
        _ if section.has("rate") => "leave it out".to_owned(),
        (Some(Limit::Units(units)), Some(per)) => format!("rate = \"{}\"", Pace { units, per }),
        _ => "rate = \"100/min\"".to_owned(),
    };
    section.refuse(cx, "limit", WHY, &fix);
    section.refuse(cx, "window", WHY, &fix);
    section.refuse(cx, "anchor", ANCHORED, "leave it out");
    refuse_lease(cx, section);
    if !section.has("limit") {
        section.require(cx, "rate", "rate = \"100/min\"");
    }
    let pace = written.rate?;
    if section.has("burst") && written.burst.is_none() {
        return None;
    }
    Some(Terms::Bucket {
        pace,
        burst: written.burst.unwrap_or(pace.units),
    })
}

fn window(
    cx: &mut Context<'_>,
    section: &Section<'_>,
    algorithm: Algorithm,
    written: &Written,
) -> Option<Terms> {
    const WHY: &str = "is for buckets; a window has `limit` and `window`";
    let fix = match written.rate {
        Some(rate) if !section.has("limit") => {
            format!(
                "limit = {} and window = \"{}\"",
                rate.units,
                print_duration(rate.per)
            )
        }
        _ => "leave it out".to_owned(),
    };
    section.refuse(cx, "rate", WHY, &fix);
    section.refuse(cx, "burst", WHY, "leave it out");
    if algorithm != Algorithm::FixedWindow {
        section.refuse(cx, "anchor", ANCHORED, "leave it out");
    }
    refuse_lease(cx, section);
    if !section.has("rate") {
        section.require(cx, "limit", "limit = 100");
        section.require(cx, "window", "window = \"1min\"");
    }
    let Some(Limit::Units(limit)) = written.limit else {
        return None;
    };
    let window = written.window?;
    let anchor = written.anchor.unwrap_or(Anchor::Epoch);
    Some(match algorithm {
        Algorithm::SlidingLog => Terms::SlidingLog { limit, window },
        Algorithm::SlidingCounter => Terms::SlidingCounter { limit, window },
        Algorithm::FixedWindow | Algorithm::Bucket | Algorithm::Concurrency => Terms::FixedWindow {
            limit,
            window,
            anchor,
        },
    })
}

fn concurrency(cx: &mut Context<'_>, section: &Section<'_>, written: &Written) -> Option<Terms> {
    const WHY: &str = "is for limits over time; concurrency has `limit` and `lease`";
    for key in ["rate", "burst", "window"] {
        section.refuse(cx, key, WHY, "leave it out");
    }
    section.refuse(cx, "anchor", ANCHORED, "leave it out");
    section.require(cx, "limit", "limit = 10");
    section.require(cx, "lease", "lease = \"30s\"");
    let Some(Limit::Units(limit)) = written.limit else {
        return None;
    };
    let lease = written.lease?;
    Some(Terms::Concurrency { limit, lease })
}

/// Units in place of a time are what a store on servers is asked for ahead.
fn refuse_lease(cx: &mut Context<'_>, section: &Section<'_>) {
    let fix = match section.item("lease").map(|item| &item.value) {
        Some(Value::Integer(_)) => "leave it out; units taken ahead are `lease` of [store]",
        _ => "leave it out",
    };
    section.refuse(cx, "lease", LEASED, fix);
}

/// A quota that cannot be held exactly, and the nearest that can.
pub(crate) fn refused(error: QuotaError, terms: &Terms) -> Fault {
    let fault = |what: String| Fault::new(code::QUOTA, what);
    match (error, terms) {
        (QuotaError::Zero, _) => zero("a limit of 0"),
        (QuotaError::LimitTooLarge { max }, Terms::Bucket { burst, .. }) => {
            fault(format!("a bucket of {burst} units is too large"))
                .label(format!("at most {max}"))
                .fix(format!("burst = {max}"))
        }
        (QuotaError::LimitTooLarge { max }, _) => fault("this limit is too large".to_owned())
            .label(format!("at most {max} with this algorithm"))
            .fix(format!("limit = {max}")),
        (QuotaError::FillTooLong { max_burst }, Terms::Bucket { pace, burst }) => fault(format!(
            "a bucket of {burst} units at {pace} cannot be held exactly"
        ))
        .label("it would take over 13 years to fill")
        .fix(format!("burst = {max_burst}")),
        (QuotaError::AwkwardRate { slower, faster }, _) => {
            let [slower, faster] = [slower, faster].map(Pace::of);
            fault("this rate is too awkward a fraction to be held exactly".to_owned())
                .label("the next slower and faster ones differ by some parts in 10^9")
                .fix(format!(
                    "rate = \"{slower}\" or \"{faster}\", with burst written out"
                ))
        }
        (other, _) => fault(format!("this limit cannot be held exactly: {other}")),
    }
}

/// Where the value of a setting stands; the section if it has no such setting.
pub(super) fn value_mark(section: &Section<'_>, key: &str) -> Mark {
    section.item(key).map_or(section.mark, |item| item.mark)
}
