//! Every op of the API: what it does, what it answers, what it refuses.

use http::Method;
use serde_json::{Value, json};

use super::desk::{Desk, MIN, S};

const RULES: &str = r#"
[client_ip]
header = "x-forwarded-for"
trusted = ["127.0.0.0/8"]

[[rule]]
name = "a"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/min"
burst = 10
plan = "header:x-plan"
plans = { pro = { burst = 50 }, staff = "unlimited", banned = "deny" }

[[rule]]
name = "log"
match = { path = "/log" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 4
window = "1h"
trial = { limit = 2 }

[[rule]]
name = "two"
match = { path = "/two" }
key = ["client-ip", "header:x-user"]
missing = "share"
algorithm = "fixed-window"
limit = 5
window = "1h"

[[rule]]
name = "slots"
match = { path = "/slots" }
key = ["client-ip"]
algorithm = "concurrency"
limit = 2
lease = "10s"

[[rule]]
name = "all"
match = { path = "/all" }
key = "global"
algorithm = "fixed-window"
limit = 100
window = "1h"
"#;

fn remaining(desk: &Desk, rule: &str, key: &Value) -> u64 {
    let look = desk.post("/v1/check", &json!({ "rule": rule, "key": key }));
    look.remaining()
}

#[test]
fn a_plan_is_told_and_the_units_owed_are_kept() {
    let desk = Desk::new(RULES);
    let take = |plan: &str, cost: u64| {
        let body = json!({ "rule": "a", "key": "k", "plan": plan, "cost": cost });
        desk.post("/v1/take", &body)
    };
    let pro = take("pro", 20);
    let decision = &pro.body["decisions"][0];
    assert_eq!(
        (&decision["plan"], &decision["limit"]),
        (&json!("pro"), &json!(50))
    );
    assert_eq!(pro.remaining(), 30);
    let own = desk.take("k", 1);
    assert_eq!(
        (own.allowed(), own.remaining()),
        (false, 0),
        "20 are owed, and 10 is all there is"
    );
    assert!(own.body["decisions"][0].get("plan").is_none());
    assert_eq!(take("staff", 1000).body["reason"], "unlimited");
    let banned = take("banned", 1);
    assert_eq!(
        (banned.allowed(), &banned.body["reason"]),
        (false, &json!("deny"))
    );
    assert_eq!(banned.body["rule"], "a");
    let charges = json!({ "charges": [{ "rule": "a", "key": "x", "plan": "pro", "cost": 2 }] });
    assert_eq!(desk.post("/v1/take", &charges).remaining(), 48);
    let request =
        json!({ "request": { "client_ip": "192.0.2.1", "headers": { "x-plan": "pro" } } });
    assert_eq!(
        desk.post("/v1/take", &request).body["decisions"][0]["plan"],
        "pro"
    );
}

#[test]
fn what_is_wrong_with_a_plan_is_named() {
    let desk = Desk::new(RULES);
    for (body, field) in [
        (json!({ "rule": "a", "key": "k", "plan": "gold" }), "plan"),
        (
            json!({ "rule": "two", "key": ["k", "u"], "plan": "pro" }),
            "plan",
        ),
        (
            json!({ "charges": [{ "rule": "a", "key": "k" }, { "rule": "a", "key": "j", "plan": "x" }] }),
            "charges[1].plan",
        ),
        (
            json!({ "charges": [{ "rule": "a", "key": "k" }, { "rule": "a", "key": "k", "plan": "pro" }] }),
            "charges[1].plan",
        ),
        (json!({ "request": {}, "plan": "pro" }), "plan"),
    ] {
        let refused = desk.post("/v1/take", &body);
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &json!(field)),
            "{body}"
        );
    }
}

