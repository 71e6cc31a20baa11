//! The decision API, in the real binary, asked by curl and by raw sockets.

mod calls;
mod desk;
mod exposition;
mod field;
mod forward_auth;
mod guard;
mod openapi;
mod ops;
mod orders;
mod outage;
mod tokens;

use std::net::SocketAddr;

use serde_json::Value;

use crate::support::binary::Running;
use crate::support::raw::{Raw, Reply};

/// `jeton serve` with an API and these rules.
pub(crate) fn api(rules: &str) -> Running {
    Running::serve(&format!("[api]\nlisten = \"127.0.0.1:0\"\n{rules}"))
}

/// One call.
pub(crate) fn post(address: SocketAddr, target: &str, body: &str) -> Reply {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    Raw::connect(address).send(&request).read_to_end()
}

pub(crate) fn json(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).unwrap_or_else(|error| panic!("{error}: {}", reply.text))
}
