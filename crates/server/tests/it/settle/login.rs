//! Wrong guesses count, logins do not: the guard of a login, end to end.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::{Behind, remaining};
use crate::support::{eventually, is_full};

const GUARD: &str = r#"
[[rule]]
name      = "login"
match     = { method = ["POST"], path = "/login" }
key       = ["client-ip"]
algorithm = "sliding-log"
limit     = 5
window    = "1m"
count     = { status = [401, 403] }
"#;

fn guard(settings: &str) -> Behind {
    Behind::by(&format!("{GUARD}{settings}\n"))
}

#[test]
fn five_wrong_guesses_reach_the_service_and_the_sixth_does_not() {
    let service = guard("");
    for (guess, status) in [401, 403, 401, 401, 403].into_iter().enumerate() {
        // What is no wrong guess counts for nothing.
        assert_eq!(service.ask("/login?status=500", "").status(), 500);
        let reply = service.ask(&format!("/login?status={status}"), "");
        assert_eq!(reply.status(), status);
        assert_eq!(remaining(&reply), 4 - guess as u64);
    }
    let denied = service.ask("/login", "");
    assert_eq!(denied.status(), 429);
    let wait: u64 = denied
        .field("retry-after")
        .and_then(|it| it.parse().ok())
        .expect("a wait");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(service.reached(), 10);
}

#[test]
fn right_logins_are_never_denied() {
    let service = guard("");
    let rounds = if is_full() { 200 } else { 40 };
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let mut client = service.client();
                for _ in 0..rounds {
                    let reply = client.ask("/login", "");
                    assert_eq!(reply.status(), 200, "{}", reply.text);
                }
            });
        }
    });
    assert_eq!(service.reached(), 5 * rounds);
    // What was held is given back by the time it is told.
    assert_eq!(remaining(&service.ask("/login", "")), 5);
}

/// However long the service takes to say that a guess is wrong.
#[test]
fn of_many_wrong_guesses_at_once_exactly_five_reach_the_service() {
    let guesses = if is_full() { 200 } else { 60 };
    for delay in [0, 20, 200] {
        let service = guard("");
        let start = Barrier::new(guesses);
        let target = format!("/login?status=401&delay={delay}");
        let statuses: Vec<u16> = thread::scope(|scope| {
            let guess = || {
                let mut client = service.client();
                start.wait();
                client.ask(&target, "").status()
            };
            let clients: Vec<_> = (0..guesses).map(|_| scope.spawn(guess)).collect();
            let answered = clients.into_iter().map(|it| it.join().expect("a client"));
            answered.collect()
        });
        let count = |status| statuses.iter().filter(|it| **it == status).count();
        assert_eq!(
            (count(401), count(429)),
            (5, guesses - 5),
            "{delay}: {statuses:?}"
        );
        assert_eq!(service.reached(), 5, "{delay}");
    }
}

#[test]
fn a_request_that_only_open_holds_deny_waits_for_one_to_settle() {
    let service = guard("hold_wait = \"2s\"");
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert_eq!(service.ask("/login?delay=300", "").status(), 200));
        }
        eventually("all five are out", || service.reached() == 5);
        let begun = Instant::now();
        assert_eq!(service.ask("/login", "").status(), 200);
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
    });
    assert_eq!(service.reached(), 6);
}

#[test]
fn a_wait_ends_with_hold_wait_and_what_it_says_is_an_upper_bound() {
    let service = guard("hold_wait = \"20ms\"");
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert_eq!(service.ask("/login?delay=700", "").status(), 200));
        }
        eventually("all five are out", || service.reached() == 5);
        let begun = Instant::now();
        let denied = service.ask("/login", "");
        assert!(
            begun.elapsed() < Duration::from_millis(500),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(denied.status(), 429);
        assert!(denied.field("retry-after").is_some());
    });
    // They were right: long before that wait is over there is room again.
    assert_eq!(service.ask("/login", "").status(), 200);
}

#[test]
fn whoever_leaves_while_waiting_never_reaches_the_service() {
    let service = guard("hold_wait = \"2s\"");
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| assert_eq!(service.ask("/login?delay=400", "").status(), 200));
        }
        eventually("all five are out", || service.reached() == 5);
        let mut client = service.client();
        client.send("/login?status=401", "");
        thread::sleep(Duration::from_millis(50));
        client.reset();
    });
    thread::sleep(Duration::from_millis(100));
    assert_eq!(service.reached(), 5);
    assert_eq!(remaining(&service.ask("/login", "")), 5);
}

#[test]
fn an_upstream_that_breaks_off_leaves_the_charge() {
    let service = guard("");
    for left in (0..5).rev() {
        let reply = service.ask("/login?die=head", "");
        assert_eq!((reply.status(), remaining(&reply)), (502, left));
    }
    assert_eq!(service.ask("/login", "").status(), 429);
}

#[test]
fn a_client_that_breaks_off_leaves_the_charge() {
    let service = guard("");
    for out in 1..=5 {
        let mut client = service.client();
        client.send("/login?delay=10000", "");
        eventually("the guess is out", || service.reached() == out);
        client.reset();
    }
    assert_eq!(service.ask("/login", "").status(), 429);
    // No time settles them either, but that of their window.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(service.ask("/login", "").status(), 429);
}

/// A status says all there is to say: no body keeps a unit out.
#[test]
fn a_right_login_is_settled_before_its_body_ends() {
    let service = guard("");
    let mut slow: Vec<_> = (0..5).map(|_| service.client()).collect();
    for client in &mut slow {
        let raw = client.send("/login?pause=1000", "");
        assert_eq!(
            raw.read_until(|text| text.ends_with("ab\r\n")).status(),
            200
        );
    }
    assert_eq!(service.ask("/login", "").status(), 200);
}