#[test]
fn a_receipt_gives_back_exactly_its_charge() {
    let desk = Desk::new(RULES);
    let take = |cost: u64| {
        let body = json!({ "rule": "log", "key": "k", "cost": cost, "receipt": true });
        let answer = desk.post("/v1/take", &body);
        assert!(answer.allowed());
        answer.body["decisions"][0]["receipt"].clone()
    };
    let refund = |body: Value| desk.post("/v1/refund", &body);
    let first = desk
        .at(0)
        .post("/v1/take", &json!({ "rule": "log", "key": "k" }));
    assert!(
        first.body["decisions"][0].get("receipt").is_none(),
        "not asked for"
    );
    let old = {
        desk.at(10 * MIN);
        take(1)
    };
    desk.at(20 * MIN)
        .post("/v1/take", &json!({ "rule": "log", "key": "k" }));
    assert_eq!(remaining(&desk, "log", &json!("k")), 1);
    let body = json!({ "rule": "log", "key": "k", "receipt": old });
    assert_eq!(refund(body.clone()).remaining(), 2);
    assert_eq!(
        refund(body.clone()).remaining(),
        2,
        "a charge is given back once"
    );
    // What was given back is the one of minute 10: at 61 the first has left, that of 20 has not.
    assert_eq!(
        {
            desk.at(61 * MIN);
            remaining(&desk, "log", &json!("k"))
        },
        3
    );
    let part = take(3);
    let half = json!({ "rule": "log", "key": "k", "receipt": part, "cost": 2 });
    assert_eq!(refund(half).remaining(), 2);
    let late = json!({ "rule": "log", "key": "k", "receipt": part });
    assert_eq!(
        {
            desk.at(200 * MIN);
            refund(late).remaining()
        },
        4,
        "nothing once it is over"
    );
}

#[test]
fn what_is_wrong_with_a_receipt_is_named() {
    let desk = Desk::new(RULES);
    let body = json!({ "rule": "a", "key": "k", "receipt": true });
    let receipt = desk.post("/v1/take", &body).body["decisions"][0]["receipt"].clone();
    for (body, field) in [
        (
            json!({ "rule": "log", "key": "k", "receipt": receipt }),
            "receipt",
        ),
        (
            json!({ "rule": "a", "key": "k", "receipt": "nonsense" }),
            "receipt",
        ),
        (json!({ "receipt": receipt }), "receipt"),
        (
            json!({ "charges": [{ "rule": "log", "key": "k", "receipt": receipt }] }),
            "charges[0].receipt",
        ),
        (
            json!({ "charges": [{ "rule": "a", "key": "k", "receipt": "" }] }),
            "charges[0].receipt",
        ),
    ] {
        let refused = desk.post("/v1/refund", &body);
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &json!(field)),
            "{body}"
        );
    }
    assert_eq!(
        desk.post(
            "/v1/take",
            &json!({ "rule": "a", "key": "k", "receipt": receipt })
        )
        .status,
        400
    );
}

#[test]
fn a_trial_is_told_beside_its_rule_and_has_no_vote() {
    let desk = Desk::new(RULES);
    let body = json!({ "request": { "path": "/log", "client_ip": "192.0.2.1" } });
    let answers: Vec<_> = (0..3).map(|_| desk.post("/v1/take", &body)).collect();
    assert!(answers.iter().all(super::desk::Answer::allowed));
    let trials = answers.iter().map(|answer| {
        let decisions = answer.body["decisions"].as_array().expect("decisions");
        let trial = decisions
            .iter()
            .find(|decision| decision["mode"] == "trial")
            .expect("a trial");
        (trial["allowed"].clone(), trial["limit"].clone())
    });
    let expected = [(true, 2), (true, 2), (false, 2)].map(|(it, limit)| (json!(it), json!(limit)));
    assert!(trials.eq(expected));
}

