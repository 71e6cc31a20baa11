//! `jeton explain`: which rules speak of a request, and why.

mod state;

use std::process::Output;

use jeton_server::explain::Document;

use crate::support::binary::{Running, command, jeton, jeton_in, stderr, stdout};
use crate::support::{Folder, curl};

const POLICY: &str = r#"
[lists]
block = ["192.0.2.0/24"]

[[rule]]
name = "login"
match = { method = ["POST"], path = "/login" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1m"

[[rule]]
name = "user"
match = { with = ["header:authorization"] }
key = ["header:authorization"]
algorithm = "gcra"
rate = "5/s"
burst = 20

[[rule]]
name = "export"
match = { path = "/reports/{id}/export", header = { x-key = "hunter2" } }
key = ["header:x-user"]
missing = "skip"
algorithm = "fixed-window"
limit = 100
window = "1m"

[[rule]]
name = "closed"
match = { path = "/closed" }
limit = "deny"
"#;

fn explain(flags: &[&str]) -> Output {
    let folder = Folder::new();
    folder.file("jeton.toml", POLICY.as_bytes());
    jeton_in(folder.path(), &[&["explain"], flags].concat(), "")
}

fn told(flags: &[&str]) -> String {
    let output = explain(flags);
    let status = (output.status.code(), stderr(&output));
    assert_eq!(status, (Some(0), String::new()), "{flags:?}");
    stdout(&output)
}

fn document(flags: &[&str]) -> Document {
    let text = told(&[flags, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_rule_says_whether_it_matches_and_why_not() {
    let text = told(&["--request", "POST /login", "--ip", "1.2.3.4"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "ALLOWED. Nothing was charged. Counters are fresh: no process was asked."
    );
    assert_eq!(
        lines[1],
        "  ● login   5 of 5 left  key 1.2.3.4  takes 1; 5 in any 1 min"
    );
    assert_eq!(lines[2], "  – user    not matched: no authorization header");
    assert_eq!(
        lines[3],
        "  – export  not matched: path is not /reports/{id}/export"
    );
    assert_eq!(lines[4], "  – closed  not matched: path is not /closed");
    assert_eq!(
        lines[5],
        "The client would see the service's answer, with (as of now, before it is charged) \
         ratelimit-policy: \"login\";q=5;w=60 · ratelimit: \"login\";r=5;t=0"
    );
    assert!(!text.contains('\u{1b}'), "no colour outside of a terminal");
}

#[test]
fn a_refusal_is_shown_as_the_client_would_see_it() {
    let closed = ["--request", "GET /closed", "--ip", "1.2.3.4"];
    let text = told(&[&closed[..], &["--header", "Accept: application/json"]].concat());
    assert!(
        text.starts_with("DENIED by closed. Nothing was charged."),
        "{text}"
    );
    assert!(
        text.contains("✕ closed  refuses: limit = \"deny\""),
        "{text}"
    );
    assert!(
        text.contains("The client would see: 403 · content-type: application/problem+json"),
        "{text}"
    );
    assert!(text.contains("\n  {\"type\":\"about:blank\""), "{text}");
    let plain = document(&[&closed[..], &["--header", "Accept: text/plain"]].concat());
    assert_eq!(plain.client.status, Some(403));
    assert!(!plain.client.body.starts_with('{') && !plain.client.body.is_empty());
    let head = document(&["--request", "HEAD /closed"]);
    assert_eq!((head.client.status, &head.client.body[..]), (Some(403), ""));
}

#[test]
fn lists_speak_first() {
    let text = told(&["--request", "/", "--ip", "192.0.2.1"]);
    assert!(
        text.starts_with("DENIED: the address is on the block list."),
        "{text}"
    );
    assert_eq!(text.matches("a list decides before any rule").count(), 4);
}

#[test]
fn no_secret_is_shown() {
    for flags in [&["--json"][..], &[]] {
        let secret = "Authorization: Bearer s3cret";
        let output = explain(
            &[
                &["--request", "/reports/1/export", "--header", secret],
                flags,
            ]
            .concat(),
        );
        let all = stdout(&output) + &stderr(&output);
        assert!(!all.contains("s3cret") && !all.contains("hunter2"), "{all}");
        assert!(all.contains('#') && all.contains("x-key"), "{all}");
    }
}

#[test]
fn json_says_the_same_as_data() {
    let document = document(&[
        "--request",
        "GET /reports/1/export",
        "--header",
        "x-key: hunter2",
    ]);
    assert!(document.allowed && document.reason.as_deref() == Some("unmatched"));
    let outcomes = document.rules.iter().map(|rule| rule.outcome.as_str());
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        ["unmatched", "unmatched", "skipped", "unmatched"]
    );
    let export = &document.rules[2];
    assert_eq!(export.condition.as_deref(), Some("missing"));
    assert_eq!(export.wanted, ["header:x-user"]);
    assert_eq!(export.why, "no x-user header, and missing = \"skip\"");
}

#[test]
fn the_host_is_a_fact_too() {
    let folder = Folder::new();
    let rule = "[[rule]]\nname = 'r'\nkey = 'host'\nmatch = { host = 'api.example' }\n\
                algorithm = 'gcra'\nrate = '5/s'\n";
    folder.file("other.toml", rule.as_bytes());
    let said = |host: &[&str]| {
        let flags = ["explain", "--config", "other.toml", "--request", "/"];
        stdout(&jeton_in(folder.path(), &[&flags, host].concat(), ""))
    };
    assert!(said(&["--host", "API.example:8080"]).contains("key api.example"));
    assert!(said(&["--header", "Host: api.example"]).contains("key api.example"));
    assert!(said(&[]).contains("not matched: host is not api.example"));
}

#[test]
fn a_wrong_command_line_is_told_apart_from_a_wrong_policy() {
    for (flags, said) in [
        (
            &["--request", "post /login"][..],
            "--request: methods are written in capitals",
        ),
        (&["--request", "login"], "does not begin with a slash"),
        (
            &["--request", "/", "--ip", "1.2.3"],
            "--ip: \"1.2.3\" is no IP address",
        ),
        (
            &["--request", "/", "--header", "x-plan"],
            "--header: a field has a colon",
        ),
        (&["--request", "/", "--host", "a\nb"], "--host: "),
        (&[], "--request"),
    ] {
        let output = explain(flags);
        let status = (output.status.code(), stdout(&output));
        assert_eq!(status, (Some(2), String::new()), "{flags:?}");
        assert!(
            stderr(&output).contains(said),
            "{flags:?}: {}",
            stderr(&output)
        );
    }
    let folder = Folder::new();
    folder.file("jeton.toml", b"[[rule]]\nname = 7\n");
    let output = jeton_in(folder.path(), &["explain", "--request", "/"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("error["), "{}", stderr(&output));
}

/// A running process with the policy above, and one whose API asks for a token.
fn serving(token: &str) -> Running {
    Running::serve(&format!("[api]\nlisten = \"127.0.0.1:0\"\n{token}{POLICY}"))
}

fn ask(running: &Running, flags: &[&str]) -> Output {
    let api = format!("http://{}", running.api_address());
    jeton(&[&["explain", "--api", &api], flags].concat())
}

#[test]
fn a_running_process_is_asked_about_its_own_counters() {
    let running = serving("");
    let login = r#"{"request":{"method":"POST","path":"/login","client_ip":"1.2.3.4"}}"#;
    let url = format!("http://{}/v1/take", running.api_address());
    let take = || curl(&["-H", "content-type: application/json", "-d", login, &url]);
    for _ in 0..4 {
        assert!(take().contains("\"allowed\":true"));
    }
    let about = ["--request", "POST /login", "--ip", "1.2.3.4"];
    let told = |flags: &[&str]| {
        let output = ask(&running, &[&about, flags].concat());
        assert_eq!(
            (output.status.code(), stderr(&output)),
            (Some(0), String::new())
        );
        stdout(&output)
    };
    for _ in 0..20 {
        let text = told(&[]);
        assert!(
            text.starts_with("ALLOWED. Nothing was charged. State of "),
            "{text}"
        );
        assert!(
            text.contains("UTC, policy generation 1.\n  ● login   1 of 5 left"),
            "{text}"
        );
    }
    assert!(take().contains("\"remaining\":0"));
    let text = told(&[]);
    assert!(text.starts_with("DENIED by login, retry in "), "{text}");
    assert!(text.contains("The client would see: 429 · "), "{text}");
    let document: Document = serde_json::from_str(&told(&["--json"])).expect("a document");
    assert_eq!((document.allowed, document.generation), (false, 1));
    assert_eq!(document.rules[0].counters[0].remaining, 0);
    assert_eq!(document.rules[1].why, "no authorization header");
}

#[test]
fn file_and_process_say_the_same_of_fresh_counters() {
    let running = serving("");
    for flags in [
        &["--request", "POST /login", "--ip", "1.2.3.4"][..],
        &[
            "--request",
            "/closed",
            "--header",
            "accept: text/plain",
            "--json",
        ],
        &[
            "--request",
            "/reports/1/export?a=b&c",
            "--header",
            "x-key: hunter2",
            "--host",
            "h",
        ],
        &["--request", "/", "--ip", "192.0.2.1"],
    ] {
        let comparable = |text: String| {
            let lines = text.lines().skip(usize::from(!text.starts_with('{')));
            let same = |line: &&str| !line.contains("_ms\": 1") && !line.contains("\"generation\"");
            lines.filter(same).map(str::to_owned).collect::<Vec<_>>()
        };
        let (live, file) = (ask(&running, flags), explain(flags));
        assert_eq!(stderr(&live), "");
        assert_eq!(
            comparable(stdout(&live)),
            comparable(stdout(&file)),
            "{flags:?}"
        );
    }
}

#[test]
fn a_token_is_taken_from_the_environment() {
    let running = serving("token = \"t0ken-of-16-bytes\"\n");
    let about = ["--request", "/closed"];
    let output = ask(&running, &about);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(1), String::new())
    );
    assert!(stderr(&output).contains("token"), "{}", stderr(&output));
    let api = format!("http://{}", running.api_address());
    let mut known = command(&["explain", "--api", &api, "--request", "/closed"]);
    let output = known
        .env("JETON_TOKEN", "t0ken-of-16-bytes")
        .output()
        .expect("jeton runs");
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
    assert!(stdout(&output).starts_with("DENIED by closed."));
}

#[test]
fn nobody_there_is_told_as_such() {
    let output = jeton(&["explain", "--request", "/", "--api", "http://127.0.0.1:9"]);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(1), String::new())
    );
    assert!(stderr(&output).contains("nothing answers at http://127.0.0.1:9"));
    let output = jeton(&["explain", "--request", "/", "--api", "127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(2));
}
