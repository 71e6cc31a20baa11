//! A refusal arrives, whatever the client is still sending, and costs a bounded amount of reading.

use std::io::Write;
use std::time::Duration;

use crate::support::admissions::Nobody;
use crate::support::proxy::Proxy;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;
use crate::support::{Folder, is_full, noise, run};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn refusing(upstream: &Upstream) -> Proxy {
    Proxy::with(&upstream.url(), Nobody, |_| {})
}

#[test]
fn a_large_upload_is_read_and_its_client_sees_the_refusal() {
    let upstream = Upstream::answering(OK);
    let proxy = refusing(&upstream);
    let len = if is_full() { 60 << 20 } else { 6 << 20 };
    for framing in ["Content-Length", "Transfer-Encoding"] {
        let mut client = Raw::connect(proxy.address());
        client.send("POST / HTTP/1.1\r\nHost: a\r\n");
        // Reads nothing before everything is sent.
        if framing == "Content-Length" {
            client.send(&format!("Content-Length: {len}\r\n\r\n"));
            client.0.write_all(&noise(len)).expect("all is taken");
        } else {
            client.send(&format!("Transfer-Encoding: chunked\r\n\r\n{len:x}\r\n"));
            client.0.write_all(&noise(len)).expect("all is taken");
            client.send("\r\n0\r\n\r\n");
        }
        let reply = client.read_to_end();
        assert_eq!(
            (reply.status(), reply.body()),
            (429, "slow down\n"),
            "{framing}"
        );
        assert_eq!(reply.field("connection"), Some("close"), "{framing}");
        assert!(!reply.is_reset, "{framing}");
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn curl_sees_the_refusal_of_its_upload() {
    let upstream = Upstream::answering(OK);
    let proxy = refusing(&upstream);
    let folder = Folder::new();
    let file = folder.file("upload", &noise(if is_full() { 64 << 20 } else { 8 << 20 }));
    for expect in ["Expect:", "Expect: 100-continue"] {
        let output = run(
            "curl",
            &[
                "-sS",
                "-T",
                file.to_str().expect("a path"),
                "-H",
                expect,
                "-w",
                "%{http_code}",
                &proxy.url("/"),
            ],
        );
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "slow down\n429",
            "{expect}"
        );
    }
}

#[test]
fn a_small_body_leaves_the_connection_usable() {
    let upstream = Upstream::answering(OK);
    let proxy = refusing(&upstream);
    let mut client = Raw::connect(proxy.address());
    for (head, pieces) in [
        ("Content-Length: 5\r\n\r\n", ["hello", ""]),
        ("Content-Length: 10\r\n\r\n", ["hello", "world"]),
        (
            "Transfer-Encoding: chunked\r\n\r\n",
            ["3\r\nabc\r\n", "0\r\n\r\n"],
        ),
    ] {
        // All but the last arrive in one piece.
        let early = if head.starts_with('T') {
            pieces.concat()
        } else {
            pieces[0].to_owned()
        };
        client.send(&format!("POST / HTTP/1.1\r\nHost: a\r\n{head}{early}"));
        let reply = client.read_response();
        assert_eq!(
            (reply.status(), reply.field("connection")),
            (429, None),
            "{head}"
        );
        if !head.starts_with('T') {
            client.send(pieces[1]);
        }
    }
    let reply = client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert_eq!(reply.status(), 429);
}

#[test]
fn an_upload_that_waits_for_100_continue_is_never_asked_for() {
    let upstream = Upstream::answering(OK);
    let proxy = refusing(&upstream);
    let mut client = Raw::connect(proxy.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
    let reply = client.read_until(|text| text.contains("slow down"));
    assert_eq!(
        (reply.status(), reply.field("connection")),
        (429, Some("close"))
    );
}

#[test]
fn reading_on_is_bounded_in_time() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Nobody, |settings| {
        settings.timeouts.drain = Duration::from_millis(300);
    });
    for length in [1 << 30, 1 << 10] {
        let mut client = Raw::connect(proxy.address());
        client.send(&format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nx"
        ));
        let reply = client.read_until(|text| text.contains("slow down"));
        assert_eq!(reply.status(), 429);
        // Says nothing more, and does not close.
        let took = client.closes_within(Duration::from_secs(5));
        assert!(took < Duration::from_millis(800), "{length}: {took:?}");
    }
}

#[test]
fn reading_on_is_bounded_in_bytes() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Nobody, |settings| {
        settings.limits.drain_bytes = 1 << 20;
    });
    let mut client = Raw::connect(proxy.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1073741824\r\n\r\n");
    let piece = noise(1 << 20);
    let taken = (0..1024)
        .take_while(|_| client.0.write_all(&piece).is_ok())
        .count();
    assert!(taken < 64, "{taken} MiB were taken");
}
