//! What the proxy tells a hold, and when.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, request, response};
use jeton::door::LimitFields;
use jeton_server::proxy::{Admission, Admitted, Admitting, Hold, Pass, Peer};

use crate::support::eventually;
use crate::support::proxy::Proxy;
use crate::support::raw::{Raw, exchange};
use crate::support::upstream::Upstream;

type Told = Arc<Mutex<Vec<String>>>;

/// Everybody passes, with a hold that writes down what it is told.
struct Noting(Told);

struct Note(Told);

impl Note {
    fn write(&self, what: String) {
        self.0.lock().expect("what is told").push(what);
    }
}

fn units(headers: &HeaderMap) -> &str {
    headers
        .get("x-units")
        .map_or("none", |it| it.to_str().expect("text"))
}

impl Hold for Note {
    fn answered(&mut self, response: &response::Parts) -> Option<LimitFields> {
        let status = response.status.as_u16();
        self.write(format!("head {status} {}", units(&response.headers)));
        None
    }

    fn ended(self: Box<Self>, trailers: &HeaderMap) {
        self.write(format!("end {}", units(trailers)));
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.write("dropped".to_owned());
    }
}

impl Admission for Noting {
    fn admit(&self, _: &mut request::Parts, _: Peer) -> Admitting {
        let hold: Box<dyn Hold> = Box::new(Note(Arc::clone(&self.0)));
        Admitting::Now(Admitted::Pass(Pass {
            wants_trailers: true,
            hold: Some(hold),
            ..Pass::default()
        }))
    }
}

/// What a hold is told when the upstream answers with `response` and the client reads all of it.
fn told_of(method: &str, response: &'static str) -> Vec<String> {
    let upstream = Upstream::start(move |accepted| {
        if accepted.read_request().is_some() {
            accepted.write(response);
        }
    });
    let told = Told::default();
    let proxy = Proxy::with(&upstream.url(), Noting(Arc::clone(&told)), |_| {});
    exchange(
        proxy.address(),
        &format!("{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
    );
    eventually("the hold is dropped", || {
        told.lock().expect("told").iter().any(|it| it == "dropped")
    });
    let mut told = told.lock().expect("told");
    std::mem::take(&mut *told)
}

#[test]
fn a_hold_is_told_of_the_head_and_of_the_end() {
    for (method, response, head) in [
        (
            "GET",
            "HTTP/1.1 200 OK\r\nX-Units: 3\r\nContent-Length: 2\r\n\r\nok",
            "head 200 3",
        ),
        (
            "GET",
            "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
            "head 401 none",
        ),
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
            "head 200 none",
        ),
        (
            "GET",
            "HTTP/1.1 204 No Content\r\nX-Units: 4\r\n\r\n",
            "head 204 4",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\n\r\nuntil the end",
            "head 200 none",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "head 200 none",
        ),
        // Between the upstream and the proxy alone: no client sees it.
        (
            "GET",
            "HTTP/1.1 200 OK\r\nConnection: X-Units\r\nX-Units: 7\r\nContent-Length: 0\r\n\r\n",
            "head 200 7",
        ),
    ] {
        let told = told_of(method, response);
        assert_eq!(told, [head, "end none", "dropped"], "{method}: {response}");
    }
}

#[test]
fn an_upstream_that_breaks_off_has_not_ended() {
    for response in [
        "HTTP/1.1 200 OK\r\nX-Units: 3\r\nContent-Length: 200\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nX-Units: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
    ] {
        assert_eq!(told_of("GET", response), ["head 200 3", "dropped"]);
    }
}

#[test]
fn an_answer_of_the_proxys_own_is_no_answer() {
    for response in [
        "",
        "this is not HTTP\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nX-Units: 3\r\n\r\n0\r\n\r\n",
    ] {
        assert_eq!(told_of("GET", response), ["dropped"], "{response}");
    }
}

#[test]
fn a_client_that_leaves_amid_the_body_leaves_the_hold_unended() {
    let upstream = Upstream::start(|accepted| {
        while accepted.read_request().is_some() {
            accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            // Until the proxy has left.
            while accepted.stream.get_mut().write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
    let told = Told::default();
    let proxy = Proxy::with(&upstream.url(), Noting(Arc::clone(&told)), |_| {});
    let mut client = Raw::connect(proxy.address());
    client
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_until(|text| text.ends_with('x'));
    drop(client);
    eventually("the hold is dropped", || {
        *told.lock().expect("told") == ["head 200 none", "dropped"]
    });
}

#[test]
fn trailers_are_seen_whatever_the_client_understands() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nTrailer: X-Units\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\
         X-Units: 12\r\n\r\n",
    );
    let told = Told::default();
    let proxy = Proxy::with(&upstream.url(), Noting(Arc::clone(&told)), |_| {});
    let mut client = Raw::connect(proxy.address());
    for number in 1..=20 {
        let wish = if number % 2 == 0 {
            "TE: trailers\r\nConnection: TE\r\n"
        } else {
            ""
        };
        client
            .send(&format!("GET / HTTP/1.1\r\nHost: a\r\n{wish}\r\n"))
            .read_until(|text| text.ends_with("\r\n\r\n") && text.contains("\r\n0\r\n"));
        let due = ["head 200 none", "end 12", "dropped"].repeat(number);
        eventually("the trailers are told", || {
            *told.lock().expect("told") == due
        });
    }
    let heads = upstream.heads();
    assert!(heads.iter().all(|head| head.contains("te: trailers")));
    assert_eq!(
        upstream.connections(),
        1,
        "a response with trailers is over"
    );
}