#[test]
fn a_reservation_is_settled_once() {
    let desk = Desk::new(RULES);
    let body = json!({ "rule": "a", "key": "k", "cost": 6, "ttl": "5m" });
    let reserved = desk.post("/v1/reserve", &body);
    assert_eq!((reserved.allowed(), reserved.remaining()), (true, 4));
    assert_eq!(reserved.body["expires_after_ms"], 300_000);
    let handle = &reserved.body["handle"];
    for (ttl, expires) in [("1h", 3_600_000), ("5m", 300_000)] {
        let longer = desk.post("/v1/extend", &json!({ "handle": handle, "ttl": ttl }));
        assert_eq!(longer.body["expires_after_ms"], expires);
    }
    let as_made = desk.post("/v1/extend", &json!({ "handle": handle }));
    assert_eq!(as_made.body["expires_after_ms"], 300_000);
    let commit = json!({ "handle": handle, "actual": 2 });
    let done = desk.post("/v1/commit", &commit);
    assert_eq!((done.allowed(), done.remaining()), (true, 8));
    assert!(done.body.get("repeated").is_none() && done.body.get("expires_after_ms").is_none());
    for (verb, body) in [
        ("commit", commit),
        ("commit", json!({ "handle": handle, "actual": 6 })),
        ("cancel", json!({ "handle": handle })),
        ("extend", json!({ "handle": handle })),
    ] {
        let again = desk.post(&format!("/v1/{verb}"), &body);
        assert_eq!(
            (again.status, &again.body["repeated"]),
            (200, &json!(true)),
            "{verb}"
        );
        assert_eq!(remaining(&desk, "a", &json!("k")), 8);
    }
}

#[test]
fn what_costs_more_than_estimated_may_become_debt() {
    let desk = Desk::new(RULES);
    let reserved = desk.post(
        "/v1/reserve",
        &json!({ "rule": "a", "key": "k", "cost": 8 }),
    );
    let commit = json!({ "handle": reserved.body["handle"], "actual": 15 });
    assert_eq!(desk.post("/v1/commit", &commit).remaining(), 0);
    let denied = desk.take("k", 1);
    assert_eq!(
        denied.retry_after_ms(),
        Some(6 * 60_000),
        "5 owed and 1 asked for, at 1 a minute"
    );
}

#[test]
fn a_reservation_of_several_rules_is_one_step() {
    let desk = Desk::new(RULES);
    let request = json!({ "request": { "path": "/log", "client_ip": "192.0.2.1" }, "cost": 4 });
    let first = desk.post("/v1/reserve", &request);
    assert!(first.allowed());
    let second = desk.post("/v1/reserve", &request);
    assert!(!second.allowed());
    assert!(second.body.get("handle").is_none());
    let cancelled = desk.post("/v1/cancel", &json!({ "handle": first.body["handle"] }));
    let left = |name: &str| {
        let decisions = cancelled.body["decisions"].as_array().expect("decisions");
        let own = decisions
            .iter()
            .find(|it| it["rule"] == name && it["mode"] == "enforce");
        own.expect("a decision")["remaining"].as_u64()
    };
    assert_eq!((left("a"), left("log")), (Some(10), Some(4)));
}

#[test]
fn a_handle_is_over_when_its_time_is() {
    let desk = Desk::new(RULES);
    let reserved = desk.post(
        "/v1/reserve",
        &json!({ "rule": "a", "key": "k", "cost": 5, "ttl": "10s" }),
    );
    let extend = json!({ "handle": reserved.body["handle"], "ttl": "30s" });
    assert_eq!(desk.at(9 * S).post("/v1/extend", &extend).status, 200);
    let cancel = json!({ "handle": reserved.body["handle"] });
    let unknown = [
        cancel.clone(),
        json!({ "handle": "nonsense" }),
        json!({ "handle": "" }),
    ];
    for body in unknown {
        let refused = desk.at(39 * S).post("/v1/cancel", &body);
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (404, &json!("handle")),
            "{body}"
        );
    }
    assert_eq!(
        remaining(&desk, "a", &json!("k")),
        5,
        "what is not settled stays charged"
    );
    let late = desk.at(39 * S).post("/v1/extend", &extend);
    assert_eq!(late.status, 404);
}

