//! What a restart keeps: counts, reservations, and how long there is to wait.

use std::sync::Arc;

use jeton::disk::{DiskStore, Settings};
use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, Micros, NamedCharge, Verb};
use serde_json::json;

use super::{Data, HUNDRED, PATIENT, charge, left, stop};
use crate::support::calls::{call, get, is_allowed, take};

/// However long it could wait, what is told to stop writes first.
#[test]
fn sigterm_loses_nothing() {
    for sync in ["1s", "1h", "always"] {
        let data = Data::new();
        let store = format!("sync = \"{sync}\"\n{PATIENT}");
        let node = data.serve(&store, HUNDRED);
        let banner = node.banner();
        assert!(banner.contains("  store    disk at /"), "{banner}");
        node.logs(": 0 states; 0 more were over");
        assert!(node.metrics().contains("jeton_store_info{kind=\"disk\"} 1"));
        for key in ["a", "b"] {
            assert!(is_allowed(&charge(&node, key, 37)));
        }
        assert!(is_allowed(&charge(&node, "b", 63)));
        let reserved = call(
            &node,
            "/v1/reserve",
            &json!({ "rule": "user", "key": "a", "cost": 20 }),
        );
        stop(node);

        let node = data.serve(&store, HUNDRED);
        node.logs("read back from /");
        assert_eq!(node.metric("jeton_keys "), 3, "two logs and a reservation");
        assert_eq!((left(&node, "a"), left(&node, "b")), (43, 0), "{sync}");
        assert!(!is_allowed(&take(&node, "user", "b")));
        let committed = json!({ "handle": reserved["handle"], "actual": 5 });
        let committed = call(&node, "/v1/commit", &committed);
        assert!(is_allowed(&committed), "{committed}");
        assert_eq!(left(&node, "a"), 58);
        stop(node);
        let node = data.serve(&store, HUNDRED);
        assert_eq!(left(&node, "a"), 58);
    }
}

/// A clock that runs ahead and is put right while the process is down.
#[test]
fn a_clock_that_was_stepped_back_frees_nobody_and_blocks_nobody_for_ever() {
    let data = Data::new();
    let rule = r#"
[[rule]]
name = "user"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 2
window = "20min"
"#;
    let ahead = Micros::new(Clock::system().now().get() + 3_600_000_000);
    let source = Source::new("t", rule);
    let policy = Policy::load(&source, &NoReferences)
        .expect("a policy")
        .policy;
    let store = Arc::new(DiskStore::open(&Settings::new(data.path()), ahead).expect("a store"));
    let gate = Gate::new(policy, Arc::clone(&store) as _, Clock::fixed(ahead));
    for _ in 0..2 {
        let charge = NamedCharge::new("user", &["k"]);
        let deciding = gate.charge(Verb::Take, &[charge]).expect("a rule");
        assert!(deciding.now().expect("at once").allowed());
    }
    store.close().expect("kept");
    drop((gate, store));

    let node = data.serve("", rule);
    node.logs("the clock is 36");
    let answer = take(&node, "user", "k");
    assert!(!is_allowed(&answer), "{answer}");
    let wait_ms = answer["retry_after_ms"].as_u64().expect("a wait");
    assert!((1..=1_200_000).contains(&wait_ms), "{answer}");
    assert!(wait_ms > 1_100_000, "no time has passed: {answer}");
    assert!(is_allowed(&take(&node, "user", "other")));
}

#[test]
fn smaller_bounds_leave_keys_out_and_say_so() {
    let data = Data::new();
    let node = data.serve("sync = \"1h\"", HUNDRED);
    for key in 0..400 {
        charge(&node, &format!("k{key}"), 1);
    }
    stop(node);
    let node = data.serve("max_keys = 64\noverflow = \"deny\"", HUNDRED);
    node.logs("have no room under max_keys and max_memory");
    let log = node.log();
    let told = |before: &str, after: &str| -> u64 {
        let rest = log.split(before).nth(1).expect("a line");
        let number = rest
            .split(after)
            .next()
            .and_then(|text| text.rsplit(' ').next());
        number.and_then(|text| text.parse().ok()).expect("a number")
    };
    let kept = told("jeton-data: ", " states");
    assert!(kept <= 64, "{log}");
    let left_out = 400 - kept;
    assert!(log.contains(&format!("{left_out} states in ")), "{log}");
    assert_eq!(get(node.api_address(), "/readyz", "").body(), "ready\n");
    stop(node);
    // With the old bounds all of them are there again.
    let node = data.serve("", HUNDRED);
    node.logs("jeton-data: 400 states");
    assert_eq!(left(&node, "k0"), 99);
}
