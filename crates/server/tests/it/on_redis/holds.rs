//! What is held in the store while a response is out.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use jeton_testkit::redis_server::Version;

use super::{PATIENT, get, policy, with_proxy};
use crate::support::binary::Running;
use crate::support::eventually;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

/// One in flight on all nodes together, until its response has ended.
#[test]
fn what_is_in_flight_on_one_node_counts_on_the_other() {
    let (go_on, told) = mpsc::channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let upstream = Upstream::start(move |accepted| {
        while accepted.read_request().is_some() {
            let _ = told.lock().expect("one at a time").recv();
            accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let rule = r#"
[[rule]]
name = "at-once"
key = ["header:x-user"]
algorithm = "concurrency"
limit = 1
lease = "30s"
"#;
    let store = format!("{PATIENT}\nprefix = \"holds:\"");
    let policy = policy(&Version::V8_2.shared().url(), &store, rule);
    let policy = with_proxy(&policy, &upstream.url());
    let [mut one, other] = [Running::serve(&policy), Running::serve(&policy)];
    let mut client = Raw::connect(one.proxy_address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-User: k\r\nConnection: close\r\n\r\n");
    eventually("the upstream is at work", || !upstream.heads().is_empty());
    let denied = get(other.proxy_address(), "/", "X-User: k\r\n");
    assert_eq!(
        (denied.status(), denied.field("retry-after")),
        (429, Some("1"))
    );
    // A node that is stopped gives back what is still in flight before it ends.
    one.signal("-TERM");
    one.logs("finishing what is in flight");
    go_on.send(()).expect("it waits");
    assert_eq!(client.read_to_end().status(), 200);
    assert!(one.ends().success(), "{}", one.log());
    go_on.send(()).expect("it waits");
    let passed = get(other.proxy_address(), "/", "X-User: k\r\n");
    assert_eq!(passed.status(), 200, "{}", passed.text);
}
