//! Charges that are settled when the response is known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, StatusCode};
use jeton::{
    Answered, Clock, Deciding, Event, Gate, Hold, Micros, NamedCharge, RuleOutcome, Settings,
    Table, Verb,
};

use crate::support::{Request, S, gate, policy, take};

const LOGIN: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "login"
match = { method = "POST", path = "/login" }
key = "client-ip"
algorithm = "sliding-log"
limit = 5
window = "1m"
count = { status = [401, 403] }
"#;

const TOKENS: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "tokens"
key = "client-ip"
algorithm = "token-bucket"
rate = "100/min"
burst = 100
cost = { response = "header:x-units", estimate = 5 }
"#;

fn login() -> Request {
    let mut request = Request::get("192.0.2.1", "/login");
    request.method = Some("POST");
    request
}

fn hold(gate: &Gate, request: &Request) -> (Answered, Hold) {
    let mut answered = gate.hold(request).now().unwrap();
    let hold = answered.take_hold().unwrap();
    (answered, hold)
}

fn answer(hold: &mut Hold, answered: &mut Answered, status: u16) {
    let status = StatusCode::from_u16(status).unwrap();
    hold.answered(status, &HeaderMap::new(), Some(answered));
}

fn left(gate: &Gate, rule: &str) -> u32 {
    let charge = NamedCharge::new(rule, &["192.0.2.1"]);
    let looked = gate.charge(Verb::Check, &[charge]).unwrap().now().unwrap();
    looked.decisions().next().unwrap().decision.remaining
}

#[test]
fn right_guesses_are_given_back_and_wrong_ones_stay() {
    let gate = gate(LOGIN);
    for (status, after) in [(200, 5), (401, 4), (302, 4), (403, 3), (500, 3)] {
        let (mut answered, mut hold) = hold(&gate, &login());
        answer(&mut hold, &mut answered, status);
        assert_eq!(left(&gate, "login"), after, "{status}");
        let told = answered.decisions().next().unwrap().decision.remaining;
        assert_eq!(told, after, "what the client is told after {status}");
    }
    assert_eq!(gate.tally().event(Event::Settled), 5);
}

#[test]
fn whatever_breaks_off_stays_charged() {
    let gate = gate(LOGIN);
    for used in 1..=5 {
        drop(hold(&gate, &login()));
        assert_eq!(left(&gate, "login"), 5 - used);
    }
    let denied = take(&gate, &login());
    assert!(!denied.allowed());
    assert!(denied.retry_after().is_some());
}

#[test]
fn requests_that_no_response_settles_hold_nothing() {
    let gate = gate(LOGIN);
    let mut other = gate.hold(&Request::get("192.0.2.1", "/")).now().unwrap();
    assert!(other.take_hold().is_none());
}

#[test]
fn a_response_tells_its_cost_up_to_a_debt() {
    let gate = gate(TOKENS);
    let cost = |units: &'static str| {
        let (mut answered, mut hold) = hold(&gate, &Request::get("192.0.2.1", "/"));
        let mut headers = HeaderMap::new();
        headers.append("x-units", HeaderValue::from_static(units));
        hold.answered(StatusCode::OK, &headers, Some(&mut answered));
        left(&gate, "tokens")
    };
    assert_eq!(cost("30"), 70);
    assert_eq!(cost("0"), 70);
    for nonsense in ["", "-1", "1.5", "many", "1 2", "0x10"] {
        gate.charge(Verb::Reset, &[NamedCharge::new("tokens", &["192.0.2.1"])])
            .map(drop)
            .unwrap();
        assert_eq!(
            cost(nonsense),
            95,
            "{nonsense:?} is no number: the estimate stays"
        );
    }
    // 95 are left; 150 more than that is 55 of debt.
    assert_eq!(cost("150"), 0);
    let denied = take(&gate, &Request::get("192.0.2.1", "/"));
    let wait_s = denied.retry_after().unwrap().as_secs_ceil();
    assert_eq!(
        wait_s, 36,
        "55 of debt and 5 of the estimate, at 100 a minute"
    );
}

