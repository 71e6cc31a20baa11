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

use crate::support::calls::{call, get, is_allowed, post, remaining, take};

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
