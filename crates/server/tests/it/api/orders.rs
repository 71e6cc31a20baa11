//! Overrides and modes, set, seen and lifted.

use http::Method;
use serde_json::{Value, json};

use super::desk::{Desk, S};

const RULES: &str = r#"
[[rule]]
name = "a"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/min"
burst = 10

[[rule]]
name = "two"
match = { path = "/two" }
key = ["client-ip", "header:x-user"]
missing = "share"
algorithm = "fixed-window"
limit = 5
window = "1h"

[[rule]]
name = "secret"
match = { path = "/secret" }
key = ["header:authorization"]
missing = "share"
algorithm = "fixed-window"
limit = 5
window = "1h"
"#;

const ALICE: &str = "/v1/overrides/a/alice";

fn put(desk: &Desk, path: &str, settings: &Value) -> Value {
    let answer = desk.call(Method::PUT, path, settings);
    assert_eq!(answer.status, 200, "{path} {settings}: {}", answer.text);
    answer.body
}

#[test]
fn an_override_is_set_seen_and_lifted() {
    let desk = Desk::new(RULES);
    assert_eq!(desk.get(ALICE).status, 404);
    let settings = json!({ "rate": "50/s", "burst": 200, "for": "1h" });
    let set = json!({
        "rule": "a", "key": ["alice"], "rate": "50/s", "burst": 200, "expires_after_ms": 3_600_000,
        "allows": "50/s, bursts to 200"
    });
    assert_eq!(put(&desk, ALICE, &settings), set);
    assert_eq!(desk.get(ALICE).body, set);
    assert_eq!(
        desk.get("/v1/overrides").body,
        json!({ "overrides": [set] })
    );
    assert_eq!(desk.take("alice", 100).remaining(), 100);
    assert_eq!(desk.take("bob", 1).remaining(), 9);
    let lifted = desk.send(Desk::request(Method::DELETE, ALICE));
    assert_eq!((lifted.status, lifted.text.as_str()), (204, ""));
    assert_eq!(desk.send(Desk::request(Method::DELETE, ALICE)).status, 404);
    assert_eq!(desk.get("/v1/overrides").body, json!({ "overrides": [] }));
    let owed = desk.take("alice", 1);
    assert_eq!(
        (owed.allowed(), owed.remaining()),
        (false, 0),
        "what was used is kept"
    );
}

#[test]
fn an_override_ends_by_itself_and_a_new_one_replaces_it() {
    let desk = Desk::new(RULES);
    put(&desk, ALICE, &json!({ "limit": "deny", "for": "10s" }));
    let denied = desk.at(9 * S).take("alice", 1);
    assert_eq!(
        (&denied.body["reason"], &denied.body["rule"]),
        (&json!("deny"), &json!("a"))
    );
    assert!(desk.at(10 * S).take("alice", 1).allowed());
    assert_eq!(desk.get(ALICE).status, 404);
    put(&desk, ALICE, &json!({ "limit": "unlimited" }));
    let seen = put(&desk, ALICE, &json!({ "burst": 3 }));
    assert_eq!(
        seen,
        json!({
            "rule": "a", "key": ["alice"], "burst": 3, "expires_after_ms": null,
            "allows": "1/min, bursts to 3"
        })
    );
    assert_eq!(desk.take("alice", 0).body["decisions"][0]["limit"], 3);
}

#[test]
fn a_key_of_several_parts_is_an_array_and_any_text_is_a_key() {
    let desk = Desk::new(RULES);
    let path = "/v1/overrides/two/%5B%22192.0.2.1%22%2C%22alice%22%5D";
    let seen = put(&desk, path, &json!({ "limit": 7 }));
    assert_eq!(seen["key"], json!(["192.0.2.1", "alice"]));
    let body = json!({ "rule": "two", "key": ["192.0.2.1", "alice"] });
    assert_eq!(desk.post("/v1/take", &body).remaining(), 6);
    let seen = put(
        &desk,
        "/v1/overrides/a/%2Fx%20y%3F%22%C3%A4",
        &json!({ "burst": 2 }),
    );
    assert_eq!(seen["key"], json!(["/x y?\"ä"]));
    assert_eq!(desk.take("/x y?\"ä", 1).remaining(), 1);
    for key in ["alice", "%5B%22a%22%5D", "%5B1%2C2%5D", "%7B%7D"] {
        let refused = desk.get(&format!("/v1/overrides/two/{key}"));
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &json!("key")),
            "{key}"
        );
    }
    for key in ["%5B%5D", "%5B%22k1%22%2C%22k2%22%5D"] {
        let refused = desk.call(
            Method::PUT,
            &format!("/v1/overrides/a/{key}"),
            &json!({ "burst": 2 }),
        );
        let told = (refused.status, &refused.body["field"]);
        assert_eq!(told, (400, &json!("key")), "{key}: {}", refused.text);
        assert!(
            refused.text.contains("rule a counts by client-ip"),
            "{}",
            refused.text
        );
    }
    // So every text is a key, one that looks like an array too.
    let path = "/v1/overrides/a/%5B%22%5B%5C%22k1%5C%22%5D%22%5D";
    let seen = put(&desk, path, &json!({ "burst": 2 }));
    assert_eq!(seen["key"], json!(["[\"k1\"]"]));
    let refused = desk.get("/v1/overrides/a/%FF");
    assert_eq!(refused.status, 400, "{}", refused.text);
}