#[test]
fn what_finds_no_room_even_as_debt_is_counted() {
    let gate = gate(&TOKENS.replace("estimate = 5 }", "estimate = 5 }\nmax_debt = 50"));
    let (mut answered, mut hold) = hold(&gate, &Request::get("192.0.2.1", "/"));
    let mut headers = HeaderMap::new();
    headers.append("x-units", HeaderValue::from_static("1000"));
    hold.answered(StatusCode::OK, &headers, Some(&mut answered));
    assert_eq!(gate.tally().event(Event::UnitsClipped), 850);
}

#[test]
fn trailers_tell_a_cost_at_the_end() {
    let gate = gate(&TOKENS.replace("header:x-units", "trailer:x-units"));
    let (mut answered, mut hold) = hold(&gate, &Request::get("192.0.2.1", "/"));
    answer(&mut hold, &mut answered, 200);
    assert!(hold.is_open());
    assert_eq!(left(&gate, "tokens"), 95);
    let mut trailers = HeaderMap::new();
    trailers.append("x-units", HeaderValue::from_static("2"));
    hold.ended(Some(&trailers));
    assert_eq!(left(&gate, "tokens"), 98);
    drop(hold_and_end(&gate));
    assert_eq!(
        left(&gate, "tokens"),
        93,
        "without a trailer the estimate stays"
    );
}

fn hold_and_end(gate: &Gate) -> Answered {
    let (mut answered, mut hold) = hold(gate, &Request::get("192.0.2.1", "/"));
    answer(&mut hold, &mut answered, 200);
    hold.ended(None);
    answered
}

#[tokio::test]
async fn a_request_refused_only_by_open_holds_waits_for_one_to_be_settled() {
    let gate = gate(LOGIN);
    let mut open: Vec<_> = (0..5).map(|_| hold(&gate, &login())).collect();
    let waiting = gate.hold(&login());
    assert!(matches!(waiting, Deciding::Later(_)));
    let waiting = tokio::spawn(waiting.wait());
    tokio::time::sleep(Duration::from_millis(5)).await;
    let (mut answered, mut right) = open.pop().unwrap();
    answer(&mut right, &mut answered, 200);
    let mut passed = waiting.await.unwrap();
    assert!(passed.allowed() && passed.take_hold().is_some());
}

#[tokio::test]
async fn a_wait_for_open_holds_has_an_end_and_denials_that_no_hold_causes_have_none() {
    let gate = gate(LOGIN);
    let mut open: Vec<_> = (0..5).map(|_| hold(&gate, &login())).collect();
    let begun = Instant::now();
    let denied = gate.hold(&login()).wait().await;
    assert!(!denied.allowed() && denied.retry_after().is_some());
    assert!(
        (50..80).contains(&begun.elapsed().as_millis()),
        "{:?}",
        begun.elapsed()
    );

    for (answered, hold) in &mut open {
        answer(hold, answered, 401);
    }
    let denied = gate.hold(&login()).now().expect("nothing to wait for");
    assert!(!denied.allowed());
    assert_eq!(gate.tally().rule(0, RuleOutcome::Denied), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_guesses_at_once_reach_the_service_five_times() {
    let clock = Clock::fixed(Micros::new(1_800_000_000 * S));
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    let gate = Gate::new(policy(LOGIN), table, clock);
    let guess = |gate: Gate| async move {
        let mut answered = gate.hold(&login()).wait().await;
        let Some(mut hold) = answered.take_hold() else {
            return 0_u32;
        };
        tokio::time::sleep(Duration::from_millis(3)).await;
        hold.answered(StatusCode::UNAUTHORIZED, &HeaderMap::new(), None);
        1
    };
    let guesses: Vec<_> = (0..200)
        .map(|_| tokio::spawn(guess(gate.clone())))
        .collect();
    let mut reached = 0;
    for guess in guesses {
        reached += guess.await.unwrap();
    }
    assert_eq!(reached, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_guesses_few_at_once_are_never_denied() {
    let gate = gate(LOGIN);
    let right = |gate: Gate| async move {
        for _ in 0..200 {
            let mut answered = gate.hold(&login()).wait().await;
            let mut hold = answered.take_hold().expect("never denied");
            tokio::task::yield_now().await;
            hold.answered(StatusCode::OK, &HeaderMap::new(), None);
        }
    };
    let clients: Vec<_> = (0..5).map(|_| tokio::spawn(right(gate.clone()))).collect();
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(left(&gate, "login"), 5);
}
