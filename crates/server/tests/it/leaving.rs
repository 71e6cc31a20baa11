//! Clients that close one direction, and clients that are gone.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::support::admissions::{Everybody, Holding, Nobody};
use crate::support::binary::Running;
use crate::support::eventually;
use crate::support::proxy::Proxy;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Long enough for a FIN to be seen before the answer is there.
const THINKING: Duration = Duration::from_millis(150);

fn thinking() -> Upstream {
    Upstream::start(|accepted| {
        while let Some((_, body)) = accepted.read_request() {
            thread::sleep(THINKING);
            let length = body.len().to_string();
            let (count, length) = (length.len(), &length);
            accepted.write(&format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n{length}"
            ));
        }
    })
}

fn half_close(client: &Raw) {
    client.0.shutdown(Shutdown::Write).expect("half-closed");
}

/// Closes with a reset, as a process that is killed amid reading does.
fn reset(client: Raw) {
    let socket = SockRef::from(&client.0);
    socket.set_linger(Some(Duration::ZERO)).expect("set");
    drop(client);
}

#[test]
fn a_half_closed_client_gets_its_answer_and_then_the_end() {
    let upstream = thinking();
    let proxy = Proxy::start(&upstream.url());
    let long = "x".repeat(200_000);
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (request, body) in [
        (GET.to_owned(), "0"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc".to_owned(),
            "3",
        ),
        (
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n{long}"),
            "200000",
        ),
        (format!("{chunked}3\r\nabc\r\n0\r\n\r\n"), "3"),
    ] {
        let mut client = Raw::connect(proxy.address());
        client.send(&request);
        half_close(&client);
        let reply = client.read_to_end();
        assert_eq!(
            (reply.status(), reply.body()),
            (200, body),
            "{}",
            reply.text
        );
        assert!(!reply.is_reset);
    }
}

#[test]
fn a_half_closed_client_gets_all_it_has_asked_for() {
    let upstream = thinking();
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    client.send(&GET.repeat(3));
    half_close(&client);
    let reply = client.read_to_end();
    assert_eq!(reply.responses(), 3, "{}", reply.text);
    assert_eq!(upstream.heads().len(), 3);
}

#[test]
fn a_half_closed_client_is_told_what_went_wrong() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.is_left();
    });
    let proxy = Proxy::with(&upstream.url(), Everybody, |settings| {
        settings.timeouts.response = Duration::from_millis(300);
    });
    let mut client = Raw::connect(proxy.address());
    client.send(GET);
    half_close(&client);
    assert_eq!(client.read_to_end().status(), 504);

    let refusing = Proxy::with(&upstream.url(), Nobody, |_| {});
    let mut client = Raw::connect(refusing.address());
    client.send(GET);
    half_close(&client);
    assert_eq!(client.read_to_end().status(), 429);
}

#[test]
fn a_half_closed_client_hears_a_stream_to_its_end() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for _ in 0..4 {
            thread::sleep(THINKING);
            accepted.write("6\r\nevent\n\r\n");
        }
        accepted.write("0\r\n\r\n");
        accepted.is_left();
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    client.send(GET);
    half_close(&client);
    let reply = client.read_to_end();
    assert_eq!(reply.text.matches("event").count(), 4, "{}", reply.text);
    assert!(reply.text.ends_with("0\r\n\r\n"), "{}", reply.text);
}

#[test]
fn what_was_charged_is_answered_though_the_client_is_half_closed() {
    let upstream = thinking();
    let url = upstream.url();
    let jeton = Running::proxy(&["--upstream", &url, "--limit", "2/h"]);
    for status in [200, 200, 429] {
        let mut client = Raw::connect(jeton.proxy_address());
        client.send(GET);
        half_close(&client);
        assert_eq!(client.read_to_end().status(), status);
    }
}

