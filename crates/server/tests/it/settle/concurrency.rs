//! Units that are taken for as long as a response lasts.

use std::thread;
use std::time::Duration;

use super::{Behind, Client};
use crate::support::eventually;

fn at_most_two(lease: &str) -> Behind {
    Behind::by(&format!(
        "[[rule]]\nname = \"two\"\nkey = [\"header:x-user\"]\nalgorithm = \"concurrency\"\nlimit = 2\n\
         lease = \"{lease}\"\n"
    ))
}

#[test]
fn units_are_out_until_the_body_ends_however_short_the_lease() {
    let service = at_most_two("600ms");
    let mut slow: Vec<_> = (0..2).map(|_| service.client()).collect();
    for client in &mut slow {
        let raw = client.send("/?pause=2500", "");
        raw.read_until(|text| text.ends_with("ab\r\n"));
    }
    // Three leases long: the proxy renews them.
    for _ in 0..9 {
        let denied = service.ask("/", "");
        assert_eq!(denied.status(), 429);
        assert_eq!(denied.field("retry-after"), Some("1"));
        thread::sleep(Duration::from_millis(200));
    }
    for client in &mut slow {
        client.0.read_until(|text| text.ends_with("0\r\n\r\n"));
    }
    eventually("the units are back", || {
        service.ask("/", "").status() == 200
    });
    let mut client = service.client();
    for _ in 0..20 {
        assert_eq!(client.ask("/", "").status(), 200);
    }
}

/// A client whose response is under way. It may have to ask more than once: a unit comes back when
/// the proxy notices that an end is gone, which is after that end went.
fn under_way(service: &Behind, target: &str) -> Client {
    let mut held = None;
    eventually("a unit is free", || {
        let mut client = service.client();
        let reply = client
            .send(target, "")
            .read_until(|text| text.ends_with("ab\r\n") || text.starts_with("HTTP/1.1 429"));
        held = reply.text.starts_with("HTTP/1.1 200").then_some(client);
        held.is_some()
    });
    held.expect("a client whose response is under way")
}

#[test]
fn units_come_back_when_either_end_breaks_off() {
    let service = at_most_two("1h");
    for _ in 0..3 {
        // Both units must be back from the round before.
        let leaving = under_way(&service, "/?pause=5000");
        let mut cut = under_way(&service, "/?pause=700&die=body");
        assert_eq!(service.ask("/", "").status(), 429);
        leaving.reset();
        cut.0.read_to_end();
        eventually("a unit is free", || {
            service.ask("/?die=head", "").status() == 502
        });
        eventually("the units are back", || {
            service.ask("/", "").status() == 200
        });
    }
}
