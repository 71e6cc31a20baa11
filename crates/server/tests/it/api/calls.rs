//! What is asked and what is answered.

use serde_json::{Value, json};

use super::{api, json as document, post};
use crate::support::curl;
use crate::support::raw::exchange;

const RULES: &str = r#"
[[rule]]
name = "api"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "3/s"
burst = 5

[[rule]]
name = "login"
match = { method = ["POST"], path = "/login" }
key = ["client-ip", "path"]
algorithm = "sliding-log"
limit = 2
window = "1m"
mode = "shadow"

[[rule]]
name = "banned"
match = { path = "/banned" }
limit = "deny"
"#;

#[test]
fn a_call_is_answered_with_the_line_of_simulate_in_milliseconds() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    let answer = post(
        address,
        "/v1/take",
        r#"{"rule":"api","key":"alice","cost":4}"#,
    );
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.field("content-type"), Some("application/json"));
    assert_eq!(answer.field("cache-control"), Some("no-store"));
    assert_eq!(
        answer.body(),
        "{\"allowed\":true,\"retry_after_ms\":null,\"impossible\":false,\"decisions\":[{\"rule\":\"api\",\
         \"allowed\":true,\"limit\":5,\"remaining\":1,\"reset_after_ms\":1334,\"retry_after_ms\":null,\
         \"mode\":\"enforce\"}]}",
        "4 units at 333.3 ms each, rounded up"
    );
    let denied = document(&post(
        address,
        "/v1/take",
        r#"{"rule":"api","key":"alice","cost":3}"#,
    ));
    assert_eq!(denied["allowed"], false);
    let wait = denied["retry_after_ms"].as_u64().expect("a wait");
    assert!((400..=667).contains(&wait), "{wait}");
    assert_eq!(denied["decisions"][0]["remaining"], 1);

    let look = document(&post(
        address,
        "/v1/check",
        r#"{"rule":"api","key":"alice","cost":1}"#,
    ));
    assert_eq!(
        (&look["allowed"], &look["decisions"][0]["remaining"]),
        (&true.into(), &1.into())
    );
    let again = document(&post(
        address,
        "/v1/check",
        r#"{"rule":"api","key":"alice","cost":1}"#,
    ));
    assert_eq!(
        again["decisions"][0]["remaining"], 1,
        "a look takes nothing"
    );
    let never = document(&post(
        address,
        "/v1/take",
        r#"{"rule":"api","key":"alice","cost":6}"#,
    ));
    assert_eq!(
        (&never["impossible"], &never["retry_after_ms"]),
        (&true.into(), &Value::Null)
    );
}

#[test]
fn requests_and_charges_are_decided_together() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    let request = r#"{"request":{"method":"POST","path":"//LOGIN","client_ip":"203.0.113.9"}}"#;
    let answer = document(&post(address, "/v1/take", request));
    let rules: Vec<&str> = answer["decisions"]
        .as_array()
        .expect("decisions")
        .iter()
        .map(|decision| decision["rule"].as_str().expect("a name"))
        .collect();
    assert_eq!(rules, ["api", "login"]);
    assert_eq!(answer["decisions"][1]["mode"], "shadow");
    // The same counters, named.
    let charges = r#"{"charges":[{"rule":"api","key":"203.0.113.9"},{"rule":"login","key":["203.0.113.9","/login"]}]}"#;
    let answer = document(&post(address, "/v1/check", charges));
    assert_eq!(answer["decisions"][0]["remaining"], 4);
    assert_eq!(answer["decisions"][1]["remaining"], 1);
    let banned = document(&post(
        address,
        "/v1/take",
        r#"{"request":{"path":"/banned"}}"#,
    ));
    assert_eq!(
        (&banned["allowed"], &banned["reason"], &banned["rule"]),
        (&false.into(), &"deny".into(), &"banned".into())
    );
}

#[test]
fn a_denial_can_have_the_status_and_the_fields_of_one() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    let body = r#"{"rule":"api","key":"alice","cost":5}"#;
    let passed = post(address, "/v1/take?deny=429", body);
    assert_eq!(
        (
            passed.status(),
            passed.field("ratelimit"),
            passed.field("retry-after")
        ),
        (200, None, None)
    );
    for target in ["/v1/take?deny=429", "/v1/check?deny=429"] {
        let denied = post(address, target, body);
        assert_eq!(denied.status(), 429);
        assert_eq!(denied.field("retry-after"), Some("2"));
        assert_eq!(denied.field("ratelimit-policy"), Some("\"api\";q=6;w=2"));
        assert_eq!(denied.field("ratelimit"), Some("\"api\";r=0;t=1"));
        assert_eq!(denied.field("cache-control"), Some("no-store"));
        assert_eq!(document(&denied)["allowed"], false);
    }
    let impossible = post(
        address,
        "/v1/take?deny=429",
        r#"{"rule":"api","key":"bob","cost":6}"#,
    );
    assert_eq!(
        (impossible.status(), impossible.field("retry-after")),
        (429, None)
    );
    let word = post(address, "/v1/take?deny=429", r#"{"rule":"banned"}"#);
    assert_eq!((word.status(), word.field("retry-after")), (429, None));
    assert_eq!(post(address, "/v1/take", body).status(), 200);
    for query in ["deny=403", "deny", "deni=429", "deny=429&x=1"] {
        let refused = post(address, &format!("/v1/take?{query}"), body);
        assert_eq!(refused.status(), 400, "{query}");
    }
}

