//! What a refused client is told, and what an admitted one is.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Guarded;
use crate::support::raw::Reply;

const ONE_A_MINUTE: &str = r#"
[[rule]]
name = "everyone"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 1
window = "1m"
"#;

fn json(reply: &Reply) -> Value {
    serde_json::from_str(reply.body()).expect("a problem document")
}

#[test]
fn f52_a_refusal_is_told_as_its_client_can_read_it() {
    let guarded = Guarded::by(ONE_A_MINUTE);
    let mut client = guarded.client();
    assert_eq!(client.ask("GET", "/", "").status(), 200);

    for accept in ["application/json", "application/problem+json", "*/*", ""] {
        let field = if accept.is_empty() {
            String::new()
        } else {
            format!("Accept: {accept}\r\n")
        };
        let refused = client.ask("GET", "/", &field);
        assert_eq!(refused.status(), 429);
        assert_eq!(
            refused.field("content-type"),
            Some("application/problem+json"),
            "{accept}"
        );
        let problem = json(&refused);
        assert_eq!(
            problem["type"],
            "https://iana.org/assignments/http-problem-types#quota-exceeded"
        );
        assert_eq!(
            problem["title"],
            "Request cannot be satisfied as assigned quota has been exceeded"
        );
        assert_eq!(problem["status"], 429);
        assert_eq!(
            problem["violated-policies"],
            serde_json::json!(["everyone"])
        );
        let retry_after = refused.field("retry-after").expect("a wait");
        assert_eq!(problem["retry-after"].to_string(), retry_after);
        assert_eq!(refused.field("cache-control"), Some("no-store"));
        assert_eq!(
            refused.field("ratelimit-policy"),
            Some("\"everyone\";q=1;w=60")
        );
        let limit = refused.field("ratelimit").expect("a limit");
        assert_eq!(limit, format!("\"everyone\";r=0;t={retry_after}"));
    }
    for accept in ["text/html,application/xhtml+xml,*/*;q=0.8", "text/plain"] {
        let refused = client.ask("GET", "/", &format!("Accept: {accept}\r\n"));
        assert_eq!(
            refused.field("content-type"),
            Some("text/plain; charset=utf-8")
        );
        assert!(
            refused.body().starts_with("429 Too Many Requests."),
            "{}",
            refused.body()
        );
        assert!(refused.body().len() < 200 && refused.body().ends_with("seconds.\n"));
    }
}

#[test]
fn f52_head_has_the_length_of_a_body_and_none() {
    let guarded = Guarded::by(ONE_A_MINUTE);
    let mut client = guarded.client();
    client.ask("GET", "/", "");
    for accept in ["application/json", "text/plain"] {
        let fields = format!("Accept: {accept}\r\n");
        let get = client.ask("GET", "/", &fields);
        // On the same connection: a body that came all the same would be read as the next answer.
        let head = client.ask("HEAD", "/", &fields);
        assert_eq!((head.status(), head.body()), (429, ""));
        assert_eq!(head.field("content-type"), get.field("content-type"));
        let length: usize = head
            .field("content-length")
            .and_then(|it| it.parse().ok())
            .expect("a length");
        // The wait in the body may have lost a digit meanwhile, no more.
        assert!(
            get.body().len().abs_diff(length) <= 2,
            "{length} {}",
            get.body()
        );
    }
    assert_eq!(client.ask("GET", "/", "").status(), 429);
}

#[test]
fn f5_waits_below_a_second_are_told_in_digits_and_at_least_one() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"quick\"\nkey = [\"header:x-user\"]\nalgorithm = \"gcra\"\nrate = \"1/s\"\nburst = 1\n",
    );
    let mut client = guarded.client();
    let mut refused = 0;
    let started = Instant::now();
    // Every user's unit comes back at a moment of its own: waits of all lengths below a second.
    for asked in 0_usize.. {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{refused} refusals"
        );
        let user = asked * 7919 % 50;
        let reply = client.ask("GET", "/", &format!("X-User: {user}\r\n"));
        if reply.status() == 429 {
            assert_eq!(
                reply.field("retry-after"),
                Some("1"),
                "a wait of at most 1 s"
            );
            refused += 1;
        }
        if refused == 1_000 {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn waiting_the_seconds_told_suffices() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"slow\"\nkey = [\"client-ip\"]\nalgorithm = \"gcra\"\nrate = \"1/1500ms\"\nburst = 1\n",
    );
    let mut client = guarded.client();
    assert_eq!(client.ask("GET", "/", "").status(), 200);
    let refused = client.ask("GET", "/", "");
    let wait: u64 = refused
        .field("retry-after")
        .and_then(|it| it.parse().ok())
        .expect("a wait");
    assert_eq!(wait, 2);
    std::thread::sleep(Duration::from_secs(wait));
    assert_eq!(client.ask("GET", "/", "").status(), 200);
}

