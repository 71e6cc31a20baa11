//! The door as part of a service: told, counted, reloaded, drained.

use std::time::{Duration, Instant};

use super::{Client, DOORS, RULE, serve};
use crate::support::binary::{Running, jeton, stdout};
use crate::support::{Folder, eventually};

const TOKEN: &str = "0123456789abcdef-0123456789abcdef";

#[test]
fn it_is_told_checked_and_counted() {
    let jeton = serve("");
    let banner = jeton.banner();
    assert!(banner.contains("  resp     redis://127.0.0.1:"), "{banner}");
    let mut client = Client::to(&jeton);
    for _ in 0..3 {
        client.five("CL.THROTTLE k 1 1 60");
    }
    client.five("JETON.TAKE api k");
    for (name, expected) in [
        (
            "jeton_decisions_total{rule=\"resp\",outcome=\"allowed\"} ",
            2,
        ),
        (
            "jeton_decisions_total{rule=\"resp\",outcome=\"denied\"} ",
            1,
        ),
        (
            "jeton_decisions_total{rule=\"api\",outcome=\"allowed\"} ",
            1,
        ),
        ("jeton_decision_seconds_count ", 4),
        ("jeton_door_connections{door=\"resp\"} ", 1),
        ("jeton_door_in_flight{door=\"resp\"} ", 0),
        ("jeton_door_shed_total{door=\"resp\"} ", 0),
        ("jeton_door_turned_away_total{door=\"resp\"} ", 0),
    ] {
        assert_eq!(jeton.metric(name), expected, "{name}");
    }
}

#[test]
fn the_door_alone_is_enough_to_serve() {
    let policy = "[resp]\nlisten = \"127.0.0.1:0\"\n";
    let jeton = Running::serve(policy);
    assert_eq!(Client::to(&jeton).five("THROTTLE k 5 1 1"), [1, 5, 4, 1, 0]);
}

#[test]
fn a_socket_in_the_file_system_serves_too() {
    use std::io::{Read, Write};
    let folder = Folder::new();
    let path = folder.path().join("resp.sock");
    let policy = format!("[resp]\nlisten = \"unix:{}\"\n", path.display());
    let jeton = Running::serve(&policy);
    assert!(jeton.banner().contains("  resp     unix:/"));
    let mut client = std::os::unix::net::UnixStream::connect(&path).expect("a connection");
    client.write_all(b"PING\r\nQUIT\r\n").expect("sent");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("read");
    assert_eq!(answer, "+PONG\r\n+OK\r\n");
}

#[test]
fn check_tells_who_may() {
    let folder = Folder::new();
    let policy = format!("[resp]\nlisten = \"0.0.0.0:6380\"\ntoken = \"{TOKEN}\"\n{RULE}");
    let path = folder.file("jeton.toml", policy.as_bytes());
    let output = jeton(&["check", "--config", path.to_str().expect("a path")]);
    let told = stdout(&output);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("Redis clients at 0.0.0.0:6380, for clients with the token"),
        "{told}"
    );
    assert!(!told.contains(TOKEN));
}

#[test]
fn a_rotated_token_counts_at_once_and_a_listener_needs_a_restart() {
    let policy = |door: &str| format!("{DOORS}{door}{RULE}");
    let jeton = Running::serve(&policy(&format!("token = \"{TOKEN}\"\n")));
    let mut client = Client::to(&jeton);
    let login =
        |client: &mut Client, token: &str| client.send(format!("AUTH {token}\r\n")).lines(1);
    assert_eq!(login(&mut client, TOKEN), "+OK\r\n");
    let rotated = "fedcba9876543210-fedcba9876543210";
    jeton.folder().file(
        "jeton.toml",
        policy(&format!("token = \"{rotated}\"\n")).as_bytes(),
    );
    jeton.signal("-HUP");
    eventually("the new token is known", || {
        login(&mut Client::to(&jeton), rotated) == "+OK\r\n"
    });
    assert!(login(&mut Client::to(&jeton), TOKEN).starts_with("-WRONGPASS"));
    jeton.folder().file(
        "jeton.toml",
        policy(&format!("token = \"{rotated}\"\nmax_in_flight = 5\n")).as_bytes(),
    );
    jeton.signal("-HUP");
    jeton.logs("[resp] max_in_flight");
    assert!(!jeton.log().contains(TOKEN) && !jeton.log().contains(rotated));
}

#[test]
fn told_to_stop_it_lets_clients_go_and_ends() {
    let mut jeton = serve("");
    let mut idle = Client::to(&jeton);
    assert_eq!(idle.send("PING\r\n").lines(1), "+PONG\r\n");
    let start = Instant::now();
    jeton.signal("-TERM");
    assert_eq!(idle.rest(), "");
    assert!(jeton.ends().success());
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}
