//! `/v1/auth`: whom it believes, what it makes of what a gateway tells, what it answers.

use std::net::IpAddr;

use axum::body::Body;
use http::{Method, Request};
use jeton_server::api::{Caller, Reach};

use super::desk::{Answer, Desk};

const RULES: &str = r#"
[api]
listen = "127.0.0.1:0"
gateways = ["10.0.0.0/8"]

[client_ip]
header = "x-forwarded-for"
trusted = ["10.1.0.0/16"]

[lists]
block = ["192.0.2.66"]

[answer]
cors = { origins = ["https://app.example"] }

[[rule]]
name = "login"
match = { method = ["POST"], path = "/login", host = "api.example" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 2
window = "1m"

[[rule]]
name = "plans"
match = { path = "/plans" }
key = ["client-ip"]
algorithm = "fixed-window"
limit = 1
window = "1m"
plan = "header:x-plan"
plans = { pro = { limit = 5 } }

[[rule]]
name = "marked"
match = { path = "/marked" }
key = ["client-ip"]
algorithm = "fixed-window"
limit = 1
window = "1m"
mode = "mark"

[[rule]]
name = "slots"
match = { path = "/slots" }
key = ["client-ip"]
algorithm = "concurrency"
limit = 1
lease = "1s"
"#;

const GATEWAY: [u8; 4] = [10, 1, 0, 1];

struct Asked<'a> {
    desk: &'a Desk,
    caller: Option<Caller>,
    method: Method,
    target: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Asked<'a> {
    fn new(desk: &'a Desk, fields: &[(&'a str, &'a str)]) -> Self {
        let caller = Some(Caller::Tcp(IpAddr::from(GATEWAY)));
        let (method, target, fields) = (Method::GET, "/v1/auth", fields.to_vec());
        Self {
            desk,
            caller,
            method,
            target,
            fields,
        }
    }

    fn send(&self) -> Answer {
        let mut request = Request::builder().method(&self.method).uri(self.target);
        for (name, value) in &self.fields {
            request = request.header(*name, *value);
        }
        if let Some(caller) = self.caller {
            request = request.extension(caller);
        }
        self.desk
            .send(request.body(Body::empty()).expect("a request"))
    }
}

fn login(client: &str) -> Vec<(&str, &str)> {
    vec![
        ("host", "auth.internal"),
        ("x-forwarded-method", "POST"),
        ("x-forwarded-uri", "/login?next=%2F"),
        ("x-forwarded-host", "api.example"),
        ("x-forwarded-for", client),
    ]
}

#[test]
fn a_request_is_decided_by_what_the_gateway_tells_of_it() {
    let desk = Desk::new(RULES);
    let ask = |client| Asked::new(&desk, &login(client)).send();
    let first = ask("203.0.113.9");
    assert_eq!((first.status, first.text.as_str()), (204, ""));
    assert_eq!(first.field("ratelimit"), Some("\"login\";r=1;t=60"));
    assert_eq!(first.field("cache-control"), Some("no-store"));
    assert_eq!(
        ask("6.6.6.6, 203.0.113.9").status,
        204,
        "the rightmost is the gateway's word"
    );
    let denied = ask("203.0.113.9");
    assert_eq!(
        (denied.status, denied.field("retry-after")),
        (429, Some("60"))
    );
    assert_eq!(denied.field("ratelimit"), Some("\"login\";r=0;t=60"));
    assert_eq!(
        denied.body["violated-policies"],
        serde_json::json!(["login"])
    );
    assert_eq!(ask("203.0.113.10").status, 204);
}

#[test]
fn both_kinds_of_gateways_are_understood_and_any_method() {
    let desk = Desk::new(RULES);
    let original = [
        ("host", "api.example"),
        ("x-original-method", "POST"),
        ("x-original-uri", "/login"),
    ];
    let mut asked = Asked::new(&desk, &original);
    for (method, client) in [
        (Method::GET, "203.0.113.1"),
        (Method::POST, "203.0.113.2"),
        (Method::DELETE, "203.0.113.3"),
        (Method::OPTIONS, "203.0.113.4"),
        (Method::PATCH, "203.0.113.5"),
        (Method::HEAD, "203.0.113.6"),
    ] {
        asked.method = method;
        asked.fields.truncate(original.len());
        asked.fields.push(("x-forwarded-for", client));
        let statuses = [(); 3].map(|()| asked.send().status);
        assert_eq!(statuses, [204, 204, 429], "{}", asked.method);
    }
}

#[test]
fn a_denial_has_the_status_that_is_asked_for_and_the_words_the_client_reads() {
    let desk = Desk::new(RULES);
    let mut asked = Asked::new(&desk, &login("203.0.113.9"));
    (0..2).for_each(|_| assert_eq!(asked.send().status, 204));
    for (target, status) in [("/v1/auth?deny=403", 403), ("/v1/auth?deny=401", 401)] {
        asked.target = target;
        let denied = asked.send();
        assert_eq!(
            (denied.status, denied.field("retry-after")),
            (status, Some("60")),
            "{target}"
        );
        assert_eq!(
            (denied.text.as_str(), denied.field("content-type")),
            ("", None)
        );
    }
    asked.target = "/v1/auth?deny=429";
    asked.fields.push(("accept", "text/html"));
    asked.fields.push(("origin", "https://app.example"));
    let denied = asked.send();
    assert_eq!(denied.status, 429);
    assert!(
        denied.text.starts_with("429 Too Many Requests"),
        "{}",
        denied.text
    );
    assert_eq!(
        denied.field("access-control-allow-origin"),
        Some("https://app.example")
    );
    for target in ["/v1/auth?deny=500", "/v1/auth?deny=", "/v1/auth?deny=4e2"] {
        asked.target = target;
        let refused = asked.send();
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &"deny".into()),
            "{target}"
        );
    }
}

