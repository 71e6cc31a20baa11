//! Calls of the decision API, each on a connection of its own.

use std::net::SocketAddr;

use serde_json::Value;

use super::binary::Running;
use super::raw::{Reply, exchange};

pub(crate) fn post(api: SocketAddr, path: &str, body: &Value) -> Reply {
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

pub(crate) fn get(address: SocketAddr, path: &str, fields: &str) -> Reply {
    let head = "Host: localhost\r\nConnection: close\r\n";
    exchange(
        address,
        &format!("GET {path} HTTP/1.1\r\n{head}{fields}\r\n"),
    )
}

/// What a call is answered.
pub(crate) fn call(node: &Running, path: &str, body: &Value) -> Value {
    let reply = post(node.api_address(), path, body);
    assert_eq!(reply.status(), 200, "{}", reply.text);
    serde_json::from_str(reply.body()).expect("JSON")
}

pub(crate) fn take(node: &Running, rule: &str, key: &str) -> Value {
    call(
        node,
        "/v1/take",
        &serde_json::json!({ "rule": rule, "key": key }),
    )
}

pub(crate) fn is_allowed(answer: &Value) -> bool {
    answer["allowed"].as_bool().expect("an answer")
}

pub(crate) fn remaining(answer: &Value) -> u64 {
    let remaining = answer["decisions"][0]["remaining"].as_u64();
    remaining.unwrap_or_else(|| panic!("no decision: {answer}"))
}
