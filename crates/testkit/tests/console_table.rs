//! The playground's lesson, as the console prints it: the same traffic through every algorithm,
//! and the ruler laid over what passed.

use jeton_testkit::bound::{Passed, check, worst_in};
use jeton_testkit::model::{Act, Model, ModelQuota};

const SECOND: u64 = 1_000_000;
const NOON: u64 = 20_454 * 86_400 * SECOND + 43_200 * SECOND;

/// Fixed window, sliding log, sliding counter, token bucket: the columns of the table.
fn algorithms(limit: u64, window_us: u64) -> [ModelQuota; 4] {
    [
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: true,
        },
        ModelQuota::SlidingLog { limit, window_us },
        ModelQuota::SlidingCounter { limit, window_us },
        ModelQuota::Bucket {
            units: limit,
            per_us: window_us,
            burst: limit,
        },
    ]
}

fn passing(quota: &ModelQuota, asked_at: &[u64]) -> Vec<Passed> {
    let mut model = Model::default();
    let passed: Vec<Passed> = asked_at
        .iter()
        .filter(|&&at_us| model.act(quota, &Act::Take { cost: 1 }, at_us).allowed())
        .map(|&at_us| Passed::new(at_us, 1))
        .collect();
    assert_eq!(check(quota, &passed), Ok(()), "{quota:?}");
    passed
}

#[test]
fn edge_60_passes_120_60_60_61() {
    let mut asked_at = vec![NOON + 59 * SECOND; 60];
    asked_at.extend(vec![NOON + 60 * SECOND; 60]);
    let passed = algorithms(60, 60 * SECOND).map(|quota| passing(&quota, &asked_at).len());
    assert_eq!(passed, [120, 60, 60, 61]);
}

#[test]
fn edge_passes_18_13_16_18_and_the_ruler_tells_them_apart() {
    let tenth = SECOND / 10;
    let first = (0..6).map(|step| 90 * tenth + step * tenth);
    let second = (0..6).map(|step| 101 * tenth + step * tenth);
    let then = (0..19).map(|step| 113 * tenth + step * SECOND);
    let asked_at: Vec<u64> = first
        .chain(second)
        .chain(then)
        .map(|at_us| NOON + at_us)
        .collect();
    assert_eq!(asked_at.len(), 31);

    let table = algorithms(6, 10 * SECOND).map(|quota| {
        let passed = passing(&quota, &asked_at);
        (
            passed.len(),
            worst_in(2 * SECOND, &passed),
            worst_in(10 * SECOND, &passed),
        )
    });
    assert_eq!(table, [(18, 12, 12), (13, 6, 6), (16, 6, 10), (18, 6, 11)]);
}
