//! `CL.THROTTLE` held to its documentation, by a model of that alone.
//!
//! github.com/brandur/redis-cell, README: GCRA; `max_burst + 1` at once, `count` per `period` seconds
//! sustained; the answer is limited (0 or 1), limit, remaining, seconds until a retry (-1 if it was allowed,
//! or can never be), seconds until the limit is full again. Seconds are rounded up here, so that waiting as
//! long always suffices.

use std::collections::HashMap;

use jeton_testkit::random::Random;

use super::{Client, DOOR};

/// All times of a key in parts of a microsecond, `count` of them to each: then one unit takes a whole
/// number of them, and nothing is rounded.
#[derive(Clone, Copy)]
struct Asked {
    max_burst: i128,
    count: i128,
    period_s: i128,
}

#[derive(Default)]
struct Model {
    /// The theoretical arrival time of each key.
    arrivals: HashMap<usize, i128>,
}

impl Model {
    fn throttle(&mut self, key: usize, asked: Asked, quantity: i128, now_us: u64) -> [i64; 5] {
        let Asked {
            max_burst,
            count,
            period_s,
        } = asked;
        let limit = max_burst + 1;
        let now = i128::from(now_us) * count;
        let one_unit = period_s * 1_000_000;
        let all_units = one_unit * limit;
        let arrival = self.arrivals.get(&key).copied().unwrap_or(now).max(now);
        let next = arrival + one_unit * quantity;
        let allowed_from = next - all_units;
        let seconds = |parts: i128| {
            let per_second = count * 1_000_000;
            i64::try_from((parts + per_second - 1) / per_second).unwrap()
        };
        let (is_limited, retry_after, owed) = if now < allowed_from {
            let wait = if quantity > limit {
                -1
            } else {
                seconds(allowed_from - now)
            };
            (1, wait, arrival - now)
        } else {
            self.arrivals.insert(key, next);
            (0, -1, next - now)
        };
        let remaining = (all_units - owed) / one_unit;
        [
            is_limited,
            i64::try_from(limit).unwrap(),
            i64::try_from(remaining).unwrap(),
            retry_after,
            seconds(owed),
        ]
    }
}

#[test]
fn ten_thousand_calls_are_answered_as_documented() {
    let mut limited = [0; 2];
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let (mut client, mut model) = (Client::new(DOOR), Model::default());
        let keys: Vec<Asked> = (0..20)
            .map(|_| Asked {
                max_burst: random.scaled(0, 1_000).into(),
                count: random.scaled(1, 10_000).into(),
                period_s: random.scaled(1, 100_000).into(),
            })
            .collect();
        let mut now_us = 0;
        for call in 0..1_000 {
            let key = random.below(20) as usize;
            let asked = keys[key];
            if random.below(3) > 0 {
                // About as long as some units take to come back.
                let unit_us = asked.period_s * 1_000_000 / asked.count;
                now_us += random.scaled(0, 3 * u64::try_from(unit_us).unwrap() + 1);
            }
            let quantity = match random.below(8) {
                0 => 0,
                1 => random.scaled(1, u64::try_from(asked.max_burst).unwrap() + 3),
                _ => 1,
            };
            client.at(now_us);
            let Asked {
                max_burst,
                count,
                period_s,
            } = asked;
            let answer = client.five(&format!(
                "CL.THROTTLE k{key} {max_burst} {count} {period_s} {quantity}"
            ));
            let expected = model.throttle(key, asked, quantity.into(), super::START_US + now_us);
            assert_eq!(
                answer, expected,
                "seed {seed}, call {call}: {max_burst} {count}/{period_s} s, {quantity}"
            );
            limited[usize::try_from(answer[0]).unwrap()] += 1;
        }
    }
    assert!(limited.iter().all(|times| *times > 1_000), "{limited:?}");
}

/// The same state, in the other one's words.
#[test]
fn both_dialects_tell_the_same_story() {
    let mut random = Random::new(1);
    let (mut cell, mut crab) = (Client::new(DOOR), Client::new(DOOR));
    let mut now_us = 0;
    for _ in 0..3_000 {
        now_us += random.scaled(0, 2_000_000);
        let (burst, quantity) = (random.between(1, 9), random.below(4));
        cell.at(now_us);
        crab.at(now_us);
        let [limited, limit, remaining, retry, reset] =
            cell.five(&format!("CL.THROTTLE k {} 3 2 {quantity}", burst - 1));
        let told = crab.five(&format!("THROTTLE k {burst} 3 2 {quantity}"));
        let retry = if limited == 0 { 0 } else { retry };
        assert_eq!(told, [1 - limited, limit, remaining, reset, retry]);
    }
}

/// Whoever waits as long as is said gets what was asked, if nobody else comes.
#[test]
fn waiting_as_long_as_is_said_suffices() {
    let mut random = Random::new(5);
    for name in ["CL.THROTTLE", "THROTTLE"] {
        let mut client = Client::new(DOOR);
        let (mut now_us, mut waits) = (0, 0);
        for _ in 0..2_000 {
            now_us += random.scaled(0, 700_000);
            client.at(now_us);
            let line = format!("{name} k 5 7 3 {}", random.between(1, 4));
            let answer = client.five(&line);
            let (is_allowed, wait) = match name {
                "THROTTLE" => (answer[0] == 1, answer[4]),
                _ => (answer[0] == 0, answer[3]),
            };
            if is_allowed {
                continue;
            }
            assert!(wait >= 1, "{line}: {answer:?}");
            waits += 1;
            now_us += u64::try_from(wait).unwrap() * 1_000_000;
            client.at(now_us);
            let again = client.five(&line);
            assert_eq!(
                again[0],
                i64::from(name == "THROTTLE"),
                "{line}: {answer:?}, then {again:?}"
            );
        }
        assert!(waits > 100, "{waits}");
    }
}

/// throttlecrab 0.4.40 lets 17 of them pass.
#[test]
fn a_burst_is_never_more_than_it_says_after_idling() {
    let mut client = Client::new(DOOR);
    let line = "THROTTLE k 10 100 60";
    assert_eq!(client.five(line), [1, 10, 9, 1, 0]);
    client.at(5_300_000);
    let passed = (0..30).filter(|_| client.five(line)[0] == 1).count();
    assert_eq!(passed, 10);
}

#[test]
fn changed_numbers_carry_over_what_is_owed() {
    let mut client = Client::new(DOOR);
    // 8 of 10 are used; they come back one a second.
    assert_eq!(client.five("CL.THROTTLE k 9 1 1 8"), [0, 10, 2, -1, 8]);
    // Of 5 there is less than nothing left, which even a look is told; and of 12 there are 4.
    assert_eq!(client.five("CL.THROTTLE k 4 1 1 0"), [1, 5, 0, 3, 8]);
    assert_eq!(client.five("CL.THROTTLE k 11 1 1 0"), [0, 12, 4, -1, 8]);
    // They come back as fast as the numbers of the moment say.
    assert_eq!(client.five("CL.THROTTLE k 9 1 10 0"), [0, 10, 2, -1, 80]);
    // Another key is another counter, and so is none of the policy's.
    assert_eq!(client.five("CL.THROTTLE l 9 1 1 0"), [0, 10, 10, -1, 0]);
}
