//! An upstream that is down, resets, breaks off or talks nonsense.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::nginx::Nginx;
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, Reply, exchange};
use crate::support::upstream::Upstream;
use crate::support::{Folder, eventually, noise, run};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn assert_bad_gateway(reply: &Reply, says: &str) {
    assert_eq!(reply.status(), 502, "{}", reply.text);
    assert_eq!(
        reply.field("content-type"),
        Some("application/problem+json")
    );
    assert!(
        reply
            .body()
            .contains(r#""title":"Bad Gateway","status":502"#),
        "{}",
        reply.text
    );
    assert!(reply.body().contains(says), "{}", reply.text);
}

#[test]
fn down_is_502_and_the_connection_lives_on() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let proxy = Proxy::start(&url);
    let mut client = Raw::connect(proxy.address());
    for _ in 0..2 {
        assert_bad_gateway(&client.send(GET).read_response(), "cannot be reached");
    }
    // The refusal of an upload arrives too.
    let len = 3 << 20;
    client.send(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n"
    ));
    client.send(&"x".repeat(len));
    assert_bad_gateway(&client.read_to_end(), "cannot be reached");
}

#[test]
fn a_name_that_does_not_resolve_is_502() {
    let proxy = Proxy::start("http://nowhere.invalid:80");
    assert_bad_gateway(
        &Raw::connect(proxy.address()).send(GET).read_response(),
        "reached",
    );
}

#[test]
fn closing_or_resetting_without_an_answer_is_502() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        if accepted.number % 2 == 1 {
            let socket = socket2::SockRef::from(accepted.stream.get_ref());
            socket
                .set_linger(Some(Duration::ZERO))
                .expect("a reset on close");
        }
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    for _ in 0..4 {
        assert_bad_gateway(&client.send(GET).read_response(), "without an answer");
    }
    assert_eq!(
        upstream.connections(),
        4,
        "a fresh connection is not tried again"
    );
}

#[test]
fn what_is_not_http_is_502() {
    const ANSWERS: &[(&str, &str)] = &[
        ("noise", "\x01\x02\x03\x04 nonsense\r\n\r\n"),
        ("another protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
        (
            "two lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        ),
        (
            "a length that is none",
            "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nab",
        ),
        (
            "a folded line",
            "HTTP/1.1 200 OK\r\nA: 1\r\n b\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "another protocol, unasked",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        ),
    ];
    for (what, answer) in ANSWERS {
        let upstream = Upstream::answering(answer);
        let proxy = Proxy::start(&upstream.url());
        let reply = Raw::connect(proxy.address()).send(GET).read_response();
        println!("{what}: {}", reply.text);
        assert_bad_gateway(&reply, "not HTTP");
    }
}

#[test]
fn a_head_bomb_is_502() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.1 200 OK\r\n");
        for _ in 0..100 {
            accepted.write(&format!("X: {}\r\n", "a".repeat(8 << 10)));
        }
        accepted.write("\r\n");
        accepted.is_left();
    });
    let proxy = Proxy::start(&upstream.url());
    let reply = Raw::connect(proxy.address()).send(GET).read_response();
    assert_bad_gateway(&reply, "too large");
}

#[test]
fn a_body_that_breaks_off_is_not_passed_on_as_whole() {
    for head in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let upstream = Upstream::start(move |accepted| {
            accepted.read_request();
            let body = if head.starts_with('C') {
                "abc"
            } else {
                "3\r\nabc\r\n"
            };
            accepted.write(&format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"));
        });
        let proxy = Proxy::start(&upstream.url());
        let reply = exchange(proxy.address(), GET);
        assert!(reply.text.contains("abc"), "{}", reply.text);
        assert!(
            !reply.text.ends_with("0\r\n\r\n"),
            "a false end: {}",
            reply.text
        );
        let output = run("curl", &["-sS", &proxy.url("/")]);
        assert!(!output.status.success(), "curl notices");
    }
}

#[test]
fn an_answer_before_the_end_of_an_upload_is_delivered() {
    // nginx refuses by the length, closes its side, and reads on for a while.
    let nginx = Nginx::start();
    let proxy = Proxy::start(&nginx.url());
    let folder = Folder::new();
    let file = folder.file("upload", &noise(8 << 20));
    for expect in ["Expect:", "Expect: 100-continue"] {
        let output = run(
            "curl",
            &[
                "-sS",
                "-T",
                file.to_str().expect("a path"),
                "-H",
                expect,
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                &proxy.url("/small"),
            ],
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), "413", "{expect}");
    }
}

#[test]
fn an_upstream_that_answers_and_resets_an_upload_is_heard() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_head();
        accepted
            .write("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n");
        thread::sleep(Duration::from_millis(100));
        // Dropped with bytes unread: the system resets the connection.
    });
    let proxy = Proxy::start(&upstream.url());
    for _ in 0..10 {
        let mut client = Raw::connect(proxy.address());
        let len = 4 << 20;
        client.send(&format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {len}\r\n\r\n"
        ));
        client.send(&"x".repeat(len));
        let reply = client.read_response();
        assert_eq!((reply.status(), reply.body()), (403, "no\n"));
    }
}

#[test]
fn an_answer_too_many_is_nobodys() {
    // Whoever asks next on this connection must not get it, be it there at once or later on.
    for at_once in [true, false] {
        let written = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&written);
        let upstream = Upstream::start(move |accepted| {
            let answer = |word| format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{word}");
            while accepted.read_request().is_some() {
                if at_once {
                    accepted.write(&(answer("right") + &answer("wrong")));
                } else {
                    accepted.write(&answer("right"));
                    accepted.write(&answer("wrong"));
                }
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let proxy = Proxy::start(&upstream.url());
        let mut client = Raw::connect(proxy.address());
        for number in 0..20 {
            let reply = client.send(GET).read_response();
            assert!(!reply.body().contains("wrong"), "{number}: {}", reply.text);
            // An answer that comes only after the next request was sent can be told by nobody.
            eventually("all is written", || written.load(Ordering::SeqCst) > number);
        }
    }
}

#[test]
fn an_answer_with_two_framings_goes_on_with_one() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
         6\r\nabcdef\r\n0\r\n\r\n",
    );
    let proxy = Proxy::start(&upstream.url());
    let reply = Raw::connect(proxy.address()).send(GET).read_response();
    assert_eq!(reply.field("content-length"), None, "{}", reply.text);
    assert!(reply.body().contains("abcdef"), "{}", reply.text);
}

#[test]
fn an_answer_in_a_coding_that_cannot_go_on_is_502() {
    let coded = [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nzip\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nzip\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: x-mine\r\n\r\nzip",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n3\r\nzip\r\n0\r\n\r\n",
    ];
    for answer in coded {
        let upstream = Upstream::answering(answer);
        let proxy = Proxy::start(&upstream.url());
        let mut client = Raw::connect(proxy.address());
        for _ in 0..2 {
            assert_bad_gateway(&client.send(GET).read_response(), "transfer coding");
        }
        assert_eq!(upstream.connections(), 2, "what is left of it is nobody's");
    }
}
