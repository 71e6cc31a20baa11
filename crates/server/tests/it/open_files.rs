//! A process that may open few files: it serves fewer at once, and health and log stay usable.

use std::thread;
use std::time::Duration;

use crate::support::binary::Running;
use crate::support::curl;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";

fn policy(upstream: &Upstream, more: &str) -> String {
    format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{}\"\n{more}\n\
         [api]\nlisten = \"127.0.0.1:0\"\n\
         [[rule]]\nname = \"all\"\nkey = [\"client-ip\"]\nalgorithm = \"token-bucket\"\n\
         rate = \"1000/s\"\n",
        upstream.url()
    )
}

fn warnings(jeton: &Running, of: &str) -> usize {
    let log = jeton.log();
    let warned = log.lines().filter(|line| line.contains("WARN"));
    warned.filter(|line| line.contains(of)).count()
}

#[test]
fn idle_clients_leave_files_for_health_and_for_the_upstream() {
    let upstream = Upstream::answering(OK);
    let jeton = Running::serve_within(64, &policy(&upstream, ""));
    let mut clients: Vec<Raw> = (0..16)
        .map(|_| Raw::connect(jeton.proxy_address()))
        .collect();
    let waiting: Vec<Raw> = (0..64)
        .map(|_| Raw::connect(jeton.proxy_address()))
        .collect();
    for client in &mut clients {
        assert_eq!(client.send(GET).read_response().status(), 200);
    }
    let calls: Vec<Raw> = (0..8).map(|_| Raw::connect(jeton.api_address())).collect();
    for path in ["healthz", "readyz", "metrics"] {
        curl(&[
            "-f",
            "--max-time",
            "2",
            &format!("http://{}/{path}", jeton.api_address()),
        ]);
    }
    thread::sleep(Duration::from_millis(300));
    assert_eq!(warnings(&jeton, "not accepted"), 0, "{}", jeton.log());
    assert_eq!(warnings(&jeton, ""), 1, "{}", jeton.log());
    assert_eq!(
        warnings(
            &jeton,
            "max_connections = 10000 of [proxy] does not fit the limit of 64 open files"
        ),
        1,
        "{}",
        jeton.log()
    );
    drop((clients, calls));
    let mut next = waiting.into_iter().next().expect("one that waited");
    assert_eq!(next.send(GET).read_response().status(), 200);
}

#[test]
fn what_fits_is_not_warned_about() {
    let upstream = Upstream::answering(OK);
    let jeton = Running::serve_within(64, &policy(&upstream, "max_connections = 16"));
    let mut client = Raw::connect(jeton.proxy_address());
    assert_eq!(client.send(GET).read_response().status(), 200);
    assert_eq!(warnings(&jeton, ""), 0, "{}", jeton.log());
}

#[test]
fn the_soft_limit_is_raised_as_far_as_it_is_needed() {
    let upstream = Upstream::answering(OK);
    let policy = policy(&upstream, "max_connections = 100");
    // Soft alone: the hard limit stays what it is here.
    let jeton = Running::serve_with_soft_limit(64, &policy);
    let mut clients: Vec<Raw> = (0..100)
        .map(|_| Raw::connect(jeton.proxy_address()))
        .collect();
    for client in &mut clients {
        assert_eq!(client.send(GET).read_response().status(), 200);
    }
    assert_eq!(warnings(&jeton, ""), 0, "{}", jeton.log());
}

#[test]
fn failing_to_accept_is_told_once_however_long_it_lasts() {
    let upstream = Upstream::answering(OK);
    let jeton = Running::serve_within(64, &policy(&upstream, "max_connections = 16"));
    jeton.limit_files(3);
    let mut client = Raw::connect(jeton.proxy_address());
    let _call = Raw::connect(jeton.api_address());
    jeton.logs("connections to the proxy are not accepted");
    jeton.logs("connections to the API are not accepted");
    thread::sleep(Duration::from_millis(800));
    assert_eq!(warnings(&jeton, "not accepted"), 2, "{}", jeton.log());
    jeton.limit_files(64);
    assert_eq!(client.send(GET).read_response().status(), 200);
}

#[test]
fn the_door_for_envoy_takes_no_more_than_there_are_files() {
    let doors = "[api]\nlisten = \"127.0.0.1:0\"\n[rls]\nlisten = \"127.0.0.1:0\"\n";
    let rule =
        "[[rule]]\nname = \"all\"\nkey = [\"global\"]\nalgorithm = \"gcra\"\nrate = \"9/s\"\n";
    let jeton = Running::serve_within(64, &format!("{doors}max_connections = 500\n{rule}"));
    jeton.logs(
        "max_connections = 500 of [rls] does not fit the limit of 64 open files: 32 are served",
    );
    let mut clients: Vec<Raw> = (0..60).map(|_| Raw::connect(jeton.rls_address())).collect();
    crate::support::eventually("those beyond are turned away", || {
        jeton.metric("jeton_door_turned_away_total{door=\"rls\"}") == 28
    });
    let health = "GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(clients[0].send(health).read_response().status(), 200);
    assert_eq!(warnings(&jeton, "not accepted"), 0, "{}", jeton.log());
}
