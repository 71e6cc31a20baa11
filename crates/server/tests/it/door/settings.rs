//! What `[answer]` and `[client_ip]` set, on the wire; and what requests show of a wrong setting.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::Guarded;
use crate::support::binary::Running;
use crate::support::{Folder, eventually};

const ONE: &str = "[[rule]]\nname = \"one\"\nkey = [\"client-ip\"]\nalgorithm = \"sliding-log\"\n\
                   limit = 1\nwindow = \"1h\"\n";

fn with(settings: &str) -> Guarded {
    Guarded::by(&format!("{settings}\n{ONE}"))
}

#[test]
fn f53_scripts_of_the_origins_that_are_named_can_read_a_refusal() {
    let guarded = with(
        "[answer]\nheaders = [\"ietf\", \"legacy-delta\"]\n\
         cors = { origins = [\"https://app.example\"], credentials = true }",
    );
    let mut client = guarded.client();
    let ours = "Origin: https://app.example\r\n";
    let passed = client.ask("GET", "/", ours);
    assert_eq!(passed.status(), 200);
    assert_eq!(
        passed.field("access-control-allow-origin"),
        None,
        "the service's own matter"
    );

    let refused = client.ask("GET", "/", ours);
    assert_eq!(refused.status(), 429);
    let field = |name| refused.field(name);
    assert_eq!(
        field("access-control-allow-origin"),
        Some("https://app.example")
    );
    assert_eq!(field("access-control-allow-credentials"), Some("true"));
    let exposed = field("access-control-expose-headers").expect("what to read");
    for name in ["retry-after", "ratelimit", "x-ratelimit-remaining"] {
        assert!(exposed.split(", ").any(|field| field == name), "{exposed}");
        assert!(field(name).is_some(), "{name}");
    }
    assert_eq!(field("vary"), Some("Origin"));

    for theirs in [
        "Origin: https://evil.example\r\n",
        "Origin: null\r\n",
        "",
        &ours.repeat(2),
    ] {
        let refused = client.ask("GET", "/", theirs);
        assert_eq!(refused.status(), 429);
        assert_eq!(
            refused.field("access-control-allow-origin"),
            None,
            "{theirs}"
        );
        assert_eq!(refused.field("vary"), Some("Origin"));
    }
}

#[test]
fn without_cors_a_refusal_says_nothing_of_it() {
    let guarded = with("");
    let mut client = guarded.client();
    client.ask("GET", "/", "");
    let refused = client.ask("GET", "/", "Origin: https://app.example\r\n");
    assert_eq!((refused.status(), refused.field("vary")), (429, None));
    assert_eq!(refused.field("access-control-allow-origin"), None);
}

#[test]
fn f37_the_client_is_found_in_the_header_that_is_named() {
    for (header, first, second) in [
        (
            "forwarded",
            "for=6.6.6.6, for=\"192.0.2.1:77\"",
            "for=192.0.2.2",
        ),
        ("cf-connecting-ip", "192.0.2.1", "192.0.2.2"),
    ] {
        let guarded = with(&format!("[client_ip]\nheader = \"{header}\"\nhops = 1"));
        let mut client = guarded.client();
        let mut status = |value: &str| {
            let field = format!("{header}: {value}\r\n");
            client.ask("GET", "/", &field).status()
        };
        assert_eq!(status(first), 200);
        assert_eq!(
            status(&first.replace("6.6.6.6", "7.7.7.7")),
            429,
            "{header}"
        );
        assert_eq!(status(second), 200, "{header}");
        // A client cannot have taken away what the proxy before us wrote.
        let stripped = format!("{header}: {second}\r\nConnection: {header}\r\n");
        assert_eq!(client.ask("GET", "/", &stripped).status(), 429, "{header}");
    }
}

#[test]
fn many_clients_under_one_address_are_told_once_with_their_code() {
    for settings in [
        "",
        "[client_ip]\nheader = \"x-forwarded-for\"\ntrusted = [\"10.0.0.0/8\"]",
    ] {
        let guarded = with(settings);
        let mut client = guarded.client();
        for number in 0..100 {
            client.ask(
                "GET",
                "/",
                &format!("X-Forwarded-For: 192.0.2.{number}\r\n"),
            );
        }
        guarded.jeton.logs("jeton help W202");
        let log = guarded.jeton.log();
        assert_eq!(log.matches("jeton help W202").count(), 1, "{log}");
        let unread = usize::from(settings.is_empty());
        assert_eq!(log.matches("jeton help W201").count(), unread, "{log}");
    }
}

#[test]
fn f40_a_missing_address_is_told_once_with_its_code() {
    let folder = Folder::new();
    let socket = folder.path().join("jeton.sock");
    let jeton = Running::serve(&format!(
        "[proxy]\nlisten = \"unix:{}\"\nupstream = \"http://127.0.0.1:9\"\n{ONE}",
        socket.display(),
    ));
    for _ in 0..3 {
        let mut stream = UnixStream::connect(&socket).expect("connected");
        let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request).expect("asked");
        stream.read_to_end(&mut Vec::new()).expect("answered");
    }
    eventually("told", || jeton.log().contains("jeton help W203"));
    assert_eq!(jeton.log().matches("jeton help W203").count(), 1);
}

#[test]
fn f43_limits_that_the_upstream_tells_of_itself_stay_and_ours_join_them() {
    let guarded = Guarded::by(
        "[answer]\nheaders = [\"ietf\", \"legacy-delta\"]\n[[rule]]\nname = \"wide\"\n\
         key = [\"client-ip\"]\nalgorithm = \"sliding-log\"\nlimit = 100\nwindow = \"1h\"\n",
    );
    let reply = guarded.get("/own", "");
    assert_eq!(reply.status(), 200);
    let head = reply.head().to_ascii_lowercase();
    let lines = |name: &str| {
        let start = format!("{name}: ");
        head.lines()
            .filter_map(|line| line.strip_prefix(&start))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines("ratelimit"),
        ["\"inner\";r=3;t=9", "\"wide\";r=99;t=3600"]
    );
    assert_eq!(
        lines("ratelimit-policy"),
        ["\"inner\";q=5;w=9", "\"wide\";q=100;w=3600"]
    );
    // One number a field: the upstream's is the tighter one.
    assert_eq!(lines("x-ratelimit-limit"), ["5"]);
    assert_eq!(lines("x-ratelimit-remaining"), ["3"]);
    assert_eq!(lines("x-ratelimit-reset"), ["9"]);
}
