//! The same answers over the other stores: those of a server that nodes share, and those of a folder.

use jeton_testkit::redis_server::Version;
use serde_json::Value;

use super::{json, serve};
use crate::support::Folder;
use crate::support::binary::Running;

const LIMITS: &str = "domain: d
descriptors:
  - { key: user, rate_limit: { unit: year, requests_per_unit: 4 } }
  - { key: gold, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: team, quota_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
  - { key: watched, shadow_mode: true, rate_limit: { unit: year, requests_per_unit: 1 } }
";

/// Asks about keys: `=N` charges N, `-N` gives N back, `<N` brings a limit of N a year.
fn ask(jeton: &Running, keys: &[&str]) -> (u16, Vec<Value>) {
    let one = |key: &&str| {
        let at = key.find(['=', '-', '<']).unwrap_or(key.len());
        let (name, rest) = key.split_at(at);
        let more = match rest.split_at(rest.len().min(1)) {
            ("=", units) => format!(",\"hitsAddend\":{units}"),
            ("-", units) => format!(",\"hitsAddend\":{units},\"isNegativeHits\":true"),
            ("<", most) => format!(",\"limit\":{{\"requestsPerUnit\":{most},\"unit\":\"YEAR\"}}"),
            _ => String::new(),
        };
        format!(r#"{{"entries":[{{"key":"{name}","value":"x"}}]{more}}}"#)
    };
    let descriptors: Vec<String> = keys.iter().map(one).collect();
    let body = format!(
        r#"{{"domain":"d","descriptors":[{}]}}"#,
        descriptors.join(",")
    );
    let (status, answer) = json(jeton, &body);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let statuses = answer["statuses"].as_array().expect("statuses").clone();
    (status, statuses)
}

fn left(jeton: &Running, key: &str) -> u64 {
    let (_, statuses) = ask(jeton, &[&format!("{key}=0")]);
    statuses[0]["limitRemaining"].as_u64().unwrap_or(0)
}

/// What every store says; the two are one where they share it.
fn says_the_same(one: &Running, two: &Running) {
    assert_eq!(ask(one, &["user=3"]).0, 200);
    assert_eq!(left(two, "user"), 1);
    // More than there is, and what stands beside it, costs nothing.
    assert_eq!(ask(two, &["user=2", "watched"]).0, 429);
    assert_eq!((left(one, "user"), left(one, "watched")), (1, 1));
    assert_eq!(ask(one, &["user-2"]).0, 200);
    assert_eq!(left(two, "user"), 3);
    for _ in 0..2 {
        assert_eq!(ask(one, &["watched"]).0, 200);
    }
    // Another limit on the same counter.
    assert_eq!(ask(two, &["user<2"]).0, 200);
    assert_eq!(ask(two, &["user<2"]).0, 429);
    assert_eq!(left(two, "user"), 2);
    // Quotas refuse together, and what the others were charged goes back.
    assert_eq!(ask(one, &["gold", "team", "user"]).0, 200);
    let (status, statuses) = ask(two, &["gold", "team", "user"]);
    let codes: Vec<_> = statuses.iter().map(|one| one["code"].as_str()).collect();
    let over = Some("OVER_LIMIT");
    assert_eq!((status, codes), (429, vec![over, over, Some("OK")]));
    assert_eq!(statuses[2]["limitRemaining"], 1);
    assert_eq!((left(one, "user"), left(one, "gold")), (1, 0));
}

#[test]
fn nodes_that_share_a_server_share_its_counters() {
    for on_deny in ["keep", "charge"] {
        let store = format!(
            "on_deny = \"{on_deny}\"\n[store]\nkind = \"redis\"\nurl = \"{}\"\nprefix = \"rls-{on_deny}:\"\ntimeout = \"5s\"\n",
            Version::V7_0.shared().url()
        );
        let nodes = [serve(&store, LIMITS), serve(&store, LIMITS)];
        if on_deny == "keep" {
            says_the_same(&nodes[0], &nodes[1]);
            continue;
        }
        // The old way: each for itself, and what is denied empties its limit.
        assert_eq!(ask(&nodes[0], &["gold", "user"]).0, 200);
        assert_eq!(ask(&nodes[1], &["gold", "user"]).0, 429);
        assert_eq!(left(&nodes[0], "user"), 2);
        assert_eq!(ask(&nodes[1], &["user=3"]).0, 429);
        assert_eq!(left(&nodes[0], "user"), 0);
    }
}

#[test]
fn what_was_used_is_there_after_a_restart() {
    let data = Folder::new();
    let store = format!(
        "[store]\nkind = \"disk\"\npath = \"{}/states\"\nsync = \"always\"\ntimeout = \"5s\"\n",
        data.path().display()
    );
    let mut node = serve(&store, LIMITS);
    says_the_same(&node, &node);
    node.signal("-TERM");
    assert!(node.ends().success());
    drop(node);
    let node = serve(&store, LIMITS);
    assert_eq!((left(&node, "user"), left(&node, "watched")), (1, 0));
    assert_eq!(ask(&node, &["gold", "team"]).0, 429);
}
