//! Whose counter it is: addresses behind proxies, paths in every spelling, rules apart.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::{BEHIND_A_PROXY, Guarded};
use crate::support::binary::Running;
use crate::support::nginx::Nginx;
use crate::support::{Folder, eventually, is_full};

fn five_per_address(client_ip: &str) -> String {
    format!(
        "{client_ip}\n[[rule]]\nname = \"five\"\nkey = [\"client-ip\"]\nalgorithm = \"sliding-log\"\n\
         limit = 5\nwindow = \"10min\"\n"
    )
}

fn forwarded(entries: &str) -> String {
    format!("X-Forwarded-For: {entries}\r\n")
}

#[test]
fn f37_an_address_that_a_client_made_up_is_not_believed() {
    let hop = "[client_ip]\nheader = \"x-forwarded-for\"\nhops = 1\n";
    for trust in [hop, BEHIND_A_PROXY] {
        let guarded = Guarded::by(&five_per_address(trust));
        let mut client = guarded.client();
        let passed: usize = (1..=10)
            .map(|i| client.passes(1, "/", &forwarded(&format!("6.6.6.{i}, 203.0.113.9"))))
            .sum();
        assert_eq!(passed, 5);
        // Several lines are one list.
        let lines = format!("{}{}", forwarded("203.0.113.9"), forwarded("203.0.113.10"));
        assert_eq!(client.passes(6, "/", &lines), 5);
    }
}

#[test]
fn f37_a_header_that_is_not_in_use_is_not_believed_and_warned_about_once() {
    let guarded = Guarded::by(&five_per_address(""));
    let mut client = guarded.client();
    let passed: usize = (1..=10)
        .map(|i| client.passes(1, "/", &forwarded(&format!("6.6.6.{i}"))))
        .sum();
    assert_eq!(passed, 5);
    guarded.jeton.logs("X-Forwarded-For is sent but not read");
    assert_eq!(guarded.jeton.log().matches("X-Forwarded-For").count(), 1);
}

#[test]
fn f38_an_address_is_the_same_with_and_without_its_port() {
    let guarded = Guarded::by(&five_per_address(BEHIND_A_PROXY));
    let mut client = guarded.client();
    let mut passed = |spellings: &[&str]| -> usize {
        let all = spellings.iter().cycle().take(12);
        all.map(|entry| client.passes(1, "/", &forwarded(entry)))
            .sum()
    };
    assert_eq!(
        passed(&[
            "203.0.113.9:51234",
            "203.0.113.9",
            "\"203.0.113.9:1\"",
            "::ffff:203.0.113.9"
        ]),
        5
    );
    assert_eq!(
        passed(&[
            "[2001:db8::1]:443",
            "2001:db8::1",
            "[2001:db8::1]",
            "2001:db8::2%eth0"
        ]),
        5
    );
    // Nobody knows who these are: `missing = "share"`, the default, gives them one counter.
    assert_eq!(passed(&["unknown", "_hidden", ""]), 5);
}

#[test]
fn f39_an_ipv6_customer_has_one_counter() {
    let guarded = Guarded::by(&five_per_address(BEHIND_A_PROXY));
    let mut client = guarded.client();
    let addresses = if is_full() { 100_000 } else { 2_000 };
    let passed: usize = (1..=addresses)
        .map(|i| {
            let entry = format!("2001:db8:0:1:{:x}::{:x}", i >> 8, i & 0xff);
            client.passes(1, "/", &forwarded(&entry))
        })
        .sum();
    assert_eq!(passed, 5);
    assert_eq!(client.passes(1, "/", &forwarded("2001:db8:0:2::1")), 1);
    assert_eq!(client.passes(1, "/", &forwarded("fe80::1%eth0")), 1);
}

/// One request over a Unix socket; its status.
fn status_over(socket: &std::path::Path) -> String {
    let mut stream = UnixStream::connect(socket).expect("a connection");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text.get(9..12).unwrap_or_default().to_owned()
}

