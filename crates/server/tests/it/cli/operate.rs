//! `jeton reset`, `block`, `unblock`, `override`: an operator and a running process.

use std::process::Output;

use serde_json::{Value, json};

use crate::api::{json as document, post};
use crate::support::Folder;
use crate::support::binary::{Running, command, jeton_in, stderr, stdout};

const RULES: &str = r#"
[[rule]]
name = "user"
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/h"
burst = 5

[[rule]]
name = "login"
match = { path = "/login" }
key = ["client-ip", "path"]
algorithm = "sliding-log"
limit = 2
window = "1h"
"#;

fn serve(api: &str) -> Running {
    Running::serve(&format!("[api]\nlisten = \"127.0.0.1:0\"\n{api}{RULES}"))
}

fn operate(jeton: &Running, arguments: &[&str]) -> Output {
    let url = format!("http://{}", jeton.api_address());
    run(&[arguments, &["--api", &url]].concat(), &[])
}

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = command(arguments);
    command
        .env_remove("JETON_TOKEN")
        .env_remove("JETON_ADMIN_TOKEN")
        .env_remove("JETON_API");
    command.envs(environment.iter().copied());
    command.output().expect("jeton runs")
}

fn said(jeton: &Running, arguments: &[&str]) -> String {
    let output = operate(jeton, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

fn take(jeton: &Running, cost: u64) -> Value {
    let body = json!({ "rule": "user", "key": "alice", "cost": cost }).to_string();
    document(&post(jeton.api_address(), "/v1/take", &body))
}

#[test]
fn a_key_is_forgotten() {
    let jeton = serve("");
    assert_eq!(take(&jeton, 5)["allowed"], true);
    assert_eq!(take(&jeton, 1)["allowed"], false);
    assert_eq!(
        said(&jeton, &["reset", "user", "alice"]),
        "the key is forgotten in user\n"
    );
    assert_eq!(take(&jeton, 5)["allowed"], true);
    let everywhere = said(&jeton, &["reset", "--everywhere", "alice"]);
    assert_eq!(everywhere, "the key is forgotten in user\n");
    assert_eq!(take(&jeton, 5)["allowed"], true);
    let two = said(&jeton, &["reset", "login", "192.0.2.1", "/login"]);
    assert_eq!(two, "the key is forgotten in login\n");
}

#[test]
fn a_key_is_blocked_listed_and_unblocked() {
    let jeton = serve("");
    assert_eq!(said(&jeton, &["block", "--list"]), "no blocks in force\n");
    let blocked = said(&jeton, &["block", "user", "alice", "--for", "10m"]);
    assert_eq!(blocked, "blocked alice in user for 10min\n");
    let denied = take(&jeton, 1);
    assert_eq!(
        (&denied["allowed"], &denied["reason"]),
        (&json!(false), &json!("blocked"))
    );
    assert!(denied["retry_after_ms"].as_u64().expect("a wait") <= 600_000);
    let listed = said(&jeton, &["block", "--list"]);
    assert!(
        ["10min", "9min 5"]
            .iter()
            .any(|left| listed.starts_with(&format!("user  alice  for {left}"))),
        "{listed}"
    );
    assert_eq!(
        said(&jeton, &["unblock", "user", "alice"]),
        "unblocked alice in user\n"
    );
    assert_eq!(take(&jeton, 1)["allowed"], true);
    let none = operate(&jeton, &["unblock", "user", "alice"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(
        stderr(&none).contains("jeton block --list"),
        "{}",
        stderr(&none)
    );
    let everywhere = said(&jeton, &["block", "--everywhere", "alice"]);
    assert_eq!(everywhere, "blocked alice in user until it is lifted\n");
    let answer: Value =
        serde_json::from_str(&said(&jeton, &["block", "--list", "--json"])).expect("JSON");
    assert_eq!(answer["blocks"][0]["expires_after_ms"], Value::Null);
}

#[test]
fn a_key_is_given_another_allowance() {
    let jeton = serve("");
    let alice = ["override", "user", "alice"];
    let none = operate(&jeton, &alice);
    assert_eq!(none.status.code(), Some(1), "{}", stdout(&none));
    assert!(stderr(&none).contains("--rate"), "{}", stderr(&none));
    let set = said(
        &jeton,
        &[
            &alice[..],
            &["--rate", "50/s", "--burst", "200", "--for", "1h"],
        ]
        .concat(),
    );
    assert_eq!(set, "alice in user: 50/s, bursts to 200 for 1h\n");
    assert_eq!(take(&jeton, 100)["decisions"][0]["limit"], 200);
    let seen = said(&jeton, &alice);
    assert!(
        seen.starts_with("alice in user: 50/s, bursts to 200 for "),
        "{seen}"
    );
    let all = said(&jeton, &["override", "--list"]);
    assert!(
        all.starts_with("user  alice  50/s, bursts to 200  for "),
        "{all}"
    );
    let back = said(&jeton, &[&alice[..], &["--lift"]].concat());
    assert_eq!(back, "the key is under the settings of user again\n");
    assert_eq!(
        operate(&jeton, &[&alice[..], &["--lift"]].concat())
            .status
            .code(),
        Some(1)
    );
    let word = said(
        &jeton,
        &[&alice[..], &["--limit", "unlimited", "--json"]].concat(),
    );
    let word: Value = serde_json::from_str(&word).expect("JSON");
    assert_eq!(
        (&word["limit"], &word["rule"]),
        (&json!("unlimited"), &json!("user"))
    );
    let odd = said(
        &jeton,
        &["override", "login", "192.0.2.1", "/a b/ä", "--limit", "7"],
    );
    assert_eq!(
        odd,
        "192.0.2.1 /a%20b/%C3%A4 in login: 7 in any 1 h until it is lifted\n"
    );
    assert!(said(&jeton, &["override", "login", "192.0.2.1", "/a b/ä"]).contains(": 7 in any 1 h"));
}

#[test]
fn what_an_override_leaves_out_is_told_as_it_is_then() {
    let jeton = serve("");
    for (settings, told) in [
        (&["--rate", "30/s"][..], "30/s, bursts to 30"),
        (&["--burst", "9"], "1/h, bursts to 9"),
        (&["--limit", "deny"], "denied"),
    ] {
        let set = said(&jeton, &[&["override", "user", "alice"], settings].concat());
        let ending = "until it is lifted";
        assert_eq!(set, format!("alice in user: {told} {ending}\n"));
    }
}

#[test]
fn a_key_of_other_parts_is_no_key_of_the_rule() {
    let jeton = serve("");
    for (place, told) in [
        (&["user", "k1", "k2"][..], "rule user counts by client-ip"),
        (
            &["login", "127.0.0.1"],
            "rule login counts by client-ip and path",
        ),
        (
            &["login", "127.0.0.1", "/", "x"],
            "rule login counts by client-ip and path",
        ),
    ] {
        for order in [&["--limit", "deny"][..], &[], &["--lift"]] {
            let output = operate(&jeton, &[&["override"], place, order].concat());
            let complaint = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{place:?} {order:?}");
            assert!(complaint.contains(told), "{place:?} {order:?}: {complaint}");
            assert!(
                !complaint.contains("JSON") && !complaint.contains("percent"),
                "{complaint}"
            );
        }
    }
    assert_eq!(
        said(&jeton, &["override", "--list"]),
        "no overrides in force\n"
    );
}

#[test]
fn a_secret_key_is_read_from_standard_input_and_never_printed() {
    let secret = "[[rule]]\nname = \"secret\"\nkey = [\"header:x-api-key\"]\nsecret_key = true\n\
                  algorithm = \"sliding-log\"\nlimit = 2\nwindow = \"1h\"\n";
    let jeton = serve(&format!("\n{secret}"));
    let url = format!("http://{}", jeton.api_address());
    let piped = |arguments: &[&str], input: &str| {
        let folder = Folder::new();
        let arguments = [arguments, &["--api", &url]].concat();
        jeton_in(folder.path(), &arguments, input)
    };
    let mut told = String::new();
    for arguments in [
        &["block", "secret", "-"][..],
        &["block", "--list"],
        &["unblock", "secret", "-"],
        &["unblock", "secret", "-"],
        &["block", "--everywhere", "-"],
        &["unblock", "--everywhere", "-"],
        &["override", "secret", "-"],
        &["override", "secret", "-", "--limit", "9"],
        &["override", "secret", "-"],
        &["override", "--list"],
        &["override", "secret", "-", "--lift"],
        &["reset", "secret", "-"],
    ] {
        let output = piped(arguments, "hunter2\n");
        told += &(stdout(&output) + &stderr(&output));
    }
    assert!(!told.contains("hunter2"), "{told}");
    assert!(told.contains("blocked #"), "{told}");
    // It is the key that a request has.
    assert_eq!(
        piped(&["block", "secret", "-"], "hunter2\r\n")
            .status
            .code(),
        Some(0)
    );
    let take = json!({ "rule": "secret", "key": "hunter2" }).to_string();
    let denied = document(&post(jeton.api_address(), "/v1/take", &take));
    assert_eq!(denied["reason"], "blocked");
    let nothing = piped(&["block", "secret", "-"], "");
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
    let two = piped(&["block", "login", "-", "-"], "192.0.2.1\n/login\n");
    assert!(stdout(&two).starts_with("blocked 192.0.2.1 /login in login "));
}

#[test]
fn the_environment_may_say_where_the_api_is() {
    let jeton = serve("");
    let url = format!("http://{}", jeton.api_address());
    let here = [("JETON_API", url.as_str())];
    let listed = run(&["block", "--list"], &here);
    assert_eq!(
        stdout(&listed),
        "no blocks in force\n",
        "{}",
        stderr(&listed)
    );
    let flag = run(
        &["block", "--list", "--api", &url],
        &[("JETON_API", "nonsense")],
    );
    assert!(flag.status.success(), "the flag comes first");
    let question = [
        "explain",
        "--request",
        "GET /",
        "--ip",
        "192.0.2.1",
        "--json",
    ];
    take(&jeton, 1);
    let live = run(&question, &here);
    assert!(live.status.success(), "{}", stderr(&live));
    // A file that is named is what is meant.
    let file = run(&[&question[..], &["--config", "/nowhere"]].concat(), &here);
    assert!(stderr(&file).contains("/nowhere"), "{}", stderr(&file));
    let token = run(
        &[&question[..], &["--token-file", "/nowhere"]].concat(),
        &[],
    );
    assert_eq!(token.status.code(), Some(2), "{}", stderr(&token));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let jeton = serve("");
    for (arguments, said) in [
        (&["block", "usr", "alice"][..], "did you mean \"user\"?"),
        (
            &["block", "login", "alice"],
            "login counts by client-ip and path",
        ),
        (
            &["override", "user", "alice", "--limit", "7"],
            "another algorithm",
        ),
        (&["override", "user", "alice", "--rate", "fast"], "`rate`"),
        (
            &["reset", "--everywhere", "a", "b", "c"],
            "no rule has keys of 3 parts",
        ),
    ] {
        let output = operate(&jeton, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = stderr(&output);
        assert!(
            told.starts_with("error: ") && told.contains(said),
            "{arguments:?}: {told}"
        );
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn a_wrong_command_line_is_told_before_anybody_is_asked() {
    for arguments in [
        &["reset"][..],
        &["reset", "user"],
        &["block", "user"],
        &["block", "user", "alice", "--for", "soon"],
        &["block", "--list", "user", "alice"],
        &["override", "user"],
        &["override", "user", "alice", "--for", "1h"],
        &["override", "user", "alice", "--lift", "--limit", "5"],
        &["unblock", "user", "alice", "--api", "127.0.0.1:7070"],
        &[
            "unblock",
            "user",
            "alice",
            "--api",
            "https://127.0.0.1:7070",
        ],
    ] {
        let output = run(arguments, &[]);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn nobody_there_is_told_as_such() {
    let output = run(
        &["block", "user", "alice", "--api", "http://127.0.0.1:1"],
        &[],
    );
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains("http://127.0.0.1:1") && told.contains("--api"),
        "{told}"
    );
    // Somebody who is no API.
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>";
    let other = crate::support::upstream::Upstream::answering(page);
    let output = run(&["block", "user", "alice", "--api", &other.url()], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("[api]"), "{}", stderr(&output));
}

#[test]
fn a_token_comes_from_a_file_or_the_environment() {
    let jeton = serve("token = \"user-token\"\nadmin_token = \"admin-token\"\n");
    let url = format!("http://{}", jeton.api_address());
    let block = ["block", "user", "alice", "--api", &url];
    let without = run(&block, &[]);
    assert_eq!(without.status.code(), Some(1));
    assert!(
        stderr(&without).contains("JETON_ADMIN_TOKEN"),
        "{}",
        stderr(&without)
    );
    let wrong = run(&block, &[("JETON_ADMIN_TOKEN", "guess")]);
    assert!(
        stderr(&wrong).contains("does not know this token"),
        "{}",
        stderr(&wrong)
    );
    let user = run(&block, &[("JETON_ADMIN_TOKEN", "user-token")]);
    assert!(stderr(&user).contains("for operators"), "{}", stderr(&user));
    let set = run(&block, &[("JETON_ADMIN_TOKEN", "admin-token")]);
    assert!(set.status.success(), "{}", stderr(&set));
    let folder = Folder::new();
    let file = folder.file("token", b"admin-token\n");
    let file = file.to_str().expect("a path");
    let arguments = [
        "unblock",
        "user",
        "alice",
        "--api",
        &url,
        "--token-file",
        file,
    ];
    let lifted = run(&arguments, &[("JETON_ADMIN_TOKEN", "guess")]);
    assert!(
        lifted.status.success(),
        "a file comes first: {}",
        stderr(&lifted)
    );
    let gone = run(
        &[
            "unblock",
            "user",
            "alice",
            "--api",
            &url,
            "--token-file",
            "/nowhere",
        ],
        &[],
    );
    assert_eq!(gone.status.code(), Some(1));
    assert!(stderr(&gone).contains("/nowhere"), "{}", stderr(&gone));
    for output in [without, wrong, user, set, lifted] {
        let told = stdout(&output) + &stderr(&output);
        assert!(
            !told.contains("admin-token") && !told.contains("guess"),
            "{told}"
        );
    }
}

#[test]
fn a_unix_socket_is_an_address_too() {
    let folder = Folder::new();
    let socket = folder.path().join("api.sock");
    let policy = format!("[api]\nlisten = \"unix:{}\"\n{RULES}", socket.display());
    let _jeton = Running::serve(&policy);
    let url = format!("unix:{}", socket.display());
    let output = run(
        &["block", "user", "alice", "--for", "90s", "--api", &url],
        &[],
    );
    assert_eq!(
        stdout(&output),
        "blocked alice in user for 1min 30s\n",
        "{}",
        stderr(&output)
    );
}
