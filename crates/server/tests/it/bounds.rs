//! Nothing waits for ever, and nothing grows without end.

use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::support::admissions::Everybody;
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, Reply, exchange};
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Bounds are promises: held to within the project's grace, and a scheduler that is busy.
const GRACE: Duration = Duration::from_millis(230);

fn assert_took(took: Duration, bound: Duration) {
    assert!(
        took + Duration::from_millis(20) >= bound && took < bound + GRACE,
        "{took:?}, not {bound:?}"
    );
}

fn assert_problem(reply: &Reply, status: u16) {
    assert_eq!(reply.status(), status, "{}", reply.text);
    assert_eq!(
        reply.field("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(reply.field("cache-control"), Some("no-store"));
    let told = format!("\"status\":{status}");
    assert!(reply.body().contains(&told), "{}", reply.text);
}

#[test]
fn a_head_must_end_in_time() {
    let upstream = Upstream::answering(OK);
    let span = Duration::from_millis(300);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.timeouts.head = span);
    let mut client = Raw::connect(proxy.address());
    // Also for the second head of a connection, and whoever drips.
    client.send(GET).read_response();
    let start = Instant::now();
    let mut dripping = client.0.try_clone().expect("a second handle");
    let drip = thread::spawn(move || {
        for byte in b"GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" {
            thread::sleep(Duration::from_millis(20));
            if dripping.write_all(&[*byte]).is_err() {
                break;
            }
        }
    });
    assert_eq!(client.read_to_end().status(), 408);
    assert_took(
        start.elapsed().saturating_sub(Duration::from_millis(20)),
        span,
    );
    drip.join().expect("the dripping client");
}

#[test]
fn a_connection_that_says_nothing_is_closed_without_a_word() {
    let upstream = Upstream::answering(OK);
    let (head, idle) = (Duration::from_millis(200), Duration::from_millis(600));
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| {
        it.timeouts.head = head;
        it.timeouts.idle = idle;
    });
    let start = Instant::now();
    assert_eq!(Raw::connect(proxy.address()).read_to_end().text, "");
    assert_took(start.elapsed(), head);

    let mut client = Raw::connect(proxy.address());
    client.send(GET).read_response();
    assert_took(client.closes_within(Duration::from_secs(5)), idle);
}

#[test]
fn heads_have_a_size_and_a_count() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| {
        it.limits.head_bytes = 16 << 10;
    });
    let status = |fields: &str| {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
        exchange(proxy.address(), &head).status()
    };
    assert_eq!(status(&format!("X: {}\r\n", "a".repeat(15 << 10))), 200);
    assert_eq!(status(&format!("X: {}\r\n", "a".repeat(17 << 10))), 431);
    assert_eq!(
        status(&format!("X: {}\r\n", "a".repeat(4 << 20))),
        431,
        "a bomb"
    );
    let fields = |count: usize| {
        (0..count).fold(String::new(), |mut fields, number| {
            let _ = write!(fields, "X-{number}: a\r\n");
            fields
        })
    };
    assert_eq!(status(&fields(98)), 200);
    assert_eq!(status(&fields(99)), 431);
    let long = format!("/{}", "a".repeat(20 << 10));
    let reply = exchange(
        proxy.address(),
        &format!("GET {long} HTTP/1.1\r\nHost: a\r\n\r\n"),
    );
    assert!([414, 431].contains(&reply.status()), "{}", reply.text);
    assert_eq!(upstream.heads().len(), 2);
}

#[test]
fn the_number_of_fields_can_be_set() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.limits.head_fields = 3);
    let head = |fields| format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    assert_eq!(exchange(proxy.address(), &head("A: 1\r\n")).status(), 200);
    assert_eq!(
        exchange(proxy.address(), &head("A: 1\r\nB: 2\r\n")).status(),
        431
    );
}

#[test]
fn an_upstream_that_does_not_accept_is_504() {
    // A full queue: the system drops what would come on top.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    listener
        .bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())
        .expect("bound");
    listener.listen(0).expect("listening");
    let address = listener
        .local_addr()
        .expect("its address")
        .as_socket()
        .expect("TCP");
    let wait = Duration::from_millis(100);
    let queued: Vec<_> = (0..8)
        .map_while(|_| TcpStream::connect_timeout(&address, wait).ok())
        .collect();
    assert!(queued.len() < 8, "the queue is full");

    let span = Duration::from_millis(300);
    let proxy = Proxy::with(&format!("http://{address}"), Everybody, |it| {
        it.timeouts.connect = span;
    });
    let start = Instant::now();
    let reply = Raw::connect(proxy.address()).send(GET).read_response();
    assert_took(start.elapsed(), span);
    assert_problem(&reply, 504);
}

#[test]
fn an_upstream_that_does_not_answer_is_504() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        // Only a part of a head.
        accepted.write("HTTP/1.1 200 OK\r\nX: ");
        accepted.is_left();
    });
    let span = Duration::from_millis(300);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.timeouts.response = span);
    let mut client = Raw::connect(proxy.address());
    let large = "x".repeat(100_000);
    for body in ["", "x", &large] {
        let start = Instant::now();
        let length = body.len();
        client.send(&format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        let reply = client.read_response();
        assert_took(start.elapsed(), span);
        assert_problem(&reply, 504);
    }
}

#[test]
fn a_slow_upload_may_take_longer_than_an_answer() {
    let upstream = Upstream::answering(OK);
    let span = Duration::from_millis(400);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.timeouts.response = span);
    let mut client = Raw::connect(proxy.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(80));
        client.send(&"x".repeat(10_000));
    }
    assert_eq!(client.read_response().status(), 200);
}

#[test]
fn an_upload_that_stalls_is_408() {
    let upstream = Upstream::answering(OK);
    let span = Duration::from_millis(300);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.timeouts.response = span);
    for length in [10, 100_000] {
        let mut client = Raw::connect(proxy.address());
        let start = Instant::now();
        client.send(&format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nx"
        ));
        let reply = client.read_response();
        assert_took(start.elapsed(), span);
        assert_problem(&reply, 408);
        assert_eq!(reply.field("connection"), Some("close"));
    }
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
        let piece = vec![b'x'; 1 << 20];
        while accepted.stream.get_mut().write_all(&piece).is_ok() {}
    });
    let span = Duration::from_millis(400);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.timeouts.write = span);
    let mut client = Raw::connect(proxy.address());
    client.send(GET);
    thread::sleep(Duration::from_millis(1200));
    let mut taken = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = std::io::Read::read(&mut client.0, &mut buffer) {
        taken += count;
    }
    assert!(taken < 64 << 20, "{taken} bytes of a response of 1 GiB");
}

#[test]
fn connections_beyond_the_cap_wait_for_their_turn() {
    let upstream = Upstream::answering(OK);
    let proxy = Proxy::with(&upstream.url(), Everybody, |it| it.limits.connections = 2);
    let mut first = Raw::connect(proxy.address());
    let mut second = Raw::connect(proxy.address());
    first.send(GET).read_response();
    second.send(GET).read_response();
    let mut third = Raw::connect(proxy.address());
    third
        .send(GET)
        .0
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a timeout");
    let refused = std::io::Read::read(&mut third.0, &mut [0]).expect_err("not yet");
    assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock);
    drop(first);
    third
        .0
        .set_read_timeout(Some(Duration::from_secs(5)))
        .expect("a timeout");
    assert_eq!(third.read_response().status(), 200);
}