#[test]
fn several_rules_stand_in_one_list_the_one_that_matters_first() {
    let guarded = Guarded::by(
        r#"
[[rule]]
name = "day"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 1000
window = "1d"

[[rule]]
name = "burst"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 2
window = "1min"

[[rule]]
name = "trial"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 1
window = "1min"
mode = "shadow"
"#,
    );
    let mut client = guarded.client();
    let first = client.ask("GET", "/", "");
    assert_eq!(
        first.field("ratelimit-policy"),
        Some("\"burst\";q=2;w=60, \"day\";q=1000;w=86400")
    );
    assert_eq!(
        first.field("ratelimit"),
        Some("\"burst\";r=1;t=60, \"day\";r=999;t=86400")
    );
    client.ask("GET", "/", "");
    let refused = client.ask("GET", "/", "");
    assert_eq!(refused.status(), 429);
    assert!(
        refused
            .field("ratelimit")
            .is_some_and(|it| it.starts_with("\"burst\";r=0;t="))
    );
    assert_eq!(
        json(&refused)["violated-policies"],
        serde_json::json!(["burst"])
    );
    let shadow = guarded
        .jeton
        .metric("jeton_decisions_total{rule=\"trial\",outcome=\"shadow_denied\"}");
    assert_eq!(shadow, 2);
}

#[test]
fn words_and_lists_refuse_without_a_wait() {
    let guarded = Guarded::by(&format!(
        "{}{}",
        super::BEHIND_A_PROXY,
        r#"
[lists]
block = ["192.0.2.0/24"]

[[rule]]
name = "shut"
match = { path = "/shut/{x..}" }
limit = "deny"

[[rule]]
name = "keyed"
match = { path = "/keyed" }
key = ["header:x-api-key"]
missing = "deny"
algorithm = "token-bucket"
rate = "1/s"
"#
    ));
    for (path, fields) in [
        ("/shut/a", ""),
        ("/keyed", ""),
        ("/", "X-Forwarded-For: 192.0.2.77\r\n"),
    ] {
        let refused = guarded.get(path, fields);
        assert_eq!(refused.status(), 403, "{path}");
        for field in ["retry-after", "ratelimit", "ratelimit-policy"] {
            assert_eq!(refused.field(field), None, "{path}");
        }
        assert_eq!(refused.field("cache-control"), Some("no-store"));
        assert_eq!(json(&refused)["status"], 403);
    }
    assert_eq!(guarded.get("/keyed", "X-Api-Key: a\r\n").status(), 200);
    let refused = guarded
        .jeton
        .metric("jeton_decisions_total{rule=\"shut\",outcome=\"denied\"}");
    assert_eq!(refused, 1);
    assert_eq!(guarded.nginx.log().len(), 1);
}

#[test]
fn fields_of_the_upstream_are_kept_and_none_can_be_asked_for() {
    use crate::support::binary::Running;
    use crate::support::raw::exchange;
    use crate::support::upstream::Upstream;
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nRateLimit: \"inner\";r=3;t=9\r\nContent-Length: 0\r\n\r\n",
    );
    let rule =
        "[[rule]]\nname = \"ours\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n";
    let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let proxy = format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n",
        upstream.url()
    );
    let told = Running::serve(&format!("{proxy}{rule}"));
    let reply = exchange(told.proxy_address(), get);
    let lines: Vec<&str> = reply
        .text
        .lines()
        .filter(|line| line.to_ascii_lowercase().starts_with("ratelimit:"))
        .collect();
    assert_eq!(lines.len(), 2, "{}", reply.text);
    assert!(
        lines[0].contains("inner") && lines[1].contains("\"ours\";r=4;t=1"),
        "{lines:?}"
    );

    let silent = Running::serve(&format!("{proxy}[answer]\nheaders = \"none\"\n{rule}"));
    let reply = exchange(silent.proxy_address(), get);
    assert!(!reply.text.contains("ours"), "{}", reply.text);
    assert_eq!(reply.field("ratelimit"), Some("\"inner\";r=3;t=9"));
}
