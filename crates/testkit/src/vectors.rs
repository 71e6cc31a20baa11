//! Golden vectors: acts with the answers and the state bytes that this release gives, one JSON
//! object a line, in `vectors/*.jsonl`.
//!
//! Every store replays the answers; the engine also replays the bytes. The files stay as they are
//! from release to release: a change in them is a change of what users' counters mean.

use std::collections::BTreeMap;

use jeton_core::codec::{decode, encode};
use jeton_core::{
    Act, Anchor, Cost, Decision, Edit, Fit, Micros, Quota, Rate, Receipt, Span, TailEdit, View,
};
use serde::{Deserialize, Serialize};

use crate::random::Random;

/// One act on one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// Which state: vectors of one trace follow each other on it, the first on none.
    pub trace: String,
    /// Under which quota.
    pub quota: QuotaText,
    /// When.
    pub now_us: u64,
    /// What is asked.
    pub act: ActText,
    /// What is answered.
    pub answer: Answer,
    /// The bytes of the state afterwards, in hexadecimal; none if there is none.
    pub state: Option<String>,
}

/// A quota in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaText {
    /// Units, per µs, burst.
    Bucket(u64, u64, u64),
    /// Limit, window in µs.
    EpochWindow(u64, u64),
    /// Limit, window in µs.
    FirstRequestWindow(u64, u64),
    /// Limit, window in µs.
    SlidingCounter(u64, u64),
    /// Limit, window in µs.
    SlidingLog(u64, u64),
    /// Limit, lease in µs.
    Concurrency(u64, u64),
    /// Time to live in µs.
    Ticket(u64),
}

/// An act in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActText {
    /// Units.
    Take(u64),
    /// Units.
    Peek(u64),
    /// Units.
    Hold(u64),
    /// Units.
    Give(u64),
    /// Which vector of the trace (from 0) made the charge, and what it has cost.
    Settle(usize, u64),
    /// The same, and the most debt there may be.
    SettleWithin(usize, u64, u64),
    /// Which vector of the trace made the charge.
    Renew(usize),
    /// Everything.
    Reset,
}

/// A decision in plain numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// How it ended.
    pub fit: FitText,
    /// Units left.
    pub remaining: u32,
    /// µs until the state starts over.
    pub reset_us: u64,
    /// µs until more is left.
    pub next_us: u64,
}

/// How an act ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitText {
    /// It was allowed.
    Allowed,
    /// It was denied, with this wait in µs.
    Denied(u64),
    /// It can never be allowed.
    Impossible,
    /// It was carried out, with this many units.
    Settled(u32),
    /// It was done before, with this many units.
    Repeated(u32),
    /// There is nothing of the kind.
    Unknown,
}

impl QuotaText {
    /// The quota.
    pub fn quota(self) -> Quota {
        let span = |us| Span::from_micros(us).expect("a span that fits");
        let quota = match self {
            Self::Bucket(units, per, burst) => {
                Rate::new(units, span(per)).and_then(|rate| Quota::bucket(rate, burst))
            }
            Self::EpochWindow(limit, w) => Quota::fixed_window(limit, span(w), Anchor::Epoch),
            Self::FirstRequestWindow(limit, w) => {
                Quota::fixed_window(limit, span(w), Anchor::FirstRequest)
            }
            Self::SlidingCounter(limit, w) => Quota::sliding_counter(limit, span(w)),
            Self::SlidingLog(limit, w) => Quota::sliding_log(limit, span(w)),
            Self::Concurrency(limit, lease) => Quota::concurrency(limit, span(lease)),
            Self::Ticket(ttl) => Quota::ticket(span(ttl)),
        };
        quota.expect("a quota that fits")
    }
}

impl Answer {
    /// The same in the words of a vector.
    pub fn of(decision: &Decision) -> Self {
        let fit = match decision.fit {
            Fit::Allowed => FitText::Allowed,
            Fit::Denied { retry_after } => FitText::Denied(retry_after.as_micros()),
            Fit::Impossible => FitText::Impossible,
            Fit::Settled { actual } => FitText::Settled(actual),
            Fit::Repeated { actual } => FitText::Repeated(actual),
            Fit::Unknown => FitText::Unknown,
        };
        Self {
            fit,
            remaining: decision.remaining,
            reset_us: decision.reset_after.as_micros(),
            next_us: decision.next_after.as_micros(),
        }
    }
}

