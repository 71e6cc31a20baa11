//! `jeton explain` and `/v1/explain` about descriptors; `jeton check` and `/v1/rules` about their limits.

use serde_json::Value;

use super::{ask, serve};
use crate::support::binary::{Running, jeton, jeton_in, stderr, stdout};
use crate::support::curl;

const LIMITS: &str = "domain: d
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: user, value: root, rate_limit: { unlimited: true } }
  - key: type
    value: mail
    descriptors: [{ key: to, rate_limit: { unit: day, requests_per_unit: 1 } }]
";
const RULE: &str = "[[rule]]\nname = \"all\"\nkey = [\"descriptor:user\"]\nalgorithm = \"gcra\"\nrate = \"5/min\"\n";

fn get(jeton: &Running, path: &str) -> Value {
    let answer = curl(&[&format!("http://{}{path}", jeton.api_address())]);
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn descriptors_are_explained_as_they_would_be_decided_and_charge_nothing() {
    let jeton_ = serve(RULE, LIMITS);
    ask(&jeton_, "user", "anna");
    let url = format!("http://{}", jeton_.api_address());
    let flags = ["--domain", "d", "--descriptor", "user=anna"];
    let explain = || stdout(&jeton(&[&["explain", "--api", &url], &flags[..]].concat()));
    let told = explain();
    for line in [
        "ALLOWED.",
        "● all                 4 of 5 left  key anna  takes 1",
        "● rls:d.user          1 of 2 left  key anna  takes 1; 2 per UTC day",
        "– rls:d.user_root     not matched: no descriptor is (user=root)",
        "no descriptor is (type=mail, to=*)",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert_eq!(explain().lines().nth(1), told.lines().nth(1));
    // Nothing was charged, and nothing counted.
    let metrics = curl(&[&format!("{url}/metrics")]);
    assert!(
        metrics.contains("jeton_decisions_total{rule=\"rls:d.user\",outcome=\"allowed\"} 1\n"),
        "{metrics}"
    );
    ask(&jeton_, "user", "anna");
    let told = get(&jeton_, "/v1/explain?domain=d&descriptor=user%3Danna");
    assert_eq!(told["denied_by"][0], "rls:d.user");
    assert_eq!(told["client"]["status"], 429);
    assert_eq!(ask(&jeton_, "user", "anna").0, 429);
    let wrong = curl(&["-i", &format!("{url}/v1/explain?domain=d")]);
    assert!(
        wrong.contains("400") && wrong.contains("descriptor"),
        "{wrong}"
    );
}

#[test]
fn without_a_process_the_files_beside_the_policy_are_asked() {
    let folder = crate::support::Folder::new();
    std::fs::create_dir(folder.path().join("limits")).expect("a folder");
    folder.file("limits/a.yaml", LIMITS.as_bytes());
    folder.file(
        "jeton.toml",
        b"[rls]\nlisten = \"127.0.0.1:0\"\nenvoy_config = \"limits\"\n",
    );
    let run = |flags: &[&str]| jeton_in(folder.path(), &[&["explain"], flags].concat(), "");
    let told = run(&["--domain", "d", "--descriptor", "type=mail,to=+49"]);
    let text = stdout(&told);
    assert!(
        text.contains("● rls:d.type_mail.to  1 of 1 left  key +49  takes 1"),
        "{text}"
    );
    let elsewhere = stdout(&run(&["--domain", "e", "--descriptor", "user=a"]));
    assert!(
        elsewhere.contains("ALLOWED: no rule matches") && elsewhere.contains("domain is not d"),
        "{elsewhere}"
    );
    let beside = run(&[
        "--domain",
        "d",
        "--descriptor",
        "user=a",
        "--ip",
        "192.0.2.7",
    ]);
    assert_eq!(beside.status.code(), Some(2));
    assert!(
        stderr(&beside).contains("remote_address=192.0.2.7"),
        "{}",
        stderr(&beside)
    );

    let checked = stdout(&jeton_in(folder.path(), &["check"], ""));
    for words in [
        "jeton.toml: 3 rules",
        "for descriptors (type=mail, to=*) of the domain",
    ] {
        assert!(checked.contains(words), "{words}: {checked}");
    }
    assert!(!checked.contains("counter together"), "{checked}");
    assert!(!checked.contains("limits of requests"), "{checked}");
    let json = stdout(&jeton_in(folder.path(), &["check", "--json"], ""));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rules = json["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 3);
    assert_eq!(rules[0]["scope"], "descriptors (user=*) of the domain d");
    assert_eq!(rules[0]["missing"], "");
}

#[test]
fn rules_by_domain_are_asked_through_the_api_as_well() {
    let rule = RULE.replace("[[rule]]\n", "[[rule]]\nmatch = { domain = \"d\" }\n");
    let jeton = serve(&rule, LIMITS);
    let take = |domain: &str| -> Value {
        let body = format!(
            r#"{{"request": {{"domain": "{domain}", "descriptors": {{"user": "anna"}}}}}}"#
        );
        let url = format!("http://{}/v1/check", jeton.api_address());
        let json = "content-type: application/json";
        serde_json::from_str(&curl(&["-H", json, "-d", &body, &url])).expect("JSON")
    };
    assert_eq!(take("d")["decisions"][0]["rule"], "all");
    assert_eq!(take("e")["reason"], "unmatched");
    let rules = get(&jeton, "/v1/rules");
    let names: Vec<&str> = rules["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(|rule| rule["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["all", "rls:d.user", "rls:d.user_root", "rls:d.type_mail.to"]
    );
}