#[test]
fn what_is_wrong_is_named_in_a_problem_document() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    for (body, field) in [
        (r#"{"rule":"api","key":"alice","cost":-1}"#, "cost"),
        (r#"{"rule":"api","key":"alice","cost":1.5}"#, "cost"),
        (r#"{"rule":"api","key":"alice","cost":"1"}"#, "cost"),
        (r#"{"rule":"nobody","key":"alice"}"#, "rule"),
        (r#"{"rule":"api","key":["a","b"]}"#, "key"),
        (r#"{"rule":"api","key":{}}"#, "key"),
        (
            r#"{"charges":[{"rule":"api","key":"a"},{"rule":"api","key":"b","cost":-1}]}"#,
            "charges[1].cost",
        ),
        (
            r#"{"charges":[{"rule":"api","key":"a"},{"rule":"no","key":"b"}]}"#,
            "charges[1].rule",
        ),
        (r#"{"request":{"client_ip":"here"}}"#, "request.client_ip"),
        (r#"{"rule":"api","key":"a","request":{}}"#, "request"),
        (r#"{"at_us":1,"rule":"api","key":"a"}"#, "at_us"),
        (r#"{"op":"reset","rule":"api","key":"a"}"#, "op"),
    ] {
        let refused = post(address, "/v1/take", body);
        assert_eq!(refused.status(), 400, "{body}");
        assert_eq!(
            refused.field("content-type"),
            Some("application/problem+json")
        );
        let problem = document(&refused);
        assert_eq!(
            (&problem["status"], &problem["field"]),
            (&400.into(), &field.into()),
            "{body}: {problem}"
        );
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|it| it.contains(field)),
            "{problem}"
        );
    }
    let told = jeton.metrics();
    assert!(
        told.contains("jeton_decisions_total{rule=\"api\",outcome=\"allowed\"} 0\n"),
        "{told}"
    );
}

#[test]
fn what_is_missing_is_named_with_what_to_write() {
    let jeton = api(RULES);
    for (body, said) in [
        (
            r#"{"rule":"api"}"#,
            "`key`: is missing; rule api counts by client-ip",
        ),
        (
            r#"{"rule":"apo","key":"a"}"#,
            "`rule`: no rule is named \"apo\"; did you mean \"api\"? GET /v1/rules lists them",
        ),
        (
            r#"{"charges":[{"rule":"nobody","key":"a"}]}"#,
            "`charges[0].rule`: no rule is named \"nobody\"; GET /v1/rules lists them",
        ),
        (
            r#"{"key":"a"}"#,
            "`key`: stands without `rule`; write whose key it is",
        ),
        ("{}", "nothing to charge is named"),
    ] {
        let refused = post(jeton.api_address(), "/v1/take", body);
        let problem = document(&refused);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|it| it.starts_with(said)),
            "{problem}"
        );
    }
}

#[test]
fn what_is_no_event_is_a_problem_too() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    for body in [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "{\"rule\":\"api\",\"key\":\"\u{1}\"}",
    ] {
        let refused = post(address, "/v1/take", body);
        assert_eq!(
            (refused.status(), document(&refused)["status"].clone()),
            (400, json!(400)),
            "{body}"
        );
    }
    let many: Vec<String> = (0..33)
        .map(|i| format!("{{\"rule\":\"api\",\"key\":\"{i}\"}}"))
        .collect();
    let refused = post(
        address,
        "/v1/take",
        &format!("{{\"charges\":[{}]}}", many.join(",")),
    );
    assert_eq!(
        (refused.status(), document(&refused)["field"].clone()),
        (400, json!("charges"))
    );
    let long = format!("{{\"rule\":\"api\",\"key\":\"{}\"}}", "a".repeat(70_000));
    let refused = post(address, "/v1/take", &long);
    assert_eq!(
        (refused.status(), document(&refused)["status"].clone()),
        (413, json!(413))
    );
}

#[test]
fn other_paths_and_methods_are_problems_too() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    for target in ["/", "/v1", "/v1/fetch", "/v1/take/"] {
        let refused = post(address, target, "{}");
        assert_eq!(
            (refused.status(), document(&refused)["status"].clone()),
            (404, json!(404)),
            "{target}"
        );
    }
    let host = format!("Host: {address}\r\nConnection: close\r\n\r\n");
    let refused = exchange(address, &format!("GET /v1/take HTTP/1.1\r\n{host}"));
    assert_eq!(
        (refused.status(), refused.field("allow")),
        (405, Some("POST"))
    );
    assert_eq!(document(&refused)["title"], "Method Not Allowed");
    let refused = exchange(address, &format!("DELETE /healthz HTTP/1.1\r\n{host}"));
    assert_eq!(
        (refused.status(), refused.field("allow")),
        (405, Some("GET,HEAD"))
    );
}

#[test]
fn the_rules_are_told_in_numbers_and_in_words() {
    let jeton = api(RULES);
    let rules: Value = serde_json::from_str(&curl(&[&format!(
        "http://{}/v1/rules",
        jeton.api_address()
    )]))
    .expect("JSON");
    assert_eq!(rules["generation"], 1);
    assert_eq!(
        rules["rules"][0],
        json!({
            "name": "api", "mode": "enforce", "key": ["client-ip"], "algorithm": "token-bucket",
            "rate_units": 3, "rate_per_us": 1_000_000, "burst": 5,
            "meaning": "3/s per address, bursts to 5", "scope": "", "missing": "",
            "settling": "", "plan": "",
            "worst_case": {
                "at_most": "at most 8 in any 1 s", "interval": "one per about 333.33 ms",
                "any_second": 8, "any_minute": 185
            }
        })
    );
    let login = &rules["rules"][1];
    assert_eq!(
        (&login["limit"], &login["window_us"], &login["mode"]),
        (&2.into(), &60_000_000.into(), &"shadow".into())
    );
    assert_eq!(login["scope"], "POST /login");
    assert_eq!(rules["rules"][2]["limit"], "deny");
}

#[test]
fn metrics_have_the_names_of_the_contract() {
    let jeton = api(RULES);
    let address = jeton.api_address();
    for _ in 0..7 {
        post(address, "/v1/take", r#"{"rule":"api","key":"alice"}"#);
    }
    post(address, "/v1/check", r#"{"rule":"api","key":"alice"}"#);
    post(address, "/v1/take", r#"{"rule":"banned"}"#);
    let url = format!("http://{address}/metrics");
    let content_type = curl(&["-o", "/dev/null", "-w", "%{content_type}", &url]);
    assert_eq!(
        content_type,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let metrics = jeton.metrics();
    for line in [
        "jeton_decisions_total{rule=\"api\",outcome=\"allowed\"} 5",
        "jeton_decisions_total{rule=\"api\",outcome=\"denied\"} 2",
        "jeton_decisions_total{rule=\"api\",outcome=\"withheld\"} 0",
        "jeton_decisions_total{rule=\"login\",outcome=\"shadow_denied\"} 0",
        "jeton_decisions_total{rule=\"banned\",outcome=\"denied\"} 1",
        "jeton_unmatched_total 0",
        "jeton_rule_limit{rule=\"api\"} 5",
        "jeton_rule_limit{rule=\"login\"} 2",
        "jeton_decision_seconds_count 9",
        "jeton_store_errors_total{reason=\"timeout\"} 0",
        "jeton_degraded 0",
        "jeton_keys 1",
        "jeton_overflow_total 0",
        "jeton_config_ok 1",
        "jeton_config_generation 1",
        &format!(
            "jeton_build_info{{version=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION")
        ),
        "# TYPE jeton_decision_seconds histogram",
        "# EOF",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}: {metrics}"
        );
    }
    assert!(!metrics.contains("alice"), "no label comes from a client");
}

#[test]
fn a_full_table_is_told_and_keys_in_use_stay() {
    let jeton = api(&format!("[store]\nmax_keys = 100\n{RULES}"));
    let address = jeton.api_address();
    let held = r#"{"rule":"login","key":["10.0.0.1","/login"]}"#;
    for _ in 0..2 {
        assert_eq!(
            document(&post(address, "/v1/take", held))["decisions"][0]["allowed"],
            true
        );
    }
    for i in 0..300 {
        post(
            address,
            "/v1/take",
            &format!("{{\"rule\":\"login\",\"key\":[\"k{i}\",\"/login\"]}}"),
        );
    }
    assert_eq!(
        document(&post(address, "/v1/check", held))["decisions"][0]["allowed"],
        false
    );
    assert!(jeton.metric("jeton_keys ") <= 100);
    assert!(jeton.metric("jeton_overflow_total ") >= 200);
    // Of an estimate nobody knows what is left to one key.
    let new = r#"{"rule":"login","key":["new","/login"]}"#;
    let estimated = document(&post(address, "/v1/check", new));
    let decision = &estimated["decisions"][0];
    assert_eq!(decision["approximate"], true, "{estimated}");
    assert!(decision["remaining"].is_null(), "{estimated}");
}
