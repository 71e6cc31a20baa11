//! Which fields reach the upstream, and which come back.

use crate::support::admissions::{Everybody, Trusting};
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, Reply};
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn ask(proxy: &Proxy, fields: &str) -> Reply {
    let mut client = Raw::connect(proxy.address());
    client
        .send(&format!(
            "GET /a?b=c HTTP/1.1\r\nHost: api.example\r\n{fields}\r\n"
        ))
        .read_response()
}

fn lines(head: &str) -> Vec<&str> {
    let mut lines: Vec<_> = head.trim_end().split("\r\n").collect();
    lines[1..].sort_unstable();
    lines
}

#[test]
fn the_upstream_gets_what_is_meant_for_it_and_nothing_else() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    ask(
        &proxy,
        "Accept: text/plain\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\
         Proxy-Authorization: Basic eA==\r\nTE: gzip\r\nUpgrade: h2c\r\nX-Jeton-Limited: no\r\n\
         X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.9\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example\r\n",
    );
    assert_eq!(
        lines(&upstream.heads()[0]),
        [
            "GET /a?b=c HTTP/1.1",
            "accept: text/plain",
            "host: api.example",
            "x-forwarded-for: 198.51.100.1, 203.0.113.9, 127.0.0.1",
            "x-forwarded-host: api.example",
            "x-forwarded-proto: http",
        ]
    );
}

#[test]
fn a_trusted_peer_keeps_its_word_about_scheme_and_host() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Trusting, |_| {});
    ask(
        &proxy,
        "X-Forwarded-Proto: https\r\nX-Forwarded-Host: public.example\r\n",
    );
    assert_eq!(
        lines(&upstream.heads()[0])[1..],
        [
            "host: api.example",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: public.example",
            "x-forwarded-proto: https",
        ]
    );
}

#[test]
fn the_client_gets_no_field_of_the_other_hop() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 Fine\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=5\r\nX-Hop: 1\r\n\
         Proxy-Authenticate: Basic\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nServer: theirs\r\n\
         Content-Length: 2\r\n\r\nok",
    );
    let proxy = Proxy::start(&upstream.url());
    let reply = ask(&proxy, "");
    assert!(
        reply.text.starts_with("HTTP/1.1 200 Fine\r\n"),
        "{}",
        reply.text
    );
    for gone in [
        "connection",
        "keep-alive",
        "x-hop",
        "proxy-authenticate",
        "transfer-encoding",
    ] {
        assert_eq!(reply.field(gone), None, "{gone}");
    }
    assert_eq!(
        (reply.field("server"), reply.body()),
        (Some("theirs"), "ok")
    );
    assert_eq!(reply.text.matches("set-cookie").count(), 2);
}

#[test]
fn via_is_written_both_ways_when_asked_for() {
    let upstream =
        Upstream::answering("HTTP/1.1 200 OK\r\nVia: 1.0 b\r\nContent-Length: 0\r\n\r\n");
    let proxy = Proxy::with(&upstream.url(), Everybody, |settings| {
        settings.via = Some(http::HeaderValue::from_static("jeton"));
    });
    let reply = ask(&proxy, "");
    assert!(
        reply.text.contains("via: 1.0 b\r\nvia: 1.1 jeton\r\n"),
        "{}",
        reply.text
    );
    assert!(upstream.heads()[0].contains("via: 1.1 jeton\r\n"));
}

#[test]
fn an_absolute_target_becomes_a_path() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    client
        .send("GET http://api.example/x?y HTTP/1.1\r\nHost: api.example\r\n\r\n")
        .read_response();
    client
        .send("OPTIONS * HTTP/1.1\r\nHost: api.example\r\n\r\n")
        .read_response();
    let heads = upstream.heads();
    assert!(
        heads[0].starts_with("GET /x?y HTTP/1.1\r\nhost: api.example\r\n"),
        "{heads:?}"
    );
    assert!(heads[1].starts_with("OPTIONS * HTTP/1.1\r\n"), "{heads:?}");
}
