//! Jeton down, or silent: requests pass where the example says so, and are refused where it does not.

use std::time::{Duration, Instant};

use super::setup::{ALL, Gateway, Setup};
use crate::support::upstream::Upstream;

/// The example without its lines that let requests pass.
fn closed(gateway: Gateway, text: &str) -> String {
    let (from, to) = match gateway {
        Gateway::Nginx => ("error_page 500 502 503 504 = @unanswered;", ""),
        Gateway::DebianCaddy | Gateway::PypiCaddy => {
            ("reverse_proxy @unanswered 127.0.0.1:3000", "")
        }
        Gateway::Traefik => (
            "http://127.0.0.1:8079/v1/auth",
            "http://127.0.0.1:7070/v1/auth",
        ),
    };
    text.replace(from, to)
}

const POST: [&str; 3] = ["-d", "user=alice", "/login"];

#[test]
fn without_an_answer_requests_pass() {
    for gateway in ALL {
        let mut setup = Setup::start(gateway);
        let jeton = setup.jeton.take().expect("jeton runs");
        jeton.signal("-STOP");
        let begun = Instant::now();
        let seen = setup.ask(&POST);
        assert_eq!(
            seen.status,
            200,
            "{gateway:?} waits for ever: {}",
            setup.log()
        );
        assert!(begun.elapsed() < Duration::from_secs(2), "{gateway:?}");
        jeton.signal("-CONT");
        drop(jeton);
        for _ in 0..7 {
            let seen = setup.ask(&POST);
            assert_eq!(
                (seen.status, seen.body.as_str()),
                (200, "service\n"),
                "{gateway:?}"
            );
            assert_eq!(
                seen.field("ratelimit"),
                None,
                "{gateway:?}: no limit is invented"
            );
            assert!(setup.last_head().starts_with("post /login "), "{gateway:?}");
        }
    }
}

#[test]
fn an_example_without_those_lines_refuses_everybody() {
    for (gateway, status) in [
        (Gateway::Nginx, 500),
        (Gateway::DebianCaddy, 502),
        (Gateway::PypiCaddy, 502),
        (Gateway::Traefik, 500),
    ] {
        let mut setup = Setup::adjusted(gateway, |text| closed(gateway, text));
        drop(setup.jeton.take());
        let reached = setup.service.heads().len();
        assert_eq!(setup.ask(&POST).status, status, "{gateway:?}");
        assert_eq!(setup.service.heads().len(), reached, "{gateway:?}");
    }
}

#[test]
fn a_failing_service_gets_nothing_twice() {
    for gateway in ALL {
        let service = Upstream::start(|accepted| {
            while let Some((head, _)) = accepted.read_request() {
                if head.starts_with("POST") {
                    return;
                }
                accepted.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let setup = Setup::with(gateway, service, str::to_owned);
        let seen = setup.ask(&POST);
        assert_eq!(seen.status, 502, "{gateway:?}");
        let posts = setup.service.heads();
        let posts = posts.iter().filter(|head| head.starts_with("POST"));
        assert_eq!(posts.count(), 1, "{gateway:?}");
    }
}