#[test]
fn who_is_no_gateway_is_not_believed() {
    let desk = Desk::reached(RULES, Reach::Network);
    let mut asked = Asked::new(&desk, &login("203.0.113.9"));
    for caller in [Some([127, 0, 0, 1]), Some([11, 0, 0, 1]), None] {
        asked.caller = caller.map(|address| Caller::Tcp(IpAddr::from(address)));
        let refused = asked.send();
        assert_eq!(refused.status, 400, "{caller:?}: {}", refused.text);
    }
    asked.caller = Some(Caller::Unix);
    assert_eq!(
        asked.send().status,
        204,
        "whoever may open the socket's file"
    );
    // Nobody is a gateway unless the policy says so.
    let desk = Desk::new(&RULES.replace("gateways = [\"10.0.0.0/8\"]\n", ""));
    assert_eq!(Asked::new(&desk, &login("203.0.113.9")).send().status, 400);
}

#[test]
fn what_is_missing_or_contradicted_is_named() {
    let desk = Desk::new(RULES);
    for (fields, field) in [
        (vec![], "x-forwarded-uri"),
        (vec![("x-forwarded-method", "GET")], "x-forwarded-uri"),
        (vec![("x-original-uri", "/")], "x-original-method"),
        (
            vec![
                ("x-forwarded-method", "GET"),
                ("x-forwarded-uri", "/"),
                ("x-original-uri", "/a"),
                ("x-original-method", "GET"),
            ],
            "x-forwarded-uri",
        ),
        (
            vec![
                ("x-forwarded-method", "GET"),
                ("x-forwarded-method", "POST"),
                ("x-forwarded-uri", "/"),
            ],
            "x-forwarded-method",
        ),
    ] {
        let refused = Asked::new(&desk, &fields).send();
        assert_eq!(
            (refused.status, &refused.body["field"]),
            (400, &field.into()),
            "{fields:?}"
        );
    }
}

#[test]
fn a_plan_is_believed_from_gateways_that_are_trusted_about_clients() {
    let desk = Desk::new(RULES);
    let fields = [
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/plans"),
        ("x-forwarded-for", "203.0.113.9"),
        ("x-plan", "pro"),
    ];
    let mut asked = Asked::new(&desk, &fields);
    assert_eq!(asked.send().field("ratelimit"), Some("\"plans\";r=4;t=60"));
    // A gateway, and not one of those that [client_ip] trusts.
    asked.caller = Some(Caller::Tcp(IpAddr::from([10, 2, 0, 1])));
    let other = asked.send();
    assert_eq!(other.field("ratelimit-policy"), Some("\"plans\";q=1;w=60"));
}

#[test]
fn rules_in_mode_mark_are_told_beside_the_pass() {
    let desk = Desk::new(RULES);
    let fields = [
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/marked"),
        ("x-forwarded-for", "203.0.113.9"),
    ];
    let asked = Asked::new(&desk, &fields);
    assert_eq!(asked.send().field("x-jeton-limited"), None);
    let marked = asked.send();
    assert_eq!(
        (marked.status, marked.field("x-jeton-limited")),
        (204, Some("marked"))
    );
}

#[test]
fn lists_deny_and_what_this_door_cannot_do_is_said() {
    let desk = Desk::new(RULES);
    assert_eq!(Asked::new(&desk, &login("192.0.2.66")).send().status, 403);
    let fields = [
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/slots"),
        ("x-forwarded-for", "203.0.113.9"),
    ];
    let refused = Asked::new(&desk, &fields).send();
    assert_eq!(refused.status, 503, "{}", refused.text);
}

/// Over a real connection, whose other end is the gateway.
#[test]
fn a_gateway_is_told_by_the_socket() {
    use crate::support::binary::Running;
    use crate::support::raw::exchange;
    let fields = "Host: api.example\r\nX-Forwarded-Method: POST\r\nX-Forwarded-Uri: /login\r\n\
                  X-Forwarded-For: 203.0.113.9\r\nOrigin: https://elsewhere.example\r\nConnection: close\r\n";
    let ask = |policy: &str| {
        let jeton = Running::serve(policy);
        let request = format!("GET /v1/auth?deny=403 HTTP/1.1\r\n{fields}\r\n");
        let answers = (0..3).map(|_| exchange(jeton.api_address(), &request).status());
        answers.collect::<Vec<_>>()
    };
    assert_eq!(ask(RULES), [400, 400, 400]);
    let local = RULES
        .replace("10.0.0.0/8", "127.0.0.0/8")
        .replace("10.1.0.0/16", "127.0.0.0/8");
    assert_eq!(
        ask(&local),
        [204, 204, 403],
        "whatever Host and Origin the client had"
    );
}
