//! F32: the store dies, and the service does not.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use jeton_testkit::redis_server::{Server, Version};

use super::{HUNDRED, get, is_allowed, policy, post, remaining, take, with_proxy};
use crate::support::binary::Running;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;
use crate::support::{eventually, within_three_seconds};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const CLOSED: &str = r#"
[[rule]]
name = "closed"
match = { path = "/closed" }
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 100
window = "1h"
on_failure = "deny"
"#;

#[test]
fn f32_a_store_that_dies_is_told_and_comes_back() {
    let redis = Server::start(Version::V7_0, &[]);
    let upstream = Upstream::answering(OK);
    let rules = format!("{HUNDRED}{CLOSED}");
    let policy = policy(&redis.url(), "timeout = \"500ms\"", &rules);
    let node = Running::serve(&with_proxy(&policy, &upstream.url()));
    let ask = |path| get(node.proxy_address(), path, "X-User: k\r\n");
    let before = ask("/open");
    assert_eq!(before.status(), 200);
    assert!(before.field("ratelimit").is_some());
    assert_eq!(ask("/closed").status(), 200);

    redis.kill();
    for _ in 0..8 {
        let open = ask("/open");
        assert_eq!((open.status(), open.body()), (200, "ok"));
        assert_eq!(
            [open.field("ratelimit"), open.field("ratelimit-policy")],
            [None, None]
        );
        let closed = ask("/closed");
        assert_eq!(closed.status(), 503, "{}", closed.text);
        let retry: u64 = closed
            .field("retry-after")
            .expect("a wait")
            .parse()
            .expect("seconds");
        assert!(retry >= 1);
    }
    assert_eq!(node.metric("jeton_degraded "), 1);
    assert!(node.metric("jeton_degraded_decisions_total") >= 16);
    let errors = node.metric("jeton_store_errors_total{reason=\"unreachable\"}");
    assert!(errors >= 16, "{errors}");
    let ready = get(node.api_address(), "/readyz", "");
    assert_eq!(ready.status(), 200);
    assert!(
        ready
            .body()
            .contains("degraded: the store cannot be reached"),
        "{}",
        ready.body()
    );
    node.logs("the server cannot be reached");

    let _redis = Server::start_at(Version::V7_0, redis.socket());
    within_three_seconds("it decides again", || ask("/closed").status() == 200);
    within_three_seconds("limits are told again", || {
        ask("/open").field("ratelimit").is_some()
    });
    node.logs("the store answers again, after ");
    assert_eq!(node.metric("jeton_degraded "), 0);
    assert_eq!(get(node.api_address(), "/readyz", "").body(), "ready\n");
    let log = node.log();
    assert_eq!(log.matches("it is not asked for now").count(), 1, "{log}");
    let rules = "\"allow\" of rule user: requests pass unlimited; \"deny\" of rule closed";
    assert!(log.contains(rules), "{log}");
    assert_eq!(log.matches("ERROR").count(), 1, "{log}");
}

/// The store dies while the upstream is at work on what was charged, and to be settled.
#[test]
fn f32_a_response_is_delivered_though_its_store_is_gone() {
    let redis = Server::start(Version::V7_0, &[]);
    let (go_on, told) = mpsc::channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let upstream = Upstream::start(move |accepted| {
        while accepted.read_request().is_some() {
            let _ = told.lock().expect("one at a time").recv();
            accepted.write(OK);
        }
    });
    let rule = r#"
[[rule]]
name = "login"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 5
window = "1h"
count = { status = [200] }
on_failure = "deny"
"#;
    let policy = policy(&redis.url(), "timeout = \"500ms\"", rule);
    let mut node = Running::serve(&with_proxy(&policy, &upstream.url()));
    let mut client = Raw::connect(node.proxy_address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-User: k\r\nConnection: close\r\n\r\n");
    eventually("the upstream is at work", || !upstream.heads().is_empty());
    redis.kill();
    go_on.send(()).expect("it waits");
    let reply = client.read_to_end();
    assert_eq!(
        (reply.status(), reply.body()),
        (200, "ok"),
        "{}",
        reply.text
    );
    eventually("what was lost is told", || {
        node.metric("jeton_settle_lost_total") == 1
    });
    node.signal("-TERM");
    assert!(
        node.ends().success(),
        "it drains without its store: {}",
        node.log()
    );
}

/// A process that starts while its store is away serves, says so, and finds it when it comes.
#[test]
fn a_store_that_is_away_at_the_start_is_found_later() {
    let redis = Server::start(Version::V8_2, &[]);
    redis.kill();
    let policy = policy(&redis.url(), "timeout = \"500ms\"", HUNDRED);
    let start = Instant::now();
    let node = Running::serve(&policy);
    assert!(start.elapsed() < Duration::from_secs(4));
    node.logs("started without its store, redis at ");
    node.logs("until it answers on_failure = \"allow\": requests pass unlimited");
    assert!(is_allowed(&take(&node, "user", "k")));
    let reply = post(
        node.api_address(),
        "/v1/take",
        &serde_json::json!({ "rule": "user", "key": "k" }),
    );
    assert!(
        reply.body().contains("\"reason\":\"degraded\""),
        "{}",
        reply.text
    );
    eventually("it is told", || node.metric("jeton_degraded ") == 1);
    assert!(
        get(node.api_address(), "/readyz", "")
            .body()
            .contains("degraded")
    );
    thread::sleep(Duration::from_millis(700));
    assert!(!node.log().contains("answers again"), "{}", node.log());

    let _redis = Server::start_at(Version::V8_2, redis.socket());
    within_three_seconds("it decides", || {
        take(&node, "user", "k")["reason"].is_null()
    });
    assert_eq!(remaining(&take(&node, "user", "other")), 99);
    node.logs("the store answers again, after ");
    assert_eq!(node.log().matches("ERROR").count(), 1, "{}", node.log());
}