#[test]
fn units_in_flight_are_reserved_kept_and_returned() {
    let desk = Desk::new(RULES);
    let slot = json!({ "rule": "slots", "key": "k" });
    for body in [
        slot.clone(),
        json!({ "charges": [{ "rule": "a", "key": "k" }, { "rule": "slots", "key": "k" }] }),
        json!({ "request": { "path": "/slots", "client_ip": "192.0.2.1" } }),
    ] {
        let refused = desk.post("/v1/take", &body);
        let detail = refused.body["detail"].as_str().expect("a detail");
        assert!(
            refused.status == 400 && detail.contains("reserve"),
            "{body}: {detail}"
        );
    }
    let first = desk.post("/v1/reserve", &slot);
    let second = desk.post("/v1/reserve", &slot);
    assert!(first.allowed() && second.allowed());
    let third = desk.post("/v1/reserve", &slot);
    assert_eq!(
        (third.allowed(), third.retry_after_ms()),
        (false, Some(1_000)),
        "advice"
    );
    let keep = json!({ "handle": first.body["handle"] });
    assert_eq!(desk.at(8 * S).post("/v1/extend", &keep).status, 200);
    // The second holder has been silent for a lease.
    assert_eq!(
        {
            desk.at(11 * S);
            remaining(&desk, "slots", &json!("k"))
        },
        1
    );
    assert_eq!(desk.post("/v1/cancel", &keep).remaining(), 2);
}

#[test]
fn a_reset_forgets_a_key_in_one_rule_or_everywhere() {
    let desk = Desk::new(RULES);
    let use_up = || {
        desk.take("k", 10);
        desk.post("/v1/take", &json!({ "rule": "log", "key": "k", "cost": 3 }));
        desk.post(
            "/v1/take",
            &json!({ "rule": "two", "key": ["k", "u"], "cost": 5 }),
        );
        desk.post("/v1/take", &json!({ "rule": "all", "cost": 7 }));
    };
    use_up();
    let one = desk.post("/v1/reset", &json!({ "rule": "a", "key": "k" }));
    assert_eq!((one.allowed(), one.remaining()), (true, 10));
    assert_eq!(remaining(&desk, "log", &json!("k")), 1);
    let everywhere = desk.post("/v1/reset", &json!({ "key": "k" }));
    let rules: Vec<&str> = everywhere.body["decisions"]
        .as_array()
        .expect("decisions")
        .iter()
        .filter(|it| it["mode"] == "enforce")
        .map(|it| it["rule"].as_str().expect("a name"))
        .collect();
    assert_eq!(rules, ["a", "log", "slots"]);
    assert_eq!(remaining(&desk, "log", &json!("k")), 4);
    assert_eq!(remaining(&desk, "two", &json!(["k", "u"])), 0);
    assert_eq!(
        remaining(&desk, "all", &json!([])),
        93,
        "nobody's key is everybody's"
    );
    desk.post("/v1/reset", &json!({ "key": ["k", "u"] }));
    assert_eq!(remaining(&desk, "two", &json!(["k", "u"])), 5);
    desk.post(
        "/v1/reset",
        &json!({ "request": { "path": "/all", "client_ip": "192.0.2.7" } }),
    );
    assert_eq!(remaining(&desk, "all", &json!([])), 100);
    let refused = desk.post("/v1/reset", &json!({ "key": ["a", "b", "c"] }));
    assert_eq!(
        (refused.status, &refused.body["field"]),
        (400, &json!("key"))
    );
}

#[test]
fn a_key_is_forgotten_in_more_rules_than_one_step_holds() {
    let quota = "algorithm = \"gcra\"\nrate = \"1/h\"\nburst = 5\n";
    let rules = (0..40).fold(String::new(), |rules, i| {
        let of = format!("[[rule]]\nname = \"r{i}\"\nmatch = {{ path = \"/{i}\" }}\n");
        rules + &of + "key = \"client-ip\"\n" + quota
    });
    let desk = Desk::new(&rules);
    for rule in ["r0", "r39"] {
        desk.post("/v1/take", &json!({ "rule": rule, "key": "k", "cost": 5 }));
    }
    let reset = desk.post("/v1/reset", &json!({ "key": "k" }));
    assert_eq!(reset.body["decisions"].as_array().map(Vec::len), Some(40));
    assert_eq!(
        (
            remaining(&desk, "r0", &json!("k")),
            remaining(&desk, "r39", &json!("k"))
        ),
        (5, 5)
    );
}

