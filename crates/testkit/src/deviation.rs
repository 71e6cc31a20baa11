//! How far the sliding counter is from the sliding log, measured.
//!
//! Both see the same requests, each keeps its own state; the log is what "N in any window" means.
//! The counter's proven bound is fewer than twice the limit in one window's length. The measure is
//! deterministic: the same numbers come out on every machine.

use std::fmt::Write as _;

use crate::bound::{Passed, worst_in};
use crate::model::{Act, Model, ModelQuota};
use crate::random::Random;

const SECOND_US: u64 = 1_000_000;
/// The window of both algorithms, in microseconds.
const WINDOW_US: u64 = 60 * SECOND_US;
/// Windows of traffic per shape.
const WINDOWS: u64 = 60;
/// Where the traffic starts: an edge of a window.
const START_US: u64 = 29_454_480 * WINDOW_US;

/// One shape of traffic and what the two algorithms made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The shape in words.
    pub traffic: &'static str,
    /// The limit of both.
    pub limit: u64,
    /// Requests of one unit each.
    pub asked: u64,
    /// How many the log let pass.
    pub log_passed: u64,
    /// How many the counter let pass.
    pub counter_passed: u64,
    /// Requests that one let pass and the other did not.
    pub differ: u64,
    /// The most that passed the counter in any half-open window.
    pub counter_worst: u64,
    /// The same for the log.
    pub log_worst: u64,
}

type Shape = (&'static str, fn(u64) -> Vec<u64>);

const SHAPES: [Shape; 9] = [
    ("steady, 0.8 of the limit", |limit| steady(limit * 8, 10)),
    ("steady, twice the limit", |limit| steady(limit * 2, 1)),
    ("random, 0.8 of the limit", |limit| random(limit * 8, 10)),
    ("random, the limit", |limit| random(limit, 1)),
    ("random, twice the limit", |limit| random(limit * 2, 1)),
    (
        "bursts of the limit, a window and a half apart on average",
        bursts,
    ),
    ("busy and quiet minutes in turn", on_and_off),
    (
        "all of it just before each edge, and again just after",
        around_edges,
    ),
    (
        "a burst just before an edge, then as fast as it lets",
        greedy_after_an_edge,
    ),
];

/// Measures all shapes of traffic under `limit` per minute.
///
/// ```
/// let rows = jeton_testkit::deviation::measure(10);
/// assert!(rows.iter().all(|row| row.log_worst <= 10 && row.counter_worst < 20));
/// ```
pub fn measure(limit: u64) -> Vec<Row> {
    let row = |&(traffic, times): &Shape| compare(traffic, limit, &times(limit));
    SHAPES.iter().map(row).collect()
}

/// The rows as a Markdown table.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| traffic | limit per min | asked | log passes | counter passes | decisions that differ \
         | most in any minute: log | counter | of the limit |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let Row {
            traffic,
            limit,
            asked,
            log_passed,
            counter_passed,
            ..
        } = row;
        let Row {
            log_worst,
            counter_worst,
            ..
        } = row;
        let differ = hundredths(row.differ * 10_000 / row.asked.max(1));
        let multiple = hundredths(row.counter_worst * 100 / limit);
        writeln!(
            text,
            "| {traffic} | {limit} | {asked} | {log_passed} | {counter_passed} | {differ} % \
             | {log_worst} | {counter_worst} | {multiple} x |"
        )
        .expect("writing to a string");
    }
    text
}

fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

fn compare(traffic: &'static str, limit: u64, times: &[u64]) -> Row {
    let log = passing(
        &ModelQuota::SlidingLog {
            limit,
            window_us: WINDOW_US,
        },
        times,
    );
    let counter = passing(
        &ModelQuota::SlidingCounter {
            limit,
            window_us: WINDOW_US,
        },
        times,
    );
    let passed = |passing: &[bool]| -> Vec<Passed> {
        let pairs = times.iter().zip(passing).filter(|pair| *pair.1);
        pairs.map(|(&at_us, _)| Passed::new(at_us, 1)).collect()
    };
    let (by_log, by_counter) = (passed(&log), passed(&counter));
    Row {
        traffic,
        limit,
        asked: times.len() as u64,
        log_passed: by_log.len() as u64,
        counter_passed: by_counter.len() as u64,
        differ: log
            .iter()
            .zip(&counter)
            .filter(|(log, counter)| log != counter)
            .count() as u64,
        counter_worst: worst_in(WINDOW_US, &by_counter),
        log_worst: worst_in(WINDOW_US, &by_log),
    }
}

