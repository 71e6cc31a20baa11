//! What was admitted, counted by everybody who could see it.

use std::time::{Duration, Instant};

use super::Guarded;
use crate::support::raw::Raw;
use crate::support::{eventually, is_full, run};

/// 64 connections push at a rule of 1000/s: the upstream's log, the metrics and the bound agree.
#[test]
fn the_upstream_sees_what_was_allowed_and_no_more_than_the_bound() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"all\"\nkey = \"global\"\nalgorithm = \"token-bucket\"\nrate = \"1000/s\"\nburst = 500\n",
    );
    let seconds = if is_full() { 10 } else { 2 };
    let started = Instant::now();
    let url = format!("http://{}/", guarded.address());
    let duration = format!("{seconds}s");
    let output = run("wrk", &["-t2", "-c64", "-d", &duration, &url]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Non-2xx"), "it was not limited: {text}");

    let allowed = "jeton_decisions_total{rule=\"all\",outcome=\"allowed\"}";
    // wrk leaves while requests are in flight; nginx writes them down when it is done.
    eventually("the log and the metrics agree", || {
        guarded.jeton.metric(allowed) == guarded.nginx.log().len() as u64
    });
    let counted = guarded.jeton.metric(allowed);
    // What was in flight when wrk left came later than wrk did.
    let span = started.elapsed();
    let bound = 500 + u64::try_from(span.as_millis()).expect("a span");
    assert!(counted <= bound, "{counted} of at most {bound}");
    assert!(counted >= 500 + 900 * seconds, "{counted}: {text}");
    let denied = guarded
        .jeton
        .metric("jeton_decisions_total{rule=\"all\",outcome=\"denied\"}");
    println!("{counted} allowed (bound {bound}), {denied} denied in {span:?}");
    let timed = guarded.jeton.metric("jeton_decision_seconds_count");
    assert_eq!(timed, counted + denied);
}

#[test]
fn a_process_that_was_stopped_for_seven_seconds_is_right_at_once() {
    let guarded = Guarded::by(
        r#"
[[rule]]
name = "log"
match = { path = "/" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "6s"

[[rule]]
name = "bucket"
match = { path = "/204" }
key = ["client-ip"]
algorithm = "token-bucket"
rate = "1/s"
burst = 20

[[rule]]
name = "long"
match = { path = "/quiet" }
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1h"
"#,
    );
    let mut client = guarded.client();
    let drained = Instant::now();
    assert_eq!(client.passes(6, "/", ""), 5);
    assert_eq!(client.passes(6, "/quiet", ""), 5);
    let of_bucket = |client: &mut super::Client| {
        (0..30)
            .map(|_| client.ask("GET", "/204", "").status())
            .filter(|status| *status == 204)
            .count()
    };
    assert_eq!(of_bucket(&mut client), 20);

    guarded.jeton.signal("-STOP");
    std::thread::sleep(Duration::from_secs(7));
    guarded.jeton.signal("-CONT");

    // The very first answers: the window has passed, the hour has not, seven units came back.
    assert_eq!(client.passes(6, "/", ""), 5, "the log");
    assert_eq!(client.passes(1, "/quiet", ""), 0, "the long log");
    let back = of_bucket(&mut client) as u64;
    let most = drained.elapsed().as_secs();
    assert!((7..=most).contains(&back), "{back} of at most {most}");
}

#[test]
fn clients_are_apart_and_connections_are_not() {
    let guarded = Guarded::by(
        "[[rule]]\nname = \"five\"\nkey = [\"client-ip\"]\nalgorithm = \"sliding-log\"\nlimit = 5\nwindow = \"10min\"\n",
    );
    let connections: usize = (0..10).map(|_| guarded.client().passes(1, "/", "")).sum();
    assert_eq!(connections, 5);
    let url = format!("http://{}/", guarded.address());
    let other = crate::support::curl(&[
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        "--interface",
        "127.0.0.77",
        &url,
    ]);
    assert_eq!(other, "200");
    // Whoever keeps a connection open is limited on it as well.
    let mut kept = Raw::connect(guarded.address());
    let reply = kept
        .send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .read_response();
    assert_eq!(reply.status(), 429);
}