#[test]
fn a_block_holds_as_long_as_it_says() {
    let desk = Desk::new(RULES);
    let blocked = desk.post(
        "/v1/block",
        &json!({ "rule": "a", "key": "k", "for": "10s" }),
    );
    assert_eq!(
        (blocked.allowed(), &blocked.body["rules"]),
        (true, &json!(["a"]))
    );
    assert_eq!(blocked.body["key"], json!(["k"]));
    assert_eq!(blocked.body["expires_after_ms"], 10_000);
    let denied = desk.at(4 * S).take("k", 1);
    assert_eq!(
        (denied.allowed(), denied.retry_after_ms()),
        (false, Some(6_000))
    );
    assert_eq!(
        (&denied.body["reason"], &denied.body["rule"]),
        (&json!("blocked"), &json!("a"))
    );
    let as_denial = desk.post("/v1/take?deny=429", &json!({ "rule": "a", "key": "k" }));
    assert_eq!(
        (as_denial.status, as_denial.field("retry-after")),
        (429, Some("6"))
    );
    assert!(desk.take("other", 1).allowed());
    assert!(desk.at(10 * S).take("k", 1).allowed());
    let lasting = desk.post("/v1/block", &json!({ "key": "k" }));
    assert_eq!(lasting.body["rules"], json!(["a", "log", "slots"]));
    assert!(lasting.body.get("expires_after_ms").is_none());
    let denied = desk.take("k", 1);
    assert_eq!((denied.allowed(), denied.retry_after_ms()), (false, None));
    let shown = desk.get("/v1/blocks").body;
    assert_eq!(shown["blocks"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        shown["blocks"][0],
        json!({ "rule": "a", "key": ["k"], "expires_after_ms": null })
    );
    let lifted = desk.post("/v1/unblock", &json!({ "rule": "log", "key": "k" }));
    assert_eq!(lifted.body["rules"], json!(["log"]));
    let lifted = desk.post("/v1/unblock", &json!({ "key": "k" }));
    assert_eq!(
        lifted.body["rules"],
        json!(["a", "slots"]),
        "those that had one"
    );
    assert!(desk.take("k", 1).allowed());
    assert_eq!(desk.get("/v1/blocks").body, json!({ "blocks": [] }));
}

#[test]
fn what_is_wrong_with_an_order_is_named() {
    let desk = Desk::new(RULES);
    for (verb, body, field) in [
        ("block", json!({ "rule": "nobody", "key": "k" }), "rule"),
        ("block", json!({ "rule": "two", "key": "k" }), "key"),
        ("block", json!({ "rule": "a", "key": ["k", "l"] }), "key"),
        ("block", json!({ "key": ["a", "b", "c"] }), "key"),
        (
            "block",
            json!({ "rule": "a", "key": "k", "for": "soon" }),
            "for",
        ),
        (
            "block",
            json!({ "rule": "a", "key": "k", "for": "0s" }),
            "for",
        ),
        (
            "block",
            json!({ "rule": "a", "key": "k", "for": "20000d" }),
            "for",
        ),
        ("unblock", json!({ "rule": "nobody", "key": "k" }), "rule"),
        (
            "reserve",
            json!({ "rule": "a", "key": "k", "ttl": "999ms" }),
            "ttl",
        ),
        (
            "reserve",
            json!({ "rule": "a", "key": "k", "ttl": "8d" }),
            "ttl",
        ),
        ("reserve", json!({ "rule": "nobody", "key": "k" }), "rule"),
        ("extend", json!({ "handle": "h", "ttl": "1ms" }), "ttl"),
        ("commit", json!({ "handle": "h", "actual": -1 }), "actual"),
    ] {
        let refused = desk.post(&format!("/v1/{verb}"), &body);
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &json!(field)),
            "{verb} {body}"
        );
    }
}

