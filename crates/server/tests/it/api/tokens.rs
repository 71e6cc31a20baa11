//! Who may call what: every route, with every token.

use http::Method;
use jeton_server::api::Reach;

use super::desk::Desk;

const RULE: &str = "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\n\
                    burst = 1000\n";

const USER: &str = "token = \"user-token\"\n";
const ADMIN: &str = "admin_token = \"admin-token\"\n";

/// What each kind of route is answered with, with no token and with each of the two.
struct Kind {
    routes: &'static [(&'static str, &'static str, &'static str)],
    without: u16,
    user: u16,
    admin: u16,
}

const OPEN: &[(&str, &str, &str)] = &[
    ("GET", "/healthz", ""),
    ("GET", "/readyz", ""),
    ("GET", "/openapi.json", ""),
];

const USE: &[(&str, &str, &str)] = &[
    ("POST", "/v1/take", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/check", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/refund", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/reserve", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/batch", r#"[{"rule":"a","key":"k"}]"#),
];

const SETTLE: &[(&str, &str, &str)] = &[
    ("POST", "/v1/extend", r#"{"handle":"h"}"#),
    ("POST", "/v1/commit", r#"{"handle":"h","actual":1}"#),
    ("POST", "/v1/cancel", r#"{"handle":"h"}"#),
];

const READ: &[(&str, &str, &str)] = &[
    ("GET", "/v1/rules", ""),
    ("GET", "/v1/explain?request=GET+%2F", ""),
    ("GET", "/v1/blocks", ""),
    ("GET", "/v1/overrides", ""),
    ("GET", "/v1/modes", ""),
    ("HEAD", "/v1/rules", ""),
];

const OPERATE: &[(&str, &str, &str)] = &[
    ("POST", "/v1/reset", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/block", r#"{"rule":"a","key":"k"}"#),
    ("POST", "/v1/unblock", r#"{"rule":"a","key":"k"}"#),
    ("PUT", "/v1/overrides/a/k", r#"{"burst":5}"#),
    ("PUT", "/v1/modes/a", r#"{"mode":"shadow"}"#),
];

const LIFT: &[(&str, &str, &str)] = &[
    ("DELETE", "/v1/overrides/a/k", ""),
    ("DELETE", "/v1/modes/a", ""),
];

fn holds(api: &str, reach: Reach, kinds: &[Kind]) {
    let desk = Desk::reached(
        &format!("[api]\nlisten = \"127.0.0.1:0\"\n{api}{RULE}"),
        reach,
    );
    for kind in kinds {
        for (method, path, body) in kind.routes {
            let sent = |token| {
                let method = method.parse::<Method>().expect("a method");
                desk.call_as(token, method, path, body).status
            };
            let statuses = (
                sent(None),
                sent(Some("user-token")),
                sent(Some("admin-token")),
            );
            assert_eq!(
                statuses,
                (kind.without, kind.user, kind.admin),
                "{api}{method} {path}"
            );
            if kind.without == 401 {
                assert_eq!(sent(Some("other-token")), 401, "{method} {path}");
            }
        }
    }
}

const fn kind(
    routes: &'static [(&'static str, &'static str, &'static str)],
    statuses: [u16; 3],
) -> Kind {
    let [without, user, admin] = statuses;
    Kind {
        routes,
        without,
        user,
        admin,
    }
}

const METRICS: &[(&str, &str, &str)] = &[("GET", "/metrics", "")];

#[test]
fn without_tokens_this_machine_may_do_everything() {
    let all = [200, 200, 200];
    holds(
        "",
        Reach::Loopback,
        &[
            kind(OPEN, all),
            kind(USE, all),
            kind(SETTLE, [404, 404, 404]),
            kind(READ, all),
            kind(METRICS, all),
            kind(OPERATE, all),
        ],
    );
}

#[test]
fn a_token_alone_is_none_for_operators() {
    holds(
        USER,
        Reach::Loopback,
        &[
            kind(OPEN, [200, 200, 200]),
            kind(METRICS, [200, 200, 200]),
            kind(USE, [401, 200, 401]),
            kind(SETTLE, [401, 404, 401]),
            kind(READ, [401, 200, 401]),
            kind(OPERATE, [401, 403, 401]),
            kind(LIFT, [401, 403, 401]),
        ],
    );
}

#[test]
fn an_admin_token_alone_leaves_decisions_open() {
    holds(
        ADMIN,
        Reach::Loopback,
        &[
            kind(USE, [200, 200, 200]),
            kind(SETTLE, [404, 404, 404]),
            kind(READ, [401, 401, 200]),
            kind(OPERATE, [401, 401, 200]),
        ],
    );
}

#[test]
fn an_admin_token_opens_everything_and_the_other_what_it_is_for() {
    holds(
        &format!("{USER}{ADMIN}"),
        Reach::Network,
        &[
            kind(OPEN, [200, 200, 200]),
            kind(METRICS, [401, 200, 200]),
            kind(USE, [401, 200, 200]),
            kind(SETTLE, [401, 404, 404]),
            kind(READ, [401, 200, 200]),
            kind(OPERATE, [401, 403, 200]),
        ],
    );
}

#[test]
fn a_batch_does_for_operators_only_what_is_theirs() {
    let api = format!("[api]\nlisten = \"127.0.0.1:0\"\n{USER}{ADMIN}{RULE}");
    let desk = Desk::reached(&api, Reach::Network);
    let body = r#"[{"op":"reset","rule":"a","key":"k"},{"rule":"a","key":"k"},{"op":"block","key":"k"},{"op":"unblock","key":"k"}]"#;
    let batch = |token| {
        desk.call_as(Some(token), Method::POST, "/v1/batch", body)
            .body
    };
    let user = batch("user-token");
    let refused: Vec<_> = [0, 2, 3]
        .iter()
        .map(|at| user[*at]["status"].as_u64())
        .collect();
    assert_eq!(refused, [Some(403); 3]);
    assert_eq!(user[1]["allowed"], true);
    let admin = batch("admin-token");
    assert!((0..4).all(|at| admin[at]["allowed"] == true), "{admin}");
}

#[test]
fn who_is_not_known_is_told_how_to_be() {
    let api = format!("[api]\nlisten = \"127.0.0.1:0\"\n{USER}{RULE}");
    let desk = Desk::new(&api);
    let none = desk.call_as(None, Method::POST, "/v1/take", "{}");
    assert_eq!(
        none.field("www-authenticate"),
        Some("Bearer realm=\"jeton\"")
    );
    let other = desk.call_as(Some("other"), Method::POST, "/v1/take", "{}");
    let challenge = "Bearer realm=\"jeton\", error=\"invalid_token\"";
    assert_eq!(other.field("www-authenticate"), Some(challenge));
    let operator = desk.call_as(Some("user-token"), Method::POST, "/v1/reset", "{}");
    assert!(operator.text.contains("admin_token"), "{}", operator.text);
    let described = desk.document["paths"]["/v1/reset"]["post"]["security"].to_string();
    assert_eq!(described, r#"[{"admin_token":[]}]"#);
}

/// In the real binary, and nowhere in what it prints or logs.
#[test]
fn a_token_is_never_shown() {
    let policy = format!("[api]\nlisten = \"127.0.0.1:0\"\n{USER}{ADMIN}{RULE}");
    let jeton = crate::support::binary::Running::serve(&policy);
    let address = jeton.api_address();
    let url = format!("http://{address}/v1/rules");
    let ask = |token: &str| {
        let field = format!("Authorization: Bearer {token}");
        crate::support::curl(&["-o", "/dev/null", "-w", "%{http_code}", "-H", &field, &url])
    };
    assert_eq!(
        [ask("user-token"), ask("admin-token"), ask("guess")],
        ["200", "200", "401"]
    );
    let shown = jeton.banner() + &jeton.log() + &jeton.metrics();
    assert!(
        !shown.contains("user-token") && !shown.contains("admin-token"),
        "{shown}"
    );
}
