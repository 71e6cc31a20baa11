//! Requests that two servers could read in two ways are refused, and nothing follows them.

use crate::support::eventually;
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, exchange};
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// What follows a request that is read wrongly.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

const REFUSED: &[(&str, u16, &str)] = &[
    (
        "two lengths",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc",
    ),
    (
        "a list of lengths",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc",
    ),
    (
        "a signed length",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
    ),
    (
        "a negative length",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    ),
    (
        "a hexadecimal length",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
    ),
    (
        "a length beyond 64 bits",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551619\r\n\r\n",
    ),
    (
        "length, then coding",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "coding, then length",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    ),
    (
        "an unknown coding",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
    ),
    (
        "an obscured coding",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding before chunked",
        501,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked twice",
        501,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding behind chunked",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding in HTTP/1.0",
        400,
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a space before the colon",
        400,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc",
    ),
    (
        "a folded line",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n Content-Length: 3\r\n\r\n",
    ),
    (
        "a bare CR in a value",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\rContent-Length: 3\r\n\r\n",
    ),
    (
        "a bare CR behind a name",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nX\r: 1\r\n\r\n",
    ),
    (
        "a NUL in a value",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\x002\r\n\r\n",
    ),
    (
        "a line without a colon",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length\r\n\r\n",
    ),
    ("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ("an empty host", 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    (
        "two hosts",
        400,
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    ),
    (
        "a list of hosts",
        400,
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
    ),
    (
        "a path in the host",
        400,
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    ),
    (
        "another host in the target",
        400,
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    (
        "another scheme",
        400,
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    (
        "a target that is no path",
        400,
        "GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    ),
    (
        "a space in the target",
        400,
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    (
        "an unknown version",
        400,
        "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
    ),
    ("no version", 400, "GET /\r\nHost: a\r\n\r\n"),
    ("a TLS greeting", 400, "\x16\x03\x01\x02\x00\x01\r\n\r\n"),
    (
        "CONNECT",
        501,
        "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    ),
    (
        "WebSocket",
        501,
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ),
    (
        "an unknown expectation",
        417,
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: miracles\r\n\r\nabc",
    ),
];

#[test]
fn ambiguous_heads_are_refused_and_the_connection_is_closed() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    for (what, status, request) in REFUSED {
        let reply = exchange(proxy.address(), &format!("{request}{SMUGGLED}"));
        assert_eq!(
            (reply.status(), reply.responses().max(1)),
            (*status, 1),
            "{what}: {}",
            reply.text
        );
        assert!(!reply.is_reset, "{what}: the answer arrives");
    }
    assert_eq!(upstream.heads(), [""; 0], "the upstream saw none of them");
}

#[test]
fn ambiguity_is_seen_in_a_head_that_arrives_byte_by_byte() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    // Behind a first request on the same connection.
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    let head =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
    for byte in head.split_inclusive(|_| true) {
        client.send(byte);
    }
    assert_eq!(client.read_to_end().status(), 400);
    assert_eq!(upstream.heads().len(), 1);
}

#[test]
fn a_pipelined_ambiguous_request_is_read_as_the_rfc_says_and_is_the_last() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let reply = exchange(
        proxy.address(),
        &format!(
            "GET /first HTTP/1.1\r\nHost: a\r\n\r\n\
             POST /second HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}"
        ),
    );
    assert_eq!(reply.responses(), 2, "{}", reply.text);
    let heads = upstream.heads();
    assert_eq!(heads.len(), 2, "{heads:?}");
    assert!(
        !heads[1].contains("content-length"),
        "one framing goes on: {}",
        heads[1]
    );
}

#[test]
fn equal_lengths_become_one() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(client.send(request).read_response().status(), 200);
    assert_eq!(upstream.heads()[0].matches("content-length: 3").count(), 1);
}

#[test]
fn bad_chunks_break_the_request_off() {
    const CHUNKS: &[(&str, &str)] = &[
        ("no hexadecimal digit", "xyz\r\nabc\r\n0\r\n\r\n"),
        (
            "a size beyond 64 bits",
            "10000000000000001\r\nabc\r\n0\r\n\r\n",
        ),
        ("a signed size", "-3\r\nabc\r\n0\r\n\r\n"),
        ("no line end behind the data", "3\r\nabcXX0\r\n\r\n"),
        ("a bare LF behind the size", "3\nabc\r\n0\r\n\r\n"),
        ("a bare LF in an extension", "3;x\nabc\r\n0\r\n\r\n"),
        ("a space before the size", " 3\r\nabc\r\n0\r\n\r\n"),
    ];
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    for (what, chunks) in CHUNKS {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let reply = exchange(proxy.address(), &format!("{head}{chunks}{SMUGGLED}"));
        assert_eq!(
            (reply.status(), reply.responses()),
            (400, 1),
            "{what}: {}",
            reply.text
        );
        assert!(reply.body().contains("malformed"), "{what}: {}", reply.text);
    }
    eventually("no request was smuggled", || {
        upstream
            .heads()
            .iter()
            .all(|head| !head.contains("smuggled"))
    });
}

#[test]
fn an_offer_to_upgrade_may_be_ignored() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n\
                   Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    assert_eq!(client.send(request).read_response().status(), 200);
    assert!(
        !upstream.heads()[0].contains("http2-settings"),
        "{}",
        upstream.heads()[0]
    );
}
