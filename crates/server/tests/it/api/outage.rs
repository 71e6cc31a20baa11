//! A store that is away: what callers, probes and metrics are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use jeton::{
    Answers, Note, NoteEdit, Pending, Plan, Settings, Store, StoreError, StoreErrorKind, Submitted,
    Table, When, Written,
};
use jeton_server::api::Reach;
use serde_json::json;

use super::desk::{Answer, Desk};

/// A table that can be taken away.
struct Away {
    table: Table,
    is_away: AtomicBool,
}

const ERROR: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::No,
};

impl Store for Away {
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        if !self.is_away.load(SeqCst) {
            return self.table.submit(plans, when, out);
        }
        for _ in plans {
            out.push_failed(ERROR);
        }
        Submitted::Done
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        self.table.note(edit, when)
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.table.notes(when)
    }
}

fn desk(on_failure: &str) -> (Desk, Arc<Away>) {
    let rules = format!(
        "[[rule]]\nname = \"a\"\nkey = \"header:x-user\"\nalgorithm = \"fixed-window\"\nlimit = 4\n\
         window = \"1h\"\non_failure = {on_failure}\n"
    );
    let table = || Table::new(&Settings::default()).expect("a table");
    let store = Arc::new(Away {
        table: table(),
        is_away: AtomicBool::new(true),
    });
    let own = Arc::new(table());
    let desk = Desk::over(&rules, Reach::Loopback, Arc::clone(&store) as _, own);
    (desk, store)
}

fn has(metrics: &Answer, line: &str) {
    let is_there = metrics.text.lines().any(|found| found == line);
    assert!(is_there, "{line}: {}", metrics.text);
}

#[test]
fn f32_an_outage_is_told_to_callers_probes_and_metrics() {
    let (desk, store) = desk("\"allow\"");
    has(&desk.get("/metrics"), "jeton_degraded 0");
    for _ in 0..7 {
        let taken = desk.take("k", 1);
        assert!(taken.allowed());
        assert_eq!(taken.body["reason"], "degraded");
        assert_eq!(taken.body["degraded"], true);
        assert_eq!(taken.body["decisions"], json!([]));
    }
    let metrics = desk.get("/metrics");
    has(&metrics, "jeton_degraded 1");
    has(
        &metrics,
        "jeton_store_errors_total{reason=\"unreachable\"} 7",
    );
    has(&metrics, "jeton_degraded_decisions_total 7");
    let ready = desk.get("/readyz");
    assert_eq!(ready.status, 200);
    assert_eq!(
        ready.text,
        "ready\ndegraded: the store cannot be reached; on_failure decides\n"
    );

    store.is_away.store(false, SeqCst);
    desk.at(1_000_000);
    let taken = desk.take("k", 1);
    assert_eq!(
        (taken.remaining(), &taken.body["degraded"]),
        (3, &json!(null))
    );
    has(&desk.get("/metrics"), "jeton_degraded 0");
    assert_eq!(desk.get("/readyz").text, "ready\n");
}

#[test]
fn f32_a_refusal_without_a_store_is_503() {
    let (desk, _) = desk("\"deny\"");
    let call = json!({ "rule": "a", "key": "k" });
    let taken = desk.post("/v1/take?deny=429", &call);
    assert_eq!(taken.status, 503);
    assert_eq!(taken.headers["retry-after"], "1");
    assert!(taken.headers.get("ratelimit").is_none());
    for path in ["/v1/refund", "/v1/reset"] {
        assert_eq!(desk.post(path, &call).status, 503, "{path}");
    }
}

#[test]
fn a_share_is_told_with_its_own_limit() {
    let (desk, _) = desk("{ local = 0.5 }");
    let call = json!({ "rule": "a", "key": "k" });
    for (status, left) in [(200, 1), (200, 0), (429, 0)] {
        let taken = desk.post("/v1/take?deny=429", &call);
        assert_eq!((taken.status, taken.remaining()), (status, left));
        assert_eq!(taken.body["degraded"], true);
        assert_eq!(taken.body["decisions"][0]["limit"], 2);
        assert_eq!(taken.body.get("reason"), None);
    }
    let reserved = desk.post("/v1/reserve?deny=429", &call);
    assert_eq!(reserved.status, 503, "only the store could keep it");
}