#[test]
fn f40_behind_a_unix_socket_the_missing_address_is_a_stated_policy() {
    let nginx = Nginx::start();
    for (missing, expected, counted) in [
        ("share", ["200", "200", "429"], "outcome=\"denied\"} 1"),
        ("skip", ["200", "200", "200"], "jeton_unmatched_total 3"),
        ("deny", ["403", "403", "403"], "outcome=\"denied\"} 3"),
    ] {
        let folder = Folder::new();
        let socket = folder.path().join("jeton.sock");
        let jeton = Running::serve(&format!(
            "[proxy]\nlisten = \"unix:{}\"\nupstream = \"{}\"\n[api]\nlisten = \"127.0.0.1:0\"\n[[rule]]\n\
             name = \"two\"\nkey = [\"client-ip\"]\nmissing = \"{missing}\"\nalgorithm = \"sliding-log\"\n\
             limit = 2\nwindow = \"10min\"\n",
            socket.display(),
            nginx.url()
        ));
        jeton.logs("warning[W106]: clients have no address on a Unix socket");
        assert_eq!(
            [(); 3].map(|()| status_over(&socket)),
            expected,
            "{missing}"
        );
        let metrics = jeton.metrics();
        assert!(metrics.contains(counted), "{missing}: {metrics}");
        drop(jeton);
    }
}

#[test]
fn f41_every_spelling_of_a_path_is_one_path() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"login\"\nmatch = { path = \"/login\" }\nkey = [\"client-ip\", \"path\"]\n\
         algorithm = \"sliding-log\"\nlimit = 3\nwindow = \"10min\"\n",
    );
    let mut client = guarded.client();
    let spellings = [
        "/login",
        "/LOGIN",
        "/login/",
        "//login",
        "/%6Cogin",
        "/./login",
        "/login?x=1",
        "/a/../login",
        "/login;v=1",
        "/%4c%6fgin",
        // nginx decodes slashes before it resolves dots.
        "/%2flogin",
        "/x/..%2flogin",
        "/x%2f..%2Flogin",
        "/.%2flogin",
        "/login%2f..%2flogin",
        "/a%2f../login",
        "/a%5cb%2f..%2flogin",
    ];
    let statuses = spellings.map(|path| client.ask("GET", path, "").status());
    assert_eq!(statuses[..3], [200, 200, 200]);
    assert_eq!(statuses[3..], [429; 14]);
    // Rules see the normal form; the upstream gets the path as it came.
    let log = guarded.nginx.log();
    assert!(
        log[1].contains("GET /LOGIN HTTP/1.1") && log[2].contains("GET /login/ HTTP/1.1"),
        "{log:?}"
    );
    assert_eq!(client.ask("GET", "/logins", "").status(), 200);
}

#[test]
fn f42_rules_for_one_client_have_a_counter_each() {
    let guarded = Guarded::by(
        r#"
[[rule]]
name = "a"
match = { path = "/a" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 10
window = "30d"

[[rule]]
name = "b"
match = { path = "/b" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1h"
"#,
    );
    let mut client = guarded.client();
    assert_eq!(
        (
            client.passes(5, "/a", ""),
            client.passes(6, "/b", ""),
            client.passes(6, "/a", "")
        ),
        (5, 5, 5)
    );
}

#[test]
fn a_request_that_no_rule_matches_passes_and_is_counted() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"a\"\nmatch = { path = \"/a\" }\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\n",
    );
    let mut client = guarded.client();
    let reply = client.ask("GET", "/other", "");
    assert_eq!((reply.status(), reply.field("ratelimit")), (200, None));
    assert_eq!(client.passes(3, "/other", ""), 3);
    eventually("counted", || {
        guarded
            .jeton
            .metrics()
            .contains("jeton_unmatched_total 4\n")
    });
}
