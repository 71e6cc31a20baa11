//! What is asked again on another connection, and what never is.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::proxy::Proxy;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Tired of waiting: closes after each answer without having said so.
#[test]
fn a_connection_closed_between_requests_costs_nothing() {
    for pause_ms in [0, 1, 20] {
        let upstream = Upstream::start(|accepted| {
            accepted.read_request();
            accepted.write(OK);
        });
        let proxy = Proxy::start(&upstream.url());
        let mut client = Raw::connect(proxy.address());
        for number in 0..20 {
            thread::sleep(Duration::from_millis(pause_ms));
            let reply = client.send(GET).read_response();
            // Without a pause the end of the connection may cross the request: nothing but the
            // upstream can know then whether it was read.
            assert!(
                reply.status() == 200 || pause_ms == 0,
                "{number}: {}",
                reply.text
            );
        }
    }
}

/// Reads the second request of a connection and closes instead of answering.
fn forgetful() -> (Upstream, Arc<Mutex<Vec<String>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let upstream = Upstream::start(move |accepted| {
        accepted.read_request();
        accepted.write(OK);
        if let Some((_, body)) = accepted.read_request() {
            seen.lock()
                .expect("bodies")
                .push(String::from_utf8_lossy(&body).into_owned());
        }
    });
    (upstream, bodies)
}

fn second(request: &str) -> (u16, usize, Vec<String>) {
    let (upstream, bodies) = forgetful();
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    assert_eq!(client.send(GET).read_response().status(), 200);
    thread::sleep(Duration::from_millis(50));
    let status = client.send(request).read_response().status();
    let bodies = bodies.lock().expect("bodies").clone();
    (status, upstream.connections(), bodies)
}

#[test]
fn an_idempotent_request_without_a_body_is_asked_once_more() {
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        let (status, connections, _) = second(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!((status, connections), (200, 2), "{method}");
    }
}

#[test]
fn anything_else_that_was_sent_is_not() {
    let (status, connections, bodies) = second("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((status, connections, bodies.len()), (502, 1, 1));
    let put = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nonce";
    let (status, connections, bodies) = second(put);
    assert_eq!(
        (status, connections, bodies),
        (502, 1, vec!["once".to_owned()])
    );
}

#[test]
fn it_is_not_asked_a_third_time() {
    let upstream = Upstream::start(|accepted| {
        accepted.read_request();
        if accepted.number == 0 {
            accepted.write(OK);
            accepted.read_request();
        }
    });
    let proxy = Proxy::start(&upstream.url());
    let mut client = Raw::connect(proxy.address());
    assert_eq!(client.send(GET).read_response().status(), 200);
    thread::sleep(Duration::from_millis(50));
    assert_eq!(client.send(GET).read_response().status(), 502);
    assert_eq!((upstream.connections(), upstream.heads().len()), (2, 3));
}
