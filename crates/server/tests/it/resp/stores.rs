//! Decisions that take a round trip: a pipeline is one of those, and keeps its order.

use std::time::{Duration, Instant};

use jeton_testkit::proxy::{Fault, Proxy};
use jeton_testkit::redis_server::Version;

use super::{Client, DOORS, RULE, command};
use crate::support::binary::Running;

fn over(url: &str, prefix: &str, rules: &str) -> Running {
    Running::serve(&format!(
        "{DOORS}\n[store]\nkind = \"redis\"\nurl = \"{url}\"\nprefix = \"{prefix}\"\ntimeout = \"5s\"\n{rules}"
    ))
}

#[test]
fn a_pipeline_takes_one_round_trip_and_keeps_its_order() {
    const ROUND_TRIP: Duration = Duration::from_millis(100);
    let proxy = Proxy::before(Version::V7_0.shared().socket());
    let jeton = over(&proxy.url(), "pipeline:", RULE);
    let mut client = Client::to(&jeton);
    // The line stands, and the script of these is not on the server.
    client.five("JETON.TAKE api warm");
    let () = Version::V7_0.shared().ask(&["SCRIPT", "FLUSH"]);
    proxy.set(Fault::Slow(ROUND_TRIP));
    let mut pipeline = Vec::new();
    for number in 0..100 {
        pipeline.extend(command(&[b"CL.THROTTLE", b"k", b"49", b"1", b"3600"]));
        pipeline.extend(command(&[b"ECHO", number.to_string().as_bytes()]));
        pipeline.extend(command(&[b"JETON.TAKE", b"api", b"k"]));
    }
    let start = Instant::now();
    client.send(pipeline);
    for number in 0..100_i64 {
        let answer = client.lines(6 + 2 + 6);
        let lines: Vec<&str> = answer.lines().collect();
        assert_eq!(
            lines[1],
            if number < 50 { ":0" } else { ":1" },
            "{number}: {answer}"
        );
        assert_eq!(lines[3], format!(":{}", (49 - number).max(0)));
        assert_eq!(lines[7], number.to_string());
        assert_eq!(lines[11], format!(":{}", 99 - number));
    }
    let took = start.elapsed();
    // Few, since as much is decided together as has come.
    assert!(took >= ROUND_TRIP && took < 12 * ROUND_TRIP, "{took:?}");
    assert_eq!(
        jeton.metric("jeton_decisions_total{rule=\"resp\",outcome=\"allowed\"} "),
        50
    );
    assert_eq!(
        jeton.metric("jeton_decisions_total{rule=\"resp\",outcome=\"denied\"} "),
        50
    );
}

#[test]
fn two_nodes_share_what_their_callers_bring() {
    let url = Version::V7_0.shared().url();
    let nodes = [over(&url, "brought:", RULE), over(&url, "brought:", RULE)];
    let mut clients = nodes.each_ref().map(Client::to);
    for left in (0..10).rev() {
        let client = &mut clients[usize::from(left % 2 == 0)];
        assert_eq!(client.five("CL.THROTTLE k 9 1 3600")[..3], [0, 10, left]);
    }
    assert_eq!(clients[0].five("CL.THROTTLE k 9 1 3600")[0], 1);
    assert_eq!(clients[1].five("CL.THROTTLE k 9 1 3600")[0], 1);
}

#[test]
fn without_its_store_the_door_goes_by_the_outage_rule() {
    let local = RULE.replace("\"api\"", "\"local\"") + "on_failure = { local = 0.02 }\n";
    let closed = RULE.replace("\"api\"", "\"closed\"") + "on_failure = \"deny\"\n";
    let jeton = over(
        "redis://127.0.0.1:1",
        "away:",
        &format!("{RULE}{local}{closed}"),
    );
    let mut client = Client::to(&jeton);
    assert_eq!(client.five("JETON.TAKE api k"), [1, -1, -1, -1, -1]);
    assert_eq!(client.five("CL.THROTTLE k 9 1 1"), [0, 10, 0, -1, 0]);
    assert_eq!(client.five("JETON.TAKE local k")[..3], [1, 2, 1]);
    assert_eq!(client.five("JETON.TAKE local k")[..3], [1, 2, 0]);
    assert_eq!(client.five("JETON.TAKE local k")[..3], [0, 2, 0]);
    for line in [
        "JETON.TAKE closed k",
        "JETON.REFUND api k",
        "JETON.RESET resp k",
    ] {
        let refused = client.send(format!("{line}\r\n")).lines(1);
        assert!(
            refused.starts_with("-UNAVAILABLE the store cannot be reached"),
            "{refused}"
        );
    }
}