#[test]
fn a_client_that_resets_takes_its_request_with_it() {
    for (body, is_half_closed) in [("", false), ("x", false), ("", true)] {
        let is_left = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_left);
        let upstream = Upstream::start(move |accepted| {
            accepted.read_request();
            seen.store(accepted.is_left(), Ordering::SeqCst);
        });
        let proxy = Proxy::start(&upstream.url());
        let mut client = Raw::connect(proxy.address());
        let repeated = body.repeat(200_000);
        let length = repeated.len();
        client.send(&format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{repeated}"
        ));
        if is_half_closed {
            half_close(&client);
        }
        eventually("the upstream has the request", || {
            !upstream.heads().is_empty()
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!is_left.load(Ordering::SeqCst));
        let start = Instant::now();
        reset(client);
        eventually("the upstream's connection is closed", || {
            is_left.load(Ordering::SeqCst)
        });
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn f54_a_client_that_closes_takes_its_stream_with_it() {
    const EVERY: Duration = Duration::from_millis(600);
    let is_left = Arc::new(AtomicBool::new(false));
    let events = Arc::new(AtomicUsize::new(0));
    let (seen, counted) = (Arc::clone(&is_left), Arc::clone(&events));
    let upstream = Upstream::start(move |accepted| {
        accepted.read_request();
        accepted.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        let stream = accepted.stream.get_ref();
        stream.set_read_timeout(Some(EVERY)).expect("a timeout");
        loop {
            accepted.write("6\r\nevent\n\r\n");
            counted.fetch_add(1, Ordering::SeqCst);
            // Closed, and not just silent.
            if matches!(std::io::Read::read(&mut accepted.stream, &mut [0]), Ok(0)) {
                return seen.store(true, Ordering::SeqCst);
            }
        }
    });
    let admission = Holding::default();
    let held = Arc::clone(&admission.held);
    let proxy = Proxy::with(&upstream.url(), admission, |_| {});
    let mut client = Raw::connect(proxy.address());
    client.send(GET).read_until(|text| text.contains("event"));
    // It is counted after it is sent.
    eventually("the event is counted", || events.load(Ordering::SeqCst) > 0);
    let before = events.load(Ordering::SeqCst);
    drop(client);
    eventually("the upstream is free", || is_left.load(Ordering::SeqCst));
    eventually("the unit is given back", || {
        held.load(Ordering::SeqCst) == 0
    });
    let more = events.load(Ordering::SeqCst) - before;
    assert!(more <= 1, "the next event is the last: {more} came");
}

#[test]
fn a_client_that_closes_a_unix_socket_takes_its_request_with_it() {
    use std::io::Write;
    let folder = crate::support::Folder::new();
    let path = folder.path().join("jeton.sock");
    let is_left = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_left);
    let upstream = Upstream::start(move |accepted| {
        accepted.read_request();
        seen.store(accepted.is_left(), Ordering::SeqCst);
    });
    let _proxy = Proxy::with(&upstream.url(), Everybody, |settings| {
        settings.listen = jeton_server::proxy::Address::Unix(path.clone());
    });
    let mut client = std::os::unix::net::UnixStream::connect(&path).expect("connected");
    client.write_all(GET.as_bytes()).expect("sent");
    eventually("the upstream has the request", || {
        !upstream.heads().is_empty()
    });
    client.shutdown(Shutdown::Write).expect("half-closed");
    thread::sleep(2 * THINKING);
    assert!(!is_left.load(Ordering::SeqCst), "it still listens");
    drop(client);
    eventually("the upstream is free", || is_left.load(Ordering::SeqCst));
}

#[test]
fn a_client_that_leaves_amid_its_upload_takes_its_request_with_it() {
    let is_left = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_left);
    let upstream = Upstream::start(move |accepted| {
        seen.store(accepted.read_request().is_none(), Ordering::SeqCst);
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx");
    eventually("the upstream has the head", || !upstream.heads().is_empty());
    drop(client);
    eventually("the upstream sees a broken request", || {
        is_left.load(Ordering::SeqCst)
    });
}
