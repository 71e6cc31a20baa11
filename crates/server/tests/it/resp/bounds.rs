//! How many, how much at once, how long.

use std::time::{Duration, Instant};

use jeton_testkit::proxy::{Fault, Proxy};
use jeton_testkit::redis_server::Version;

use super::{Client, DOORS, RULE, serve};
use crate::support::binary::Running;
use crate::support::eventually;

#[test]
fn a_connection_too_many_is_told_so_and_counted() {
    let jeton = serve("max_connections = 2\n");
    let mut one = Client::to(&jeton);
    let mut two = Client::to(&jeton);
    assert_eq!(one.send("PING\r\n").lines(1), "+PONG\r\n");
    assert_eq!(two.send("PING\r\n").lines(1), "+PONG\r\n");
    let refusal = Client::to(&jeton).rest();
    assert!(
        refusal.starts_with("-ERR max number of clients reached"),
        "{refusal}"
    );
    assert!(refusal.contains("max_connections"), "{refusal}");
    assert_eq!(
        jeton.metric("jeton_door_turned_away_total{door=\"resp\"} "),
        1
    );
    assert_eq!(jeton.metric("jeton_door_connections{door=\"resp\"} "), 2);
    drop(two);
    eventually("one has left", || {
        jeton.metric("jeton_door_connections{door=\"resp\"} ") == 1
    });
    assert_eq!(Client::to(&jeton).send("PING\r\n").lines(1), "+PONG\r\n");
}

/// A store that has gone to sleep fills the room there is; what comes then is answered at once.
#[test]
fn decisions_beyond_the_most_are_the_outage_rules_at_once_and_counted() {
    let proxy = Proxy::before(Version::V7_0.shared().socket());
    let store = format!(
        "\n[store]\nkind = \"redis\"\nurl = \"{}\"\nprefix = \"shed:\"\ntimeout = \"10s\"\n",
        proxy.url()
    );
    let closed = RULE.replace("\"api\"", "\"closed\"") + "on_failure = \"deny\"\n";
    let jeton = Running::serve(&format!("{DOORS}max_in_flight = 3\n{store}{RULE}{closed}"));
    let mut warm = Client::to(&jeton);
    assert_eq!(warm.five("JETON.TAKE api warm")[0], 1);
    proxy.set(Fault::Hang);
    let mut waiting = Client::to(&jeton);
    waiting.send("JETON.TAKE api a\r\nJETON.TAKE api b\r\nJETON.TAKE api c\r\n");
    eventually("three are out", || {
        jeton.metric("jeton_door_in_flight{door=\"resp\"} ") == 3
    });
    let start = Instant::now();
    assert_eq!(warm.five("JETON.TAKE api d"), [1, -1, -1, -1, -1]);
    assert_eq!(warm.five("CL.THROTTLE d 9 1 1"), [0, 10, 0, -1, 0]);
    assert_eq!(warm.five("THROTTLE d 9 1 1"), [1, 9, 0, 0, 0]);
    let refused = warm.send("JETON.TAKE closed d\r\n").lines(1);
    assert!(
        refused.starts_with("-UNAVAILABLE as much is in flight as may be"),
        "{refused}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(jeton.metric("jeton_door_shed_total{door=\"resp\"} "), 4);
    let saturated = "jeton_store_errors_total{reason=\"saturated\"} ";
    assert_eq!(jeton.metric(saturated), 4);
    assert_eq!(
        jeton.metric("jeton_degraded "),
        0,
        "the store is not to blame"
    );
    proxy.set(Fault::None);
    drop(waiting);
}

#[test]
fn who_says_nothing_is_let_go() {
    let jeton = serve("idle_timeout = \"300ms\"\n");
    let mut busy = Client::to(&jeton);
    let start = Instant::now();
    let silent = Client::to(&jeton);
    let mut half = Client::to(&jeton);
    half.send("*1\r\n$4\r\nPI");
    for _ in 0..8 {
        assert_eq!(busy.send("PING\r\n").lines(1), "+PONG\r\n");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((silent.rest(), half.rest()), (String::new(), String::new()));
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(800) && took < Duration::from_secs(5),
        "{took:?}"
    );
    assert_eq!(busy.rest(), "");
}