/// Reads the lines of a file.
pub fn read(text: &str) -> Vec<Vector> {
    let line = |(i, line)| {
        let read: Result<Vector, _> = serde_json::from_str(line);
        read.unwrap_or_else(|error| panic!("line {}: {error}", i + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// Replays vectors on anything that decides: `decide(trace, quota, act, now)`. The first answer
/// that differs is told with its line.
pub fn replay(vectors: &[Vector], mut decide: impl FnMut(&str, &Quota, &Act, Micros) -> Decision) {
    let mut receipts: BTreeMap<&str, Vec<Receipt>> = BTreeMap::new();
    for (i, vector) in vectors.iter().enumerate() {
        let known = receipts.entry(&vector.trace).or_default();
        let act = act(vector.act, known);
        let decision = decide(
            &vector.trace,
            &vector.quota.quota(),
            &act,
            Micros::new(vector.now_us),
        );
        known.push(decision.receipt);
        assert_eq!(
            Answer::of(&decision),
            vector.answer,
            "line {}: {vector:?}",
            i + 1
        );
    }
}

fn act(text: ActText, receipts: &[Receipt]) -> Act {
    let receipt = |of: usize| *receipts.get(of).expect("a vector before this one");
    let settle = |of, actual, max_debt| Act::Settle {
        receipt: receipt(of),
        actual: Cost::new(actual),
        max_debt,
    };
    let cost = Cost::new;
    match text {
        ActText::Take(units) => Act::Take { cost: cost(units) },
        ActText::Peek(units) => Act::Peek { cost: cost(units) },
        ActText::Hold(units) => Act::Hold { cost: cost(units) },
        ActText::Give(units) => Act::Give { units: cost(units) },
        ActText::Settle(of, actual) => settle(of, actual, Cost::MAX),
        ActText::SettleWithin(of, actual, max_debt) => settle(of, actual, cost(max_debt)),
        ActText::Renew(of) => Act::Renew {
            receipt: receipt(of),
        },
        ActText::Reset => Act::Reset,
    }
}

/// The engine over the bytes of states, one per trace.
#[derive(Debug, Default)]
pub struct Bytes(BTreeMap<String, Vec<u8>>);

impl Bytes {
    /// Decides and keeps the bytes of what comes out.
    pub fn decide(&mut self, trace: &str, quota: &Quota, act: &Act, now: Micros) -> Decision {
        let kept = self
            .0
            .get(trace)
            .map(|bytes| decode(bytes).expect("bytes of a state"));
        let cell = kept.as_ref().map(|state| state.cell);
        let mut tail = kept.map_or_else(Vec::new, |state| state.tail);
        let outcome = quota.decide(View { cell, tail: &tail }, act, now);
        match outcome.edit {
            Edit::Keep => {}
            Edit::Erase => drop(self.0.remove(trace)),
            Edit::Put {
                cell,
                until,
                tail: edit,
            } => {
                TailEdit::apply(&edit, &mut tail);
                let mut bytes = Vec::new();
                encode(quota.kind(), until, &cell, &tail, &mut bytes);
                self.0.insert(trace.to_owned(), bytes);
            }
        }
        outcome.decision
    }

    /// The bytes of a trace's state in hexadecimal.
    pub fn hex(&self, trace: &str) -> Option<String> {
        let digit = |half: u8| char::from_digit(u32::from(half), 16);
        let digits = |byte: &u8| [digit(byte >> 4), digit(byte & 15)].into_iter().flatten();
        let hex = |bytes: &Vec<u8>| bytes.iter().flat_map(digits).collect();
        self.0.get(trace).map(hex)
    }
}

/// Makes the vectors of a file: what this release answers to a fixed row of acts. New traces go to
/// the end, so that those before stay as they are.
pub fn make() -> Vec<Vector> {
    use QuotaText::{
        Bucket, Concurrency, EpochWindow, FirstRequestWindow, SlidingCounter, SlidingLog, Ticket,
    };
    const S: u64 = 1_000_000;
    let mut random = Random::new(1);
    let mut vectors = Vec::new();
    for quota in [
        Bucket(5, S, 20),
        Bucket(999_983, 86_400 * S, 999_983),
        Bucket(7, 11, 3),
        EpochWindow(10, 60 * S),
        FirstRequestWindow(10, 60 * S),
        SlidingCounter(10, 60 * S),
        SlidingCounter(30_000_000, 86_400 * S),
        SlidingLog(10, 60 * S),
    ] {
        make_trace("", quota, draw, &mut random, &mut vectors);
    }
    for quota in [
        Concurrency(10, 60 * S),
        Concurrency(1_000_000_000, 30 * S),
        Ticket(600 * S),
    ] {
        make_trace("", quota, draw_of_what_is_held, &mut random, &mut vectors);
    }
    for quota in [
        Bucket(5, S, 20),
        EpochWindow(10, 60 * S),
        FirstRequestWindow(10, 60 * S),
        SlidingCounter(10, 60 * S),
        SlidingLog(10, 60 * S),
    ] {
        make_trace(
            "settled ",
            quota,
            draw_of_settles,
            &mut random,
            &mut vectors,
        );
    }
    vectors
}

/// Draws an act for a quota of this limit, after so many others.
type Draw = fn(&mut Random, u64, usize) -> ActText;

fn draw(random: &mut Random, most: u64, before: usize) -> ActText {
    match random.below(8) {
        0 => ActText::Peek(random.scaled(0, most)),
        1 => ActText::Give(random.scaled(1, most)),
        2 if before > 0 => ActText::Settle(random.index(before), random.scaled(0, 2 * most)),
        3 => ActText::Take(most + random.below(2)),
        _ => ActText::Take(random.scaled(0, most)),
    }
}

fn draw_of_what_is_held(random: &mut Random, most: u64, before: usize) -> ActText {
    match random.below(16) {
        0 => ActText::Take(random.below(2)),
        1 => ActText::Give(1),
        2 => ActText::Peek(random.scaled(0, most)),
        3 => ActText::Hold(most + 1),
        4..8 if before > 0 => ActText::Settle(random.index(before), random.scaled(0, most)),
        8..12 if before > 0 => ActText::Renew(random.index(before)),
        12 if before > 30 => ActText::Reset,
        _ => ActText::Hold(random.scaled(0, most.div_ceil(3))),
    }
}

fn draw_of_settles(random: &mut Random, most: u64, before: usize) -> ActText {
    match random.below(8) {
        0..3 if before > 0 => {
            let of = random.index(before);
            ActText::SettleWithin(of, random.scaled(0, 2 * most), random.scaled(0, most))
        }
        3 if before > 0 => ActText::Renew(random.index(before)),
        4 if before > 30 => ActText::Reset,
        _ => ActText::Hold(random.scaled(0, most)),
    }
}

fn make_trace(
    name: &str,
    text: QuotaText,
    draw: Draw,
    random: &mut Random,
    into: &mut Vec<Vector>,
) {
    let quota = text.quota();
    let numbers = serde_json::to_string(&text).expect("plain numbers");
    let trace = format!("{name}{numbers}");
    let window = quota.window().or(quota.lease());
    let window = window.map_or(1, |w| w.as_micros().max(4));
    let (mut store, mut receipts, mut now_us) =
        (Bytes::default(), Vec::new(), 1_800_000_000_000_000);
    for _ in 0..40 {
        now_us = match random.below(8) {
            0 => now_us + random.below(3 * window),
            1 => now_us - random.below(window),
            _ => now_us + random.below(window / 4),
        };
        let text_act = draw(random, u64::from(quota.limit()), receipts.len());
        let act = act(text_act, &receipts);
        let decision = store.decide(&trace, &quota, &act, Micros::new(now_us));
        receipts.push(decision.receipt);
        into.push(Vector {
            trace: trace.clone(),
            quota: text,
            now_us,
            act: text_act,
            answer: Answer::of(&decision),
            state: store.hex(&trace),
        });
    }
}
