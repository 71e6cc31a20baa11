//! Many calls in one, to a server that is far away.

use std::time::{Duration, Instant};

use jeton_testkit::proxy::{Fault, Proxy};
use jeton_testkit::redis_server::Version;
use serde_json::{Value, json};

use super::{HUNDRED, PATIENT, call, policy, remaining};
use crate::support::binary::Running;

#[test]
fn a_batch_takes_a_few_round_trips_and_keeps_its_order() {
    const CALLS: u64 = 1_000;
    const ROUND_TRIP: Duration = Duration::from_millis(20);
    let proxy = Proxy::before(Version::V7_0.shared().socket());
    let store = format!("{PATIENT}\nprefix = \"batch:\"");
    let rules = HUNDRED.replace("limit = 100", "limit = 990");
    let node = Running::serve(&policy(&proxy.url(), &store, &rules));
    proxy.set(Fault::Slow(ROUND_TRIP));
    let one = json!({ "rule": "user", "key": "k" });
    let start = Instant::now();
    let answers = call(&node, "/v1/batch", &Value::from(vec![one; 1_000]));
    let took = start.elapsed();
    let answers = answers.as_array().expect("answers");
    assert_eq!(answers.len(), 1_000);
    for (number, answer) in (1..=CALLS).zip(answers) {
        assert_eq!(answer["allowed"], number <= 990, "{number}: {answer}");
        assert_eq!(
            remaining(answer),
            990_u64.saturating_sub(number),
            "{number}"
        );
    }
    let one_by_one = ROUND_TRIP * 1_000;
    assert!(took < one_by_one / 10, "{took:?}");
}

/// What an operator orders stands between what comes before and after it.
#[test]
fn orders_in_a_batch_stay_where_they_are() {
    let store = format!("{PATIENT}\nprefix = \"orders:\"");
    let node = Running::serve(&policy(&Version::V8_2.shared().url(), &store, HUNDRED));
    let of = |op: &str| json!({ "op": op, "rule": "user", "key": "k" });
    let ops = [
        "take", "take", "block", "take", "unblock", "take", "reset", "take",
    ];
    let calls: Vec<Value> = ops.iter().map(|op| of(op)).collect();
    let answers = call(&node, "/v1/batch", &calls.into());
    let left = |number: usize| remaining(&answers[number]);
    assert_eq!([left(0), left(1), left(5), left(7)], [99, 98, 97, 99]);
    assert_eq!(answers[3]["reason"], "blocked");
}
