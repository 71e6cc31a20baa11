//! Told to stop, the proxy finishes what it has begun and nothing else.

use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::admissions::Everybody;
use crate::support::eventually;
use crate::support::proxy::Proxy;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn answering_after(delay_ms: u64) -> Upstream {
    Upstream::start(move |accepted| {
        while accepted.read_request().is_some() {
            thread::sleep(Duration::from_millis(delay_ms));
            accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
            thread::sleep(Duration::from_millis(delay_ms));
            accepted.write("done");
        }
    })
}

#[test]
fn requests_in_flight_are_finished_and_idle_connections_closed() {
    let upstream = answering_after(200);
    let mut proxy = Proxy::start(&upstream.url());
    let address = proxy.address();
    let mut idle = Raw::connect(address);
    idle.send(GET).read_response();
    let mut silent = Raw::connect(address);
    let mut busy = Raw::connect(address);
    busy.send(GET);
    eventually("the request is with the upstream", || {
        upstream.heads().len() == 2
    });

    proxy.stop();
    assert!(idle.closes_within(Duration::from_millis(150)) < Duration::from_millis(150));
    silent.closes_within(Duration::from_millis(150));
    let refused = TcpStream::connect(address).expect_err("new connections are refused");
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(!proxy.is_over());
    let reply = busy.read_to_end();
    assert_eq!((reply.status(), reply.body()), (200, "done"));
    assert_eq!(reply.field("connection"), Some("close"));
    eventually("the proxy has stopped", || proxy.is_over());
}

#[test]
fn what_does_not_finish_is_cut_off_at_the_deadline() {
    let upstream = answering_after(60_000);
    let mut proxy = Proxy::with(&upstream.url(), Everybody, |settings| {
        settings.timeouts.shutdown = Duration::from_millis(300);
    });
    let mut busy = Raw::connect(proxy.address());
    busy.send(GET);
    eventually("the request is with the upstream", || {
        upstream.heads().len() == 1
    });
    let start = Instant::now();
    proxy.stop();
    eventually("the proxy has stopped", || proxy.is_over());
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(290) && took < Duration::from_millis(800),
        "{took:?}"
    );
    assert_eq!(busy.read_to_end().text, "");
}
