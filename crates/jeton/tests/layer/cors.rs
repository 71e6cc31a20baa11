//! F53: what a script in a browser can read of a refusal.

use jeton::layer::RateLimitLayer;

use crate::support::{Server, curl, gate, peer};

const POLICY: &str = r#"
[answer]
cors = { origins = ["https://app.example"] }

[[rule]]
name      = "one"
key       = ["client-ip"]
algorithm = "sliding-log"
limit     = 1
window    = "1h"
"#;

#[test]
fn f53_scripts_of_the_origins_that_are_named_can_read_a_refusal() {
    let (server, _) = Server::axum(&RateLimitLayer::policy(gate(POLICY), peer));
    assert_eq!(curl(&[&server.url()]).statuses(), [200]);
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        let ask =
            |origin: &str| curl(&[version, "-H", &format!("origin: {origin}"), &server.url()]);
        let ours = ask("https://app.example");
        assert_eq!(ours.statuses(), [429]);
        let allowed = ours.field("access-control-allow-origin");
        assert_eq!(allowed, Some("https://app.example"));
        let exposed = ours.field("access-control-expose-headers");
        assert_eq!(exposed, Some("retry-after, ratelimit-policy, ratelimit"));
        assert_eq!(ours.field("vary"), Some("Origin"));
        let theirs = ask("https://evil.example");
        assert_eq!(theirs.field("access-control-allow-origin"), None);
        assert_eq!(theirs.field("vary"), Some("Origin"));
    }
}
