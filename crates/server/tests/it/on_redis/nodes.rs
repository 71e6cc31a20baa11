//! Two processes, one store.

use std::thread;
use std::time::{Duration, Instant};

use jeton_testkit::redis_server::{Server, Version};
use serde_json::json;

use super::{HUNDRED, PATIENT, call, get, is_allowed, policy, post, remaining, take, with_proxy};
use crate::support::Folder;
use crate::support::binary::{Running, jeton, stderr, stdout};
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn two_nodes_share_a_limit_exactly() {
    for version in Version::ALL {
        let redis = Server::start(version, &[]);
        let upstream = Upstream::answering(OK);
        let policy = policy(&redis.url(), PATIENT, HUNDRED);
        let policy = with_proxy(&policy, &upstream.url());
        let nodes = [Running::serve(&policy), Running::serve(&policy)];
        let passed: usize = thread::scope(|scope| {
            let by_call = nodes.iter().map(|node| {
                scope.spawn(move || {
                    (0..40)
                        .filter(|_| is_allowed(&take(node, "user", "k")))
                        .count()
                })
            });
            let by_proxy = nodes.iter().map(|node| {
                let passes = |_: &u32| {
                    let reply = get(node.proxy_address(), "/", "X-User: k\r\n");
                    assert!([200, 429].contains(&reply.status()), "{}", reply.text);
                    reply.status() == 200
                };
                scope.spawn(move || (0..40).filter(passes).count())
            });
            let all: Vec<_> = by_call.chain(by_proxy).collect();
            all.into_iter()
                .map(|one| one.join().expect("it ends"))
                .sum()
        });
        assert_eq!(passed, 100, "{version:?}");
        for node in &nodes {
            assert_eq!(node.metric("jeton_degraded_decisions_total"), 0);
            assert_eq!(node.metric("jeton_store_disagreements_total"), 0);
            assert_eq!(node.metric("jeton_keys"), 0, "none of them here");
            assert!(
                node.metrics()
                    .contains("jeton_store_info{kind=\"redis\"} 1")
            );
            assert!(
                node.banner().contains("  store    redis at "),
                "{}",
                node.banner()
            );
        }
    }
}

/// Within a second, and the time that it takes to ask and to look.
fn within_a_second(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_millis(1_200), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_operators_set_holds_on_every_node_and_over_restarts() {
    let redis = Server::start(Version::V7_0, &[]);
    let policy = policy(&redis.url(), PATIENT, HUNDRED);
    let [mut one, mut other] = [Running::serve(&policy), Running::serve(&policy)];
    let mallory = json!({ "rule": "user", "key": "mallory" });
    assert!(is_allowed(&take(&other, "user", "mallory")));
    call(&one, "/v1/block", &mallory);
    within_a_second("a block", || {
        !is_allowed(&call(&other, "/v1/check", &mallory))
    });

    let api = format!("http://{}", one.api_address());
    let set = jeton(&["override", "user", "alice", "--limit", "5", "--api", &api]);
    let said = stdout(&set);
    assert_eq!(
        said.trim_end(),
        "alice in user: 5 per 1 day from the first request until it is lifted",
        "{}",
        stderr(&set)
    );
    within_a_second("an override", || {
        let seen = call(
            &other,
            "/v1/check",
            &json!({ "rule": "user", "key": "alice" }),
        );
        seen["decisions"][0]["limit"] == 5
    });
    assert_eq!(remaining(&take(&one, "user", "alice")), 4);

    for node in [&mut one, &mut other] {
        node.signal("-TERM");
        assert!(node.ends().success(), "{}", node.log());
    }
    let again = Running::serve(&policy);
    assert!(!is_allowed(&take(&again, "user", "mallory")), "at once");
    assert_eq!(remaining(&take(&again, "user", "alice")), 3);

    call(&again, "/v1/unblock", &mallory);
    assert_eq!(remaining(&take(&again, "user", "mallory")), 98);
}

#[test]
fn a_gateway_is_answered_by_the_same_counters() {
    let redis = Version::V7_0.shared();
    let store = format!("{PATIENT}\nprefix = \"gateway:\"");
    let rules = HUNDRED.replace("limit = 100", "limit = 2");
    let policy = policy(&redis.url(), &store, &rules).replace(
        "listen = \"127.0.0.1:0\"\n",
        "listen = \"127.0.0.1:0\"\ngateways = [\"127.0.0.1/32\"]\n",
    );
    let node = Running::serve(&policy);
    let fields = "X-Original-Method: GET\r\nX-Original-URI: /\r\nX-User: k\r\n";
    for status in [204, 204, 429] {
        let reply = get(node.api_address(), "/v1/auth", fields);
        assert_eq!(reply.status(), status, "{}", reply.text);
    }
    assert!(!is_allowed(&take(&node, "user", "k")));
}

#[test]
fn explain_reads_the_store_and_changes_nothing() {
    let redis = Server::start(Version::V8_2, &[]);
    let folder = Folder::new();
    let policy = policy(&redis.url(), PATIENT, HUNDRED);
    let path = folder.file("jeton.toml", policy.as_bytes());
    let path = path.to_str().expect("a path");
    let explain = || {
        let flags = [
            "--config",
            path,
            "--request",
            "GET /",
            "--header",
            "x-user: k",
        ];
        let output = jeton(&[&["explain"], &flags[..]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let said = explain();
    assert!(
        said.contains("100 of 100") && said.contains(", as the store has it"),
        "{said}"
    );
    assert_eq!(redis.ask::<u64>(&["DBSIZE"]), 0);

    let node = Running::serve(&policy);
    let three = json!({ "rule": "user", "key": "k", "cost": 3 });
    assert_eq!(post(node.api_address(), "/v1/take", &three).status(), 200);
    call(
        &node,
        "/v1/block",
        &json!({ "rule": "user", "key": "mallory" }),
    );
    let said = explain();
    assert!(said.contains("97 of 100"), "{said}");
    let flags = [
        "--config",
        path,
        "--request",
        "GET /",
        "--header",
        "x-user: mallory",
    ];
    let said = stdout(&jeton(&[&["explain"], &flags[..]].concat()));
    assert!(
        said.contains("DENIED") && said.contains("blocked"),
        "{said}"
    );

    redis.kill();
    let output = jeton(&[&["explain"], &flags[..]].concat());
    assert!(
        stderr(&output).contains("was not asked"),
        "{}",
        stderr(&output)
    );
    assert!(
        stdout(&output).contains("The store did not answer"),
        "{}",
        stdout(&output)
    );
}

/// What a process took ahead and has not spent, it gives back when it is stopped.
#[test]
fn a_lease_is_given_back_by_a_node_that_ends() {
    let redis = Server::start(Version::V7_0, &[]);
    let lease = format!("{PATIENT}\nlease = 20\nlease_for = \"1m\"");
    let mut one = Running::serve(&policy(&redis.url(), &lease, HUNDRED));
    let other = Running::serve(&policy(&redis.url(), PATIENT, HUNDRED));
    for _ in 0..5 {
        assert!(is_allowed(&take(&one, "user", "k")));
    }
    let left = || {
        remaining(&call(
            &other,
            "/v1/check",
            &json!({ "rule": "user", "key": "k" }),
        ))
    };
    assert!(left() < 95, "some are taken ahead");
    one.signal("-TERM");
    assert!(one.ends().success(), "{}", one.log());
    assert_eq!(left(), 95);
}
