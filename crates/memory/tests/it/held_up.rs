//! Threads that are held up between reading the clock and deciding: their old readings must not
//! give a key the same time twice.

use jeton_core::{
    Answers, Cost, Decision, Micros, Op, Plan, Quota, Reading, RuleId, Store, Submitted, When,
};
use jeton_memory::{Overflow, Table};

use crate::{Random, SECOND, allowed, bucket, counter, first, fixed, log, table};

const RULE: RuleId = RuleId::new(1);

/// A take of one unit, by each of the three ways into the table.
fn take(table: &Table, quota: &Quota, reading: Reading, way: u64) -> Decision {
    take_of(table, b"k", quota, reading, way)
}

fn take_of(table: &Table, key: &[u8], quota: &Quota, reading: Reading, way: u64) -> Decision {
    let op = Op::take(RULE, key, quota, Cost::ONE);
    let mut answers = Answers::new();
    match way % 3 {
        0 => return table.take(RULE, key, quota, Cost::ONE, reading),
        1 => table.decide(Plan::one(&op), reading, &mut (), &mut answers),
        _ => {
            let done = table.submit(&[Plan::one(&op)], When::from(reading), &mut answers);
            assert!(matches!(done, Submitted::Done));
        }
    }
    answers.plan(0).1[0]
}

fn quotas() -> [Quota; 5] {
    let limit = 100;
    [
        bucket(1000, SECOND, limit),
        fixed(limit, SECOND / 10),
        first(limit, SECOND / 10),
        counter(limit, SECOND / 10),
        log(limit, SECOND / 10),
    ]
}

/// How many pass within two seconds, when every third reading is up to 90 ms old.
fn admitted(quota: &Quota, steady: bool) -> usize {
    let table = table(1_000, 64 << 20, Overflow::Share);
    let mut random = Random(3);
    let start = 1_000 * SECOND;
    let takes = (0..20_000_u64).map(|step| {
        let now = start + step * 100;
        let old = if step % 3 == 0 {
            random.below(90_000)
        } else {
            0
        };
        let at = Micros::new(now - old);
        let reading = if steady {
            Reading::steady(at)
        } else {
            Reading::from(at)
        };
        allowed(&take(&table, quota, reading, step))
    });
    takes.filter(|passed| *passed).count()
}

#[test]
fn old_readings_of_a_steady_clock_admit_nothing_more() {
    for quota in quotas() {
        // Burst + rate × time; or twenty windows, and the one before them.
        let most = 100 + 2_000;
        let passed = admitted(&quota, true);
        assert!(passed <= most, "{passed} of {most}: {quota:?}");
        assert!(passed >= 1_000, "{passed}: {quota:?}");
    }
    // Without the promise that the clock is steady, the clock law gives the time back each time:
    // this is what the promise is for.
    assert!(admitted(&quotas()[0], false) > 3_000);
}

#[test]
fn a_decision_tells_the_instant_it_went_by_and_waits_from_there() {
    let quota = bucket(1, SECOND, 1);
    for way in 0..3 {
        let table = table(1_000, 64 << 20, Overflow::Share);
        assert!(allowed(&take(
            &table,
            &quota,
            Reading::steady(Micros::new(5 * SECOND)),
            way
        )));
        let late = take(
            &table,
            &quota,
            Reading::steady(Micros::new(2 * SECOND)),
            way,
        );
        assert_eq!(late.at, Micros::new(5 * SECOND));
        let wait = late.fit.retry_after().map(jeton_core::Span::as_micros);
        assert_eq!(wait, Some(SECOND));
        // A clock that may go back is taken at its word: F1.
        let back = take(&table, &quota, Reading::from(Micros::new(2 * SECOND)), way);
        assert_eq!(back.at, Micros::new(2 * SECOND));
    }
}

#[test]
fn a_plan_goes_by_the_latest_instant_of_all_its_keys() {
    let quota = log(1, SECOND);
    let table = table(10_000, 64 << 20, Overflow::Share);
    let keys: Vec<[u8; 2]> = (0..20_u16).map(u16::to_le_bytes).collect();
    for (step, key) in (1..).zip(&keys) {
        let at = Reading::steady(Micros::new(step * SECOND));
        assert!(allowed(&table.take(RULE, key, &quota, Cost::ONE, at)));
    }
    let ops: Vec<Op<'_>> = keys
        .iter()
        .map(|key| Op::take(RULE, key, &quota, Cost::ONE))
        .collect();
    let mut answers = Answers::new();
    let old = Reading::steady(Micros::new(SECOND));
    table.decide(Plan::new(&ops).expect("a plan"), old, &mut (), &mut answers);
    let (verdict, decisions) = answers.plan(0);
    assert!(
        !verdict.expect("decided").allowed,
        "the last key is a second old at best"
    );
    assert!(
        decisions
            .iter()
            .all(|decision| decision.at == Micros::new(20 * SECOND))
    );
}

/// A state is over at an instant that others go by, and is cleaned up from elsewhere. A thread that read the
/// clock before that must not find the key unused at its old reading.
#[test]
fn what_others_cleaned_up_is_not_used_again_at_an_old_reading() {
    for quota in [
        bucket(1000, SECOND, 100),
        first(100, SECOND / 10),
        log(100, SECOND / 10),
    ] {
        let table = table(10_000, 64 << 20, Overflow::Share);
        let start = 1_000 * SECOND;
        let at = |us| Reading::steady(Micros::new(start + us));
        let hundred = Cost::new(100);
        let keys: Vec<[u8; 2]> = (0..1_000_u16).map(u16::to_le_bytes).collect();
        for key in &keys {
            assert!(allowed(&table.take(RULE, key, &quota, hundred, at(0))));
        }
        // One other key is in use, until nearly everything has been cleaned up.
        for us in 0..400_000 {
            table.take(RULE, b"other", &quota, Cost::ONE, at(SECOND + us));
        }
        assert!(table.stats().keys < 100);
        for (n, key) in keys.iter().enumerate() {
            let way = u64::try_from(n).unwrap();
            let late = take_of(&table, key, &quota, at(1), way);
            let clean = start + SECOND / 10;
            assert!(
                !allowed(&late) || late.at.get() >= clean,
                "a second hundred at {:?}: {quota:?}",
                late.at
            );
        }
    }
}
