//! A disk without room, and one that has it again.

use std::thread;
use std::time::{Duration, Instant};

use super::{Data, HUNDRED, left, stop};
use crate::support::binary::Running;
use crate::support::calls::{get, is_allowed, post, take};
use crate::support::{eventually, within_three_seconds};
use serde_json::json;

const CLOSED: &str = r#"
[[rule]]
name = "closed"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 1000
window = "1d"
on_failure = "deny"
"#;

/// Wherever somebody looks, it says that the disk is full.
fn is_told(node: &Running) {
    eventually("it is told", || node.metric("jeton_degraded ") == 1);
    let metrics = node.metrics();
    assert!(
        metrics.contains("jeton_disk_health{state=\"full\"} 1"),
        "{metrics}"
    );
    assert!(node.metric("jeton_store_errors_total{reason=\"cannot_persist\"}") >= 40);
    assert!(node.metric("jeton_disk_pending ") >= 1, "{metrics}");
    let ready = get(node.api_address(), "/readyz", "");
    assert_eq!(ready.status(), 200);
    let why = "degraded: the disk is full; make room (";
    assert!(ready.body().contains(why), "{}", ready.body());
    node.logs("the disk is full; make room (");
}

#[test]
fn a_full_disk_is_told_once_and_service_goes_on_when_there_is_room() {
    for sync in ["always", "200ms"] {
        let data = Data::new();
        let rules = format!("{HUNDRED}{CLOSED}");
        let store = format!("sync = \"{sync}\"\ntimeout = \"5s\"");
        let node = Running::serve(&data.policy(&store, &rules));
        let closed = || take(&node, "closed", "k");
        for _ in 0..10 {
            assert!(is_allowed(&take(&node, "user", "k")));
            assert!(is_allowed(&closed()));
        }
        eventually("it is written", || node.metric("jeton_disk_pending ") == 0);
        assert!(node.metrics().contains("jeton_disk_health{state=\"up\"} 1"));
        assert!(node.metric("jeton_disk_batches_total ") >= 1);
        assert!(node.metric("jeton_disk_bytes ") > 4096);

        node.limit_file_size(Some(4096));
        let mut charged = 0;
        eventually("it is noticed", || {
            let by_store = take(&node, "user", "k")["reason"].is_null();
            charged += u64::from(by_store);
            !is_allowed(&closed())
        });
        for _ in 0..20 {
            let open = take(&node, "user", "k");
            assert!(is_allowed(&open), "{open}");
            assert_eq!(open["reason"], "degraded", "{open}");
            let refused = closed();
            assert!(
                !is_allowed(&refused) && refused["reason"] == "degraded",
                "{refused}"
            );
        }
        is_told(&node);
        // What operators set could not be kept either.
        let block = json!({ "rule": "user", "key": "x" });
        assert_eq!(post(node.api_address(), "/v1/block", &block).status(), 503);

        node.limit_file_size(None);
        within_three_seconds("it decides again", || is_allowed(&closed()));
        within_three_seconds("it is told", || node.metric("jeton_degraded ") == 0);
        node.logs("the store answers again, after ");
        assert!(node.metrics().contains("jeton_disk_health{state=\"up\"} 1"));
        assert_eq!(get(node.api_address(), "/readyz", "").body(), "ready\n");
        thread::sleep(Duration::from_millis(600));
        let log = node.log();
        assert_eq!(log.matches("nothing more can be kept").count(), 1, "{log}");
        assert_eq!(log.matches("ERROR").count(), 1, "{log}");
        assert!(!log.contains("WARN"), "{log}");
        let rules = "\"allow\" of rule user: requests pass unlimited; \"deny\" of rule closed";
        assert!(log.contains(rules), "{log}");

        // What was decided while there was no room is there, and outlasts the process.
        let kept = left(&node, "k");
        // With "always", a charge that could not be answered may count.
        let least = u64::from(sync == "always");
        assert!(
            (90 - charged - least..=90 - charged).contains(&kept),
            "{kept}, {charged}"
        );
        let mut node = node;
        node.signal("-TERM");
        assert!(node.ends().success(), "{}", node.log());
        let node = data.serve("", HUNDRED);
        assert_eq!(left(&node, "k"), kept);
        stop(node);
    }
}

/// Whoever is told to stop while nothing can be written says so, and stops.
#[test]
fn a_stop_on_a_full_disk_says_what_is_lost() {
    let data = Data::new();
    let store = "sync = \"1h\"";
    let mut node = Running::serve(&data.policy(store, HUNDRED));
    assert!(is_allowed(&take(&node, "user", "k")));
    node.limit_file_size(Some(4096));
    node.signal("-TERM");
    let begun = Instant::now();
    assert!(node.ends().success(), "{}", node.log());
    assert!(begun.elapsed() < Duration::from_secs(3));
    node.logs("what was decided last could not be kept in /");
    // The folder is as it was before.
    let node = data.serve("", HUNDRED);
    assert_eq!(left(&node, "k"), 100);
}