fn passing(quota: &ModelQuota, times: &[u64]) -> Vec<bool> {
    let mut model = Model::default();
    let take = Act::Take { cost: 1 };
    times
        .iter()
        .map(|&at_us| model.act(quota, &take, at_us).allowed())
        .collect()
}

/// `units / per` requests a window, evenly spread.
fn steady(units: u64, per: u64) -> Vec<u64> {
    let asked = WINDOWS * units / per;
    (0..asked)
        .map(|number| START_US + number * WINDOW_US * per / units)
        .collect()
}

/// `units / per` requests a window on average, each slot of a 10 ms grid as likely as any other:
/// close to a Poisson process.
fn random(units: u64, per: u64) -> Vec<u64> {
    let slot_us = SECOND_US / 100;
    let slots = WINDOW_US / slot_us;
    let mut random = Random::new(units);
    (0..WINDOWS * slots)
        .filter(|_| random.below(slots * per) < units)
        .map(|slot| START_US + slot * slot_us)
        .collect()
}

/// As many at once as the limit allows, at random instants.
fn bursts(limit: u64) -> Vec<u64> {
    let mut random = Random::new(limit);
    let mut now_us = START_US;
    let mut times = Vec::new();
    while now_us < START_US + WINDOWS * WINDOW_US {
        times.extend((0..limit).map(|_| now_us));
        now_us += random.between(WINDOW_US / 2, WINDOW_US * 5 / 2);
    }
    times
}

/// Three times the limit in busy minutes, a tenth of it in quiet ones, off the windows' edges.
fn on_and_off(limit: u64) -> Vec<u64> {
    let half_us = WINDOW_US / 2;
    let in_minute = |minute: u64| {
        let asked = if minute.is_multiple_of(2) {
            limit * 3
        } else {
            limit / 10
        };
        let start_us = START_US + minute * WINDOW_US + half_us;
        (0..asked).map(move |number| start_us + number * WINDOW_US / asked)
    };
    (0..WINDOWS).flat_map(in_minute).collect()
}

/// The limit in the last second of every other window, and once more in the second after it.
fn around_edges(limit: u64) -> Vec<u64> {
    let at_edge = |window: u64| {
        let edge_us = START_US + window * WINDOW_US;
        (0..2 * limit).map(move |number| edge_us - SECOND_US + number * SECOND_US / limit)
    };
    (1..WINDOWS).step_by(2).flat_map(at_edge).collect()
}

/// The limit in the last millisecond of every third window, then one try every 60 ms: whatever the
/// counter forgets of the burst, it lets pass again.
fn greedy_after_an_edge(limit: u64) -> Vec<u64> {
    let at_edge = |window: u64| {
        let edge_us = START_US + window * WINDOW_US;
        let burst = (0..limit).map(move |_| edge_us - 1000);
        burst.chain((0..1000).map(move |number| edge_us + number * WINDOW_US / 1000))
    };
    (1..WINDOWS).step_by(3).flat_map(at_edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_exact_and_the_counter_stays_within_its_bound() {
        for row in measure(10) {
            assert!(row.log_worst <= 10, "{row:?}");
            assert!(row.counter_worst < 20, "{row:?}");
            assert!(row.asked > 200, "{row:?}");
        }
    }

    #[test]
    fn traffic_below_the_limit_is_decided_alike_and_a_greedy_client_is_not() {
        let rows = measure(10);
        assert_eq!(rows[0].differ, 0);
        assert_eq!(rows[0].counter_passed, rows[0].asked);
        let greedy = rows.last().unwrap();
        assert_eq!(greedy.counter_worst, 19, "2 · limit − 1, and no more");
    }

    #[test]
    fn the_table_has_a_line_for_every_row() {
        let rows = vec![Row {
            traffic: "some",
            limit: 10,
            asked: 400,
            log_passed: 100,
            counter_passed: 101,
            differ: 3,
            counter_worst: 19,
            log_worst: 10,
        }];
        let table = table(&rows);
        assert_eq!(table.lines().count(), 3);
        let row = "| some | 10 | 400 | 100 | 101 | 0.75 % | 10 | 19 | 1.90 x |";
        assert_eq!(table.lines().last(), Some(row));
    }
}
