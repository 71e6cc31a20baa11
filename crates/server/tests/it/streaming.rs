//! Bodies of any size and framing pass unchanged, at once, both ways.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::admissions::Holding;
use crate::support::nginx::Nginx;
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, exchange};
use crate::support::upstream::Upstream;
use crate::support::{Folder, curl, eventually, is_full, noise};

fn sizes() -> Vec<usize> {
    let mut sizes = vec![0, 1, 4095, 16 << 10, (16 << 10) + 1, 65_537, (3 << 20) + 7];
    if is_full() {
        sizes.push(64 << 20);
    }
    sizes
}

#[test]
fn bodies_are_byte_exact_both_ways() {
    let nginx = Nginx::start();
    let proxy = Proxy::start(&nginx.url());
    let folder = Folder::new();
    for size in sizes() {
        let bytes = noise(size);
        let sent = folder.file("sent", &bytes);
        let sent = sent.to_str().expect("a path");
        for coding in ["Transfer-Encoding:", "Transfer-Encoding: chunked"] {
            let name = format!("{size}-{}", coding.len());
            let url = proxy.url(&format!("/files/{name}"));
            if size == 0 && coding.ends_with("chunked") {
                // curl 7.88 forgets the last chunk of an empty file.
                let head = format!("PUT /files/{name} HTTP/1.1\r\nHost: a\r\n{coding}\r\n\r\n");
                let reply = Raw::connect(proxy.address())
                    .send(&head)
                    .send("0\r\n\r\n")
                    .read_response();
                assert_eq!(reply.status(), 201);
            } else {
                curl(&["-f", "-T", sent, "-H", coding, "-H", "Expect:", &url]);
            }
            let stored = std::fs::read(nginx.stored(&name)).expect("what nginx stored");
            assert!(stored == bytes, "{size} bytes up, {coding}");

            let back = folder.path().join("back");
            curl(&["-f", "-o", back.to_str().expect("a path"), &url]);
            assert!(
                std::fs::read(&back).expect("what came back") == bytes,
                "{size} bytes down"
            );
        }
    }
}

#[test]
fn an_upload_may_wait_for_100_continue() {
    let nginx = Nginx::start();
    let proxy = Proxy::start(&nginx.url());
    let mut client = Raw::connect(proxy.address());
    client.send(
        "PUT /files/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    );
    let told = client.read_until(|text| text.ends_with("\r\n\r\n"));
    assert_eq!(told.text, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.send("hello").read_response().status(), 201);
    assert_eq!(std::fs::read(nginx.stored("x")).expect("stored"), b"hello");
}

#[test]
fn chunks_arrive_when_they_are_sent() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..3 {
            accepted.write("6\r\nevent\n\r\n");
            thread::sleep(Duration::from_millis(400));
        }
        accepted.write("0\r\n\r\n");
        accepted.is_left();
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    let start = Instant::now();
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_until(|text| text.contains("event"));
    assert!(
        start.elapsed() < Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    let rest = client.read_response();
    assert_eq!(rest.text.matches("event").count(), 2, "{}", rest.text);
}

#[test]
fn a_client_may_send_everything_before_it_reads() {
    const BYTES: usize = 24 << 20;
    // Answers at once and at length, and only then reads what was sent.
    let upstream = Upstream::start(|accepted| {
        accepted.read_head();
        let mut writer = accepted
            .stream
            .get_ref()
            .try_clone()
            .expect("a second handle");
        let writing = thread::spawn(move || {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
            writer
                .write_all(head.as_bytes())
                .and_then(|()| writer.write_all(&noise(BYTES)))
        });
        let mut body = vec![0; BYTES];
        let read = std::io::Read::read_exact(&mut accepted.stream, &mut body);
        assert!(read.is_ok() && body == noise(BYTES), "the upload is exact");
        // The client is content with a half.
        drop(writing.join().expect("written"));
        accepted.is_left();
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    client.send(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {BYTES}\r\n\r\n"
    ));
    client.0.write_all(&noise(BYTES)).expect("all sent");
    let mut received = vec![0; BYTES];
    let head = client.read_until(|text| text.contains("\r\n\r\n"));
    assert_eq!(head.status(), 200);
    let already = head
        .text
        .split_once("\r\n\r\n")
        .map_or(0, |(_, body)| body.len());
    assert!(already < BYTES);
    std::io::Read::read_exact(&mut client.0, &mut received[..BYTES / 2]).expect("half of it");
}

#[test]
fn responses_without_a_body_have_none() {
    let nginx = Nginx::start();
    let proxy = Proxy::start(&nginx.url());
    let mut client = Raw::connect(proxy.address());
    // All on one connection: a body too many would be read as the next response.
    let head = client
        .send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_until(|t| t.ends_with("\r\n\r\n"));
    assert_eq!(
        (head.status(), head.field("content-length")),
        (200, Some("7"))
    );
    let none = client
        .send("GET /204 HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert_eq!(
        (none.status(), none.field("content-length"), none.body()),
        (204, None, "")
    );
    let same = client
        .send("GET /304 HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert_eq!((same.status(), same.body()), (304, ""));
    let full = client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert_eq!((full.status(), full.body()), (200, "answer\n"));
}

#[test]
fn http_1_0_clients_are_served_in_their_way() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
    let proxy = Proxy::start(&upstream.url());
    let reply = exchange(proxy.address(), "GET /old HTTP/1.0\r\n\r\n");
    assert!(reply.text.starts_with("HTTP/1.0 200"), "{}", reply.text);
    assert_eq!(
        (reply.field("transfer-encoding"), reply.body()),
        (None, "abc")
    );
    let head = &upstream.heads()[0];
    assert!(head.starts_with("GET /old HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains(&format!("host: {}\r\n", &upstream.url()[7..])),
        "{head}"
    );
}

#[test]
fn an_http_1_0_upstream_ends_its_body_by_closing() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.0 200 OK\r\n\r\nto the end");
    });
    let proxy = Proxy::start(&upstream.url());
    let reply = Raw::connect(proxy.address())
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert!(reply.body().contains("to the end"), "{}", reply.text);
    assert_eq!(reply.field("transfer-encoding"), Some("chunked"));
}

