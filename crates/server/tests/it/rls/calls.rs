//! `/json`, health over HTTP, metrics and the outage rule.

use super::{ask, json, serve};
use crate::support::curl;

const LIMITS: &str = "domain: d
descriptors:
  - { key: user, value_to_metric: true, metadata: { plan: gold }, rate_limit: { unit: day, requests_per_unit: 2, name: per-user } }
  - { key: free, rate_limit: { unlimited: true } }
";

#[test]
fn a_request_in_json_is_answered_as_the_reference_service_does() {
    let jeton = serve("dynamic_metadata = true\n", LIMITS);
    let (status, first) = ask(&jeton, "user", "anna");
    assert_eq!((status, &first["overallCode"]), (200, &"OK".into()));
    let own = &first["statuses"][0];
    let limit = serde_json::json!({"requestsPerUnit": 2, "unit": "DAY", "name": "per-user"});
    assert_eq!((&own["code"], &own["currentLimit"]), (&"OK".into(), &limit));
    assert_eq!(own["limitRemaining"], 1);
    let until = own["durationUntilReset"].as_str().expect("a duration");
    let seconds: u64 = until
        .strip_suffix('s')
        .and_then(|it| it.parse().ok())
        .expect("seconds");
    assert!((1..=86_400).contains(&seconds));
    assert_eq!(first["dynamicMetadata"]["metadata"]["plan"], "gold");
    assert_eq!(
        first["dynamicMetadata"]["descriptors"][0]["entries"][0],
        "user=anna"
    );
    ask(&jeton, "user", "anna");
    let (status, third) = ask(&jeton, "user", "anna");
    assert_eq!((status, &third["overallCode"]), (429, &"OVER_LIMIT".into()));
    let fields = third["responseHeadersToAdd"].as_array().expect("fields");
    let names: Vec<&str> = fields
        .iter()
        .filter_map(|field| field["key"].as_str())
        .collect();
    assert_eq!(names, ["ratelimit-policy", "ratelimit", "retry-after"]);
    let (_, free) = ask(&jeton, "free", "x");
    assert_eq!(free["statuses"][0]["limitRemaining"], u32::MAX);
    let (_, other) = ask(&jeton, "other", "x");
    assert_eq!(other["statuses"][0], serde_json::json!({"code": "OK"}));

    for (body, why) in [
        ("{}", "domain must not be empty"),
        (r#"{"domain": "d"}"#, "descriptors must not be empty"),
        (
            r#"{"domain": "d", "descriptors": [{"limits": {}}]}"#,
            "has no \"limits\"",
        ),
        (
            r#"{"domain": "d", "descriptors": [{"limit": {"unit": 9}}]}"#,
            "unit",
        ),
        ("domain: d", "no JSON"),
    ] {
        let (status, said) = json(&jeton, body);
        assert!(
            status == 400 && said.contains(why),
            "{body}: {status} {said}"
        );
    }
    let metrics = jeton.metrics();
    for line in [
        "jeton_descriptors_total{descriptor=\"d.user_anna\",outcome=\"within_limit\"} 2",
        "jeton_descriptors_total{descriptor=\"d.user_anna\",outcome=\"over_limit\"} 1",
        "jeton_decisions_total{rule=\"rls:d.user\",outcome=\"denied\"} 1",
        "jeton_door_in_flight{door=\"rls\"} 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[test]
fn metadata_of_all_that_passed_is_one_map() {
    let jeton = serve(
        "dynamic_metadata = true\n",
        "domain: d
descriptors:
  - { key: a, metadata: { plan: gold, team: { size: 3 } }, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: b, metadata: { plan: other, team: { name: x }, n: [1, two] }, rate_limit: { unit: week, requests_per_unit: 1 } }
  - { key: c, metadata: { never: shown }, rate_limit: { unit: day, requests_per_unit: 0 } }
",
    );
    let body = r#"{"domain":"d","hitsAddend":1,"descriptors":[{"entries":[{"key":"a","value":"1"}]},
        {"entries":[{"key":"b","value":"2"}],"hitsAddend":0},{"entries":[{"key":"c","value":""}]}]}"#;
    let (status, answer) = json(&jeton, body);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(status, 429);
    let told = &answer["dynamicMetadata"];
    let metadata = serde_json::json!({
        "plan": "gold", "team": { "size": 3.0, "name": "x" }, "n": [1.0, "two"],
    });
    assert_eq!(told["metadata"], metadata);
    assert_eq!(told["domain"], "d");
    assert_eq!(told["hitsAddend"], 1.0);
    assert_eq!(told["descriptors"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_fields_of_answers_follow_the_dialect() {
    let jeton = serve("[answer]\nheaders = \"none\"\n", LIMITS);
    let (_, answer) = ask(&jeton, "user", "anna");
    assert!(answer.get("responseHeadersToAdd").is_none(), "{answer}");
    let jeton = serve("[answer]\nheaders = \"draft-6\"\n", LIMITS);
    let (_, answer) = ask(&jeton, "user", "anna");
    let fields = answer["responseHeadersToAdd"].as_array().expect("fields");
    assert!(
        fields.iter().any(|field| field["key"] == "ratelimit-limit"),
        "{answer}"
    );
}

#[test]
fn other_paths_and_methods_are_told_so() {
    let jeton = serve("", LIMITS);
    let url = |path: &str| format!("http://{}{path}", jeton.rls_address());
    let status = |arguments: &[&str]| {
        curl(&[&["-o", "/dev/null", "-w", "%{http_code}"][..], arguments].concat())
    };
    assert_eq!(curl(&[&url("/healthcheck")]), "OK");
    assert_eq!(status(&[&url("/json")]), "405");
    assert_eq!(status(&[&url("/")]), "404");
    let long = format!(
        "@{}",
        jeton
            .folder()
            .file("long", &vec![b' '; 300 << 10])
            .display()
    );
    assert_eq!(status(&["--data-binary", &long, &url("/json")]), "400");
}

#[test]
fn a_process_that_is_told_to_stop_finishes_what_it_has() {
    let mut jeton = serve("", LIMITS);
    ask(&jeton, "user", "anna");
    jeton.signal("-TERM");
    assert!(jeton.ends().success());
}

#[test]
fn a_crowd_is_bounded_and_hurts_nobody_who_is_in() {
    use std::io::Read;
    use std::net::TcpStream;
    let jeton = serve("max_connections = 3\n", LIMITS);
    let connect = || TcpStream::connect(jeton.rls_address()).expect("a door");
    let held: Vec<TcpStream> = (0..2).map(|_| connect()).collect();
    assert_eq!(ask(&jeton, "user", "anna").0, 200);
    // One more than there is room for, while nobody has left.
    let third = connect();
    let mut fourth = connect();
    crate::support::eventually("the fourth is closed", || {
        jeton.metric("jeton_door_turned_away_total{door=\"rls\"}") >= 1
    });
    assert_eq!(fourth.read(&mut [0; 8]).unwrap_or(0), 0);
    drop((held, third));
    crate::support::eventually("there is room again", || {
        jeton.metric("jeton_door_connections{door=\"rls\"}") == 0
    });
    assert_eq!(ask(&jeton, "user", "anna").0, 200);
}

#[test]
fn of_two_descriptors_of_one_limit_fields_tell_the_one_that_matters_most() {
    let jeton = serve("", LIMITS);
    ask(&jeton, "user", "bert");
    let entry = |value: &str| format!(r#"{{"entries":[{{"key":"user","value":"{value}"}}]}}"#);
    let (anna, bert) = (entry("anna"), entry("bert"));
    let body = format!(r#"{{"domain":"d","descriptors":[{anna},{bert}]}}"#);
    let (status, answer) = json(&jeton, &body);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer.matches("rls:d.user\\\";r=").count(), 1, "{answer}");
    assert!(answer.contains("rls:d.user\\\";r=0"), "{answer}");
    assert_eq!(answer.matches("rls:d.user\\\";q=").count(), 1, "{answer}");
}
