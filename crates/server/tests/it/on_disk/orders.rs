//! What operators have set outlasts the process.

use serde_json::json;

use super::{Data, HUNDRED, PATIENT, charge, left, stop};
use crate::support::binary::{command, stderr};
use crate::support::calls::{call, get, is_allowed, take};

#[test]
fn blocks_overrides_and_modes_hold_again_after_kill_9_and_after_a_stop() {
    for end in ["-KILL", "-TERM"] {
        let data = Data::new();
        // Written long before the span is over.
        let store = format!("sync = \"1h\"\n{PATIENT}");
        let other = HUNDRED.replace("\"user\"", "\"other\"");
        let rules = format!("{HUNDRED}{other}");
        let mut node = data.serve(&store, &rules);
        let api = format!("http://{}", node.api_address());
        let jeton = |arguments: &[&str]| {
            let output = command(arguments).args(["--api", &api]).output();
            let output = output.expect("jeton runs");
            assert!(output.status.success(), "{}", stderr(&output));
        };
        jeton(&["block", "user", "mallory"]);
        jeton(&["block", "user", "gone", "--for", "1h"]);
        jeton(&["unblock", "user", "gone"]);
        jeton(&["override", "user", "alice", "--limit", "500"]);
        call(
            &node,
            "/v1/block",
            &json!({ "rule": "user", "key": "spammer", "for": "1h" }),
        );
        let body = json!({ "mode": "shadow" }).to_string();
        let path = "/v1/modes/other";
        let reply = crate::support::raw::exchange(
            node.api_address(),
            &format!(
                "PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            ),
        );
        assert_eq!(reply.status(), 200, "{}", reply.text);
        node.signal(end);
        node.ends();

        let node = data.serve(&store, &rules);
        for key in ["mallory", "spammer"] {
            assert!(!is_allowed(&take(&node, "user", key)), "{key} after {end}");
        }
        assert!(is_allowed(&take(&node, "user", "gone")));
        assert_eq!(left(&node, "alice"), 500);
        assert!(is_allowed(&charge(&node, "alice", 400)));
        let rules = get(node.api_address(), "/v1/rules", "");
        assert!(
            rules.body().contains("\"mode\":\"shadow\""),
            "{}",
            rules.text
        );
        let api = format!("http://{}", node.api_address());
        let output = command(&["unblock", "user", "mallory", "--api", &api]).output();
        assert!(output.expect("jeton runs").status.success());
        assert!(is_allowed(&take(&node, "user", "mallory")));
        stop(node);
        let node = data.serve(&store, HUNDRED);
        assert_eq!((left(&node, "mallory"), left(&node, "alice")), (99, 100));
    }
}