#[test]
fn a_batch_is_carried_out_in_order_and_each_by_itself() {
    let desk = Desk::new(RULES);
    let calls = json!([
        { "rule": "a", "key": "k", "cost": 4 },
        { "op": "take", "rule": "nobody", "key": "k" },
        { "op": "check", "rule": "a", "key": "k" },
        { "op": "drop" },
        7,
        { "op": "cancel", "handle": "nonsense" },
        { "op": "refund", "rule": "a", "key": "k", "cost": 1 },
        { "op": "reserve", "rule": "slots", "key": "k" },
        { "op": "block", "rule": "a", "key": "k" },
        { "rule": "a", "key": "k" },
    ]);
    let answers = desk.post("/v1/batch", &calls).body;
    let statuses = |at: usize| answers[at]["status"].as_u64();
    let remaining = |at: usize| answers[at]["decisions"][0]["remaining"].as_u64();
    assert_eq!(answers.as_array().map(Vec::len), Some(10));
    assert_eq!(
        (remaining(0), remaining(2), remaining(6)),
        (Some(6), Some(6), Some(7))
    );
    assert_eq!(
        [1, 3, 4, 5].map(statuses),
        [Some(400), Some(400), Some(400), Some(404)]
    );
    assert_eq!(
        (&answers[1]["field"], &answers[3]["field"]),
        (&json!("rule"), &json!("op"))
    );
    assert!(answers[7]["handle"].is_string());
    assert_eq!(answers[9]["reason"], "blocked");
}

#[test]
fn a_batch_is_bounded() {
    let desk = Desk::new(RULES);
    let one = json!({ "op": "check", "rule": "a", "key": "k" });
    let many = Value::from(vec![one.clone(); 1000]);
    assert_eq!(
        desk.post("/v1/batch", &many).body.as_array().map(Vec::len),
        Some(1000)
    );
    for body in [
        Value::from(vec![one.clone(); 1001]),
        json!([]),
        json!({}),
        one,
        Value::Null,
    ] {
        assert_eq!(desk.post("/v1/batch", &body).status, 400);
    }
    let long = format!("[{{\"rule\":\"a\",\"key\":\"{}\"}}]", "k".repeat(1 << 20));
    assert_eq!(
        desk.call_as(None, Method::POST, "/v1/batch", &long).status,
        413
    );
    assert_eq!(
        desk.call_as(None, Method::POST, "/v1/batch?deny=429", "[{}]")
            .status,
        400
    );
    let long = format!("[{{\"rule\":\"a\",\"key\":\"{}\"}}]", "k".repeat(100_000));
    assert_eq!(
        desk.call_as(None, Method::POST, "/v1/batch", &long).status,
        200
    );
}

#[test]
fn a_store_that_is_full_takes_no_order() {
    let settings = jeton::Settings {
        max_memory_bytes: 256 << 10,
        ..jeton::Settings::default()
    };
    let table = jeton::Table::new(&settings).expect("a small table");
    let table = std::sync::Arc::new(table);
    let reach = jeton_server::api::Reach::Loopback;
    let desk = Desk::over(RULES, reach, std::sync::Arc::clone(&table) as _, table);
    let refused = (0..1000).map(|i| {
        desk.post(
            "/v1/block",
            &json!({ "rule": "a", "key": format!("{i:0>900}") }),
        )
    });
    let refused = refused
        .into_iter()
        .find(|answer| answer.status != 200)
        .expect("it is full some time");
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("max_memory"), "{}", refused.text);
}

#[test]
fn a_request_whose_cost_is_no_number_is_refused() {
    let desk = Desk::new(
        "[client_ip]\nheader = \"x-forwarded-for\"\ntrusted = [\"127.0.0.0/8\"]\n[[rule]]\nname = \"a\"\n\
         key = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\nburst = 10\ncost = \"header:x-cost\"\n",
    );
    let take = |cost: &str| {
        let request = json!({ "client_ip": "192.0.2.1", "headers": { "x-cost": cost } });
        desk.post("/v1/take", &json!({ "request": request }))
    };
    assert_eq!(take("3").remaining(), 7);
    let refused = take("many");
    assert_eq!(
        (refused.status, &refused.body["field"]),
        (400, &json!("request.headers"))
    );
}
