//! What operators are told of a store that fails, and of clients whose keys are secret.

use serde_json::{Value, json};

use jeton_testkit::proxy::{Fault, Proxy, Refusal};
use jeton_testkit::redis_server::{Server, Version};

use super::{HUNDRED, PATIENT, get, policy, post, take};
use crate::support::Folder;
use crate::support::binary::{Running, jeton, stdout};
use crate::support::eventually;

const LOGGED: &str = r#"
[[rule]]
name = "logged"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 100
window = "1h"
"#;

fn is_degraded(answer: &Value) -> bool {
    answer["reason"] == "degraded"
}

fn warnings(node: &Running) -> Vec<String> {
    let log = node.log();
    let lines = log.lines().filter(|line| line.contains("WARN"));
    lines.map(str::to_owned).collect()
}

/// Probes pass, so that the breaker never opens for long.
#[test]
fn a_command_that_only_some_requests_need_is_missed_once_by_name() {
    let redis = Server::start(Version::V7_0, &[]);
    let set_user = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let _: String = redis.ask(&[&["ACL", "SETUSER", "limiter"], &words[..]].concat());
    };
    set_user("on >hunter2 ~jeton1:* +@all");
    let url = format!("{}?user=limiter&pass=hunter2", redis.url());
    let node = Running::serve(&policy(&url, PATIENT, &format!("{HUNDRED}{LOGGED}")));
    assert!(!is_degraded(&take(&node, "logged", "k")));
    set_user("-getrange");
    for _ in 0..4 {
        eventually("a decision is missing", || {
            is_degraded(&take(&node, "logged", "k"))
        });
        assert!(!is_degraded(&take(&node, "user", "k")));
    }
    node.logs("no answer about rule logged, so on_failure decided; it is still asked");
    std::thread::sleep(std::time::Duration::from_millis(600));
    let warnings = warnings(&node);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("does not let this user do what is needed"),
        "{warnings:?}"
    );
    assert!(!node.log().contains("ERROR"), "{}", node.log());
    let forbidden = "jeton_store_errors_total{reason=\"forbidden\"}";
    assert!(node.metric(forbidden) >= 4);
}

#[test]
fn a_foreign_value_is_told_with_where_to_look_for_it() {
    let redis = Server::start(Version::V8_2, &[]);
    let store = format!("{PATIENT}\nprefix = \"shop:\"");
    let node = Running::serve(&policy(&redis.url(), &store, &format!("{HUNDRED}{LOGGED}")));
    take(&node, "user", "k");
    let keys: Vec<String> = redis.ask(&["KEYS", "jeton1:shop:*"]);
    let [key] = keys.as_slice() else {
        panic!("{keys:?}");
    };
    take(&node, "logged", "k");
    let _: u64 = redis.ask(&["DEL", key]);
    let _: u64 = redis.ask(&["RPUSH", key, "somebody else's"]);
    for _ in 0..3 {
        assert!(is_degraded(&take(&node, "user", "k")));
    }
    node.logs("WARN");
    let warnings = warnings(&node);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("rule user"), "{warnings:?}");
    let pattern = warnings[0].split("--pattern '").nth(1).expect("a pattern");
    let pattern = pattern.split('\'').next().expect("its end");
    let found: Vec<String> = redis.ask(&["KEYS", pattern]);
    assert_eq!(found, keys);
}

#[test]
fn explain_says_what_an_outage_makes_of_a_request() {
    let redis = Server::start(Version::V7_0, &[]);
    let closed = LOGGED.replace("\"logged\"", "\"closed\"\non_failure = \"deny\"");
    let closed = closed + "match = { path = \"/closed\" }\n";
    let local = LOGGED.replace("\"logged\"", "\"local\"\non_failure = { local = 0.5 }");
    let local = local + "match = { path = \"/local\" }\n";
    let folder = Folder::new();
    let text = policy(&redis.url(), PATIENT, &format!("{HUNDRED}{closed}{local}"));
    let path = folder.file("jeton.toml", text.as_bytes());
    redis.kill();
    let explain = |request: &str| {
        let config = path.to_str().expect("a path");
        let field = "x-user: k";
        let words = ["--config", config, "--request", request, "--header", field];
        stdout(&jeton(&[&["explain"], &words[..]].concat()))
    };
    let open = explain("GET /");
    for words in [
        "ALLOWED: the store cannot be reached, and on_failure decides. Nothing was charged.",
        "user    passes uncharged (on_failure = allow)",
        "closed  not matched",
    ] {
        assert!(open.contains(words), "{words}: {open}");
    }
    let closed = explain("GET /closed");
    for words in [
        "DENIED: the store cannot be reached, and on_failure decides.",
        "user    would pass uncharged (on_failure = allow)",
        "closed  refuses (on_failure = deny)",
    ] {
        assert!(closed.contains(words), "{words}: {closed}");
    }
    let local = explain("GET /local");
    for words in [
        "ALLOWED: the store cannot be reached, and this process limits by itself.",
        "50 of 50 left",
        "without the store, by on_failure = { local = 0.5 }",
        "user    passes uncharged (on_failure = allow)",
    ] {
        assert!(local.contains(words), "{words}: {local}");
    }
}

#[test]
fn a_full_server_is_told_by_its_own_word() {
    let redis = Version::V7_0.shared();
    let proxy = Proxy::before(redis.socket());
    let store = format!("{PATIENT}\nprefix = \"full:\"");
    let node = Running::serve(&policy(&proxy.url(), &store, HUNDRED));
    proxy.set(Fault::Refuse(Refusal::OutOfMemory));
    let block = json!({ "rule": "user", "key": "k", "for": "1m" });
    let reply = post(node.api_address(), "/v1/block", &block);
    assert_eq!(reply.status(), 503, "{}", reply.text);
    assert!(
        reply.body().contains("raise `maxmemory` of its server"),
        "{}",
        reply.body()
    );
    assert!(!reply.body().contains("max_memory"), "{}", reply.body());
}

/// An operator follows one client from node to node.
#[test]
fn nodes_with_one_key_secret_show_a_secret_key_alike() {
    let redis = Version::V7_0.shared();
    let rules = HUNDRED.replace("limit = 100", "limit = 100\nsecret_key = true");
    let shown = |secret: &str| {
        let store = format!("{PATIENT}\nprefix = \"alike:\"\n{secret}");
        let node = Running::serve(&policy(&redis.url(), &store, &rules));
        let query = "/v1/explain?request=GET%20/&header=x-user:%20alice";
        let reply = get(node.api_address(), query, "");
        let explained: Value = serde_json::from_str(reply.body()).expect("JSON");
        let print = &explained["rules"][0]["speaks"]["key"][0]["fingerprint"];
        print.as_str().expect("a fingerprint").to_owned()
    };
    let [one, same, other] = ["one", "one", "another"].map(|secret| {
        shown(&format!(
            "key_secret = \"{secret} secret of 32 characters...\""
        ))
    });
    assert_eq!(one, same);
    assert_ne!(one, other);
    assert_ne!(shown(""), shown(""));
}