#[test]
fn secret_keys_are_shown_as_fingerprints() {
    let desk = Desk::new(RULES);
    let path = "/v1/overrides/secret/Bearer%20hunter2";
    let seen = put(&desk, path, &json!({ "limit": 7 }));
    let listed = desk.get("/v1/overrides");
    let key = json!({ "rule": "secret", "key": "Bearer hunter2" });
    let blocked = desk.post("/v1/block", &key);
    let blocks = desk.get("/v1/blocks");
    assert_eq!(blocked.body["key"], seen["key"]);
    let unblocked = desk.post("/v1/unblock", &key);
    // One secret rule among several makes a secret of it.
    let everywhere = desk.post("/v1/block", &json!({ "key": "Bearer hunter2" }));
    assert_eq!(everywhere.body["rules"], json!(["a", "secret"]));
    for text in [
        seen.to_string(),
        listed.text,
        blocks.text,
        blocked.text,
        unblocked.text,
        everywhere.text,
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert_eq!(
        seen["key"],
        desk.get(path).body["key"],
        "the same key the same way"
    );
}

#[test]
fn what_is_wrong_with_an_override_is_named() {
    let desk = Desk::new(RULES);
    for (path, settings, status, field) in [
        (ALICE, json!({}), 400, Value::Null),
        (ALICE, json!({ "for": "1h" }), 400, Value::Null),
        (ALICE, json!({ "burst": 0 }), 400, json!("burst")),
        (ALICE, json!({ "burst": "5" }), 400, json!("burst")),
        (ALICE, json!({ "burst": 5.5 }), 400, json!("burst")),
        (ALICE, json!({ "limit": "many" }), 400, json!("limit")),
        (ALICE, json!({ "limit": 5 }), 400, json!("limit")),
        (ALICE, json!({ "window": "1m" }), 400, json!("window")),
        (ALICE, json!({ "window": "soon" }), 400, json!("window")),
        (ALICE, json!({ "rate": "fast" }), 400, json!("rate")),
        (ALICE, json!({ "rate": "0/s" }), 400, json!("rate")),
        (
            ALICE,
            json!({ "burst": 5, "for": "soon" }),
            400,
            json!("for"),
        ),
        (
            ALICE,
            json!({ "burst": 5, "colour": 1 }),
            400,
            json!("colour"),
        ),
        (
            "/v1/overrides/two/%5B%22a%22%2C%22b%22%5D",
            json!({ "burst": 5 }),
            400,
            json!("burst"),
        ),
        (
            "/v1/overrides/two/%5B%22a%22%5D",
            json!({ "limit": 5 }),
            400,
            json!("key"),
        ),
        (
            "/v1/overrides/nobody/alice",
            json!({ "limit": 5 }),
            404,
            json!("rule"),
        ),
        ("/v1/overrides/a/", json!({ "burst": 5 }), 404, Value::Null),
    ] {
        let refused = desk.call(Method::PUT, path, &settings);
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (status, &field),
            "{path} {settings}: {}",
            refused.text
        );
    }
    assert_eq!(desk.get("/v1/overrides/nobody/alice").status, 404);
    assert_eq!(
        desk.send(Desk::request(Method::DELETE, "/v1/overrides/nobody/alice"))
            .status,
        404
    );
}

#[test]
fn a_mode_is_switched_and_put_back() {
    let desk = Desk::new(RULES);
    let mode = |word: &str| desk.call(Method::PUT, "/v1/modes/a", &json!({ "mode": word }));
    assert!(desk.take("k", 10).allowed());
    assert!(!desk.take("k", 1).allowed());
    let switched = mode("shadow").body;
    assert_eq!(
        switched,
        json!({ "rule": "a", "mode": "shadow", "policy_mode": "enforce" })
    );
    let passed = desk.take("k", 1);
    assert_eq!(
        (passed.allowed(), &passed.body["decisions"][0]["allowed"]),
        (true, &json!(false))
    );
    assert_eq!(passed.body["decisions"][0]["mode"], "shadow");
    mode("mark");
    assert_eq!(desk.take("k", 1).body["decisions"][0]["mode"], "mark");
    assert_eq!(desk.get("/v1/modes").body["modes"][0]["mode"], "mark");
    let lift = || {
        desk.send(Desk::request(Method::DELETE, "/v1/modes/a"))
            .status
    };
    assert_eq!((lift(), lift()), (204, 404));
    assert!(!desk.take("k", 1).allowed());
    assert_eq!(desk.get("/v1/modes").body, json!({ "modes": [] }));
    for (body, status) in [
        (json!({ "mode": "off" }), 400),
        (json!({}), 400),
        (json!({ "mode": null }), 400),
        (json!({ "mode": "mark", "for": "1h" }), 400),
    ] {
        assert_eq!(
            desk.call(Method::PUT, "/v1/modes/a", &body).status,
            status,
            "{body}"
        );
    }
    assert_eq!(
        desk.call(Method::PUT, "/v1/modes/nobody", &json!({ "mode": "mark" }))
            .status,
        404
    );
    assert_eq!(
        desk.send(Desk::request(Method::DELETE, "/v1/modes/nobody"))
            .status,
        404
    );
}

#[test]
fn what_is_explained_is_what_would_be_decided() {
    let desk = Desk::new(RULES);
    assert!(desk.take("192.0.2.1", 10).allowed());
    let explained = desk.get("/v1/explain?request=GET+%2F&ip=192.0.2.1");
    assert_eq!(
        (explained.status, &explained.body["allowed"]),
        (200, &json!(false))
    );
    assert_eq!(explained.body["denied_by"], json!(["a"]));
    let passes = desk.get("/v1/explain?request=GET+%2Ftwo&ip=192.0.2.2&header=x-user:+alice");
    assert_eq!(passes.body["allowed"], true);
    for query in [
        "",
        "?request=",
        "?request=GET+%2F&colour=1",
        "?request=GET+%2F&ip=here",
    ] {
        assert_eq!(
            desk.get(&format!("/v1/explain{query}")).status,
            400,
            "{query}"
        );
    }
}
