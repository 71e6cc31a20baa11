//! Everything on a real Redis server: nodes that share it, and what becomes of them without it.

mod batch;
mod holds;
mod keys;
mod nodes;
mod outage;
mod plans;
mod reasons;
mod secrets;
mod simulate;
mod start;
mod told;

use std::net::SocketAddr;

use serde_json::Value;

use crate::support::binary::Running;
use crate::support::raw::{Reply, exchange};

/// Long enough for a machine that has much else to do.
const PATIENT: &str = "timeout = \"5s\"";

/// One counter per user: 100 in an hour.
const HUNDRED: &str = r#"
[[rule]]
name = "user"
key = ["header:x-user"]
algorithm = "fixed-window"
limit = 100
window = "1d"
anchor = "first-request"
"#;

/// A policy over the server at `url`, with an API.
fn policy(url: &str, store: &str, rules: &str) -> String {
    format!(
        "[api]\nlisten = \"127.0.0.1:0\"\n\n[store]\nkind = \"redis\"\nurl = \"{url}\"\n{store}\n{rules}"
    )
}

/// The same with a proxy before `upstream`.
fn with_proxy(policy: &str, upstream: &str) -> String {
    format!("[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\n\n{policy}")
}

fn post(api: SocketAddr, path: &str, body: &Value) -> Reply {
    let body = body.to_string();
    let length = body.len();
    exchange(
        api,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ),
    )
}

fn get(address: SocketAddr, path: &str, fields: &str) -> Reply {
    let head = "Host: localhost\r\nConnection: close\r\n";
    exchange(
        address,
        &format!("GET {path} HTTP/1.1\r\n{head}{fields}\r\n"),
    )
}

/// What a call is answered.
fn call(node: &Running, path: &str, body: &Value) -> Value {
    let reply = post(node.api_address(), path, body);
    assert_eq!(reply.status(), 200, "{}", reply.text);
    serde_json::from_str(reply.body()).expect("JSON")
}

fn take(node: &Running, rule: &str, key: &str) -> Value {
    call(
        node,
        "/v1/take",
        &serde_json::json!({ "rule": rule, "key": key }),
    )
}

fn is_allowed(answer: &Value) -> bool {
    answer["allowed"].as_bool().expect("an answer")
}

fn remaining(answer: &Value) -> u64 {
    let remaining = answer["decisions"][0]["remaining"].as_u64();
    remaining.unwrap_or_else(|| panic!("no decision: {answer}"))
}