#[test]
fn trailers_pass_both_ways() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nok\r\n0\r\nx-sum: 42\r\n\r\n",
    );
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    let reply = client
        .send("POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTrailer: x-up\r\n")
        .send("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-up: 7\r\n\r\n")
        .read_until(|text| text.contains("x-sum: 42"));
    assert_eq!(reply.status(), 200);
    let heads = upstream.heads();
    assert!(heads[0].contains("te: trailers\r\n"), "{heads:?}");
    assert_eq!(heads.get(1).map(String::as_str), Some("x-up: 7\r\n"));
}

#[test]
fn upstream_connections_are_kept() {
    let nginx = Nginx::start();
    let proxy = Proxy::start(&nginx.url());
    let folder = Folder::new();
    let body = folder.file("body", &noise(100_000));
    for number in 0..20 {
        assert_eq!(curl(&["-f", &proxy.url("/")]), "answer\n");
        let url = proxy.url(&format!("/files/{number}"));
        curl(&["-f", "-T", body.to_str().expect("a path"), &url]);
    }
    let log = nginx.log();
    assert_eq!(log.len(), 40);
    let mut connections: Vec<_> = log.iter().filter_map(|it| it.split(' ').next()).collect();
    connections.dedup();
    assert!(
        connections.len() <= 2,
        "one after the other on one connection: {log:?}"
    );
}

#[test]
fn what_is_held_for_a_request_is_given_back_when_its_body_ends() {
    let upstream = Upstream::start(|accepted| {
        while accepted.read_request().is_some() {
            accepted
                .write("HTTP/1.1 201 Created\r\nRateLimit: theirs\r\nContent-Length: 4\r\n\r\nab");
            thread::sleep(Duration::from_millis(200));
            accepted.write("cd");
        }
    });
    let admission = Holding::default();
    let (held, answered) = (Arc::clone(&admission.held), Arc::clone(&admission.answered));
    let proxy = Proxy::with(&upstream.url(), admission, |_| {});
    let mut client = Raw::connect(proxy.address());
    let first = client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_until(|t| t.ends_with("ab"));
    assert_eq!(
        (held.load(Ordering::SeqCst), answered.load(Ordering::SeqCst)),
        (1, 201)
    );
    let theirs = first
        .text
        .find("ratelimit: theirs")
        .expect("the upstream's field");
    let ours = first.text.find("ratelimit: ours").expect("ours");
    assert!(theirs < ours, "{}", first.text);
    client.read_until(|text| text.contains("cd"));
    eventually("the unit is given back", || {
        held.load(Ordering::SeqCst) == 0
    });

    // The same when the client leaves amid the body.
    let mut client = Raw::connect(proxy.address());
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_until(|text| text.ends_with("ab"));
    drop(client);
    eventually("the unit of a client that left is given back", || {
        held.load(Ordering::SeqCst) == 0
    });
}

#[test]
fn a_body_passes_whatever_the_method() {
    let upstream = Upstream::start(|accepted| {
        while let Some((_, body)) = accepted.read_request() {
            let body = String::from_utf8(body).expect("text");
            let length = body.len();
            accepted.write(&format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
            ));
        }
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    for method in ["GET", "DELETE", "OPTIONS", "POST", "PATCH", "BREW"] {
        for framed in [
            "Content-Length: 3\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ] {
            client.send(&format!("{method} / HTTP/1.1\r\nHost: a\r\n{framed}"));
            assert_eq!(client.read_response().body(), "abc", "{method}, {framed}");
        }
    }
}
