//! A store that goes away and comes back: bounded time, no questions while it is away, and its
//! return noticed. On tokio's clock, which stands still but for timers.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jeton::{
    Answered, DEFAULT_TTL, Event, Gate, Micros, NamedCharge, StoreErrorKind, StoreState, Verb,
};
use tokio::time::Instant;

use crate::faulty::{Fault, Faulty};
use crate::support::{Request, gate_over};

const TIMEOUT: Duration = Duration::from_millis(20);
/// tokio's timer counts in milliseconds.
const TICK: Duration = Duration::from_millis(1);

const LOCAL: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "r"
key = "client-ip"
algorithm = "fixed-window"
limit = 100
window = "1h"
on_failure = { local = 0.5 }
"#;

const ALL_FAULTS: [Fault; 6] = [
    Fault::Hang,
    Fault::Lost,
    Fault::Slow(Duration::from_millis(200)),
    Fault::Error(StoreErrorKind::Refused),
    Fault::LateError(StoreErrorKind::BadAnswer),
    Fault::Plans(StoreErrorKind::Refused),
];

fn gate(text: &str, fault: Fault) -> (Gate, Arc<Faulty>) {
    let store = Arc::new(Faulty::new());
    store.set(fault);
    (gate_over(Arc::clone(&store) as _, text), store)
}

fn get() -> Request {
    Request::get("192.0.2.1", "/")
}

async fn take(gate: &Gate) -> Answered {
    gate.take(&get()).wait().await
}

fn errors(gate: &Gate) -> u64 {
    gate.tally().store_errors().map(|(_, n)| n).sum()
}

/// Both clocks.
async fn pass(gate: &Gate, ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    let now = gate.clock().now().get() + ms * 1_000;
    gate.clock().set(Micros::new(now));
}

#[tokio::test(start_paused = true)]
async fn every_call_is_answered_in_time_and_counted_once() {
    for fault in ALL_FAULTS {
        let (gate, store) = gate(LOCAL, fault);
        for n in 1..=20 {
            let asked = Instant::now();
            let answered = take(&gate).await;
            assert!(asked.elapsed() <= TIMEOUT + TICK, "{fault:?}");
            assert!(answered.allowed() && answered.is_degraded(), "{fault:?}");
            assert_eq!((gate.tally().event(Event::Degraded), errors(&gate)), (n, n));
        }
        assert_eq!(store.asked(), 5, "{fault:?}: then it is away");
        let asked = Instant::now();
        assert!(gate.take(&get()).now().is_ok(), "{fault:?}: at once");
        assert_eq!(asked.elapsed(), Duration::ZERO);
    }
}

#[tokio::test]
async fn f32_a_timeout_holds_on_a_real_clock() {
    let (gate, _) = gate(LOCAL, Fault::Hang);
    for _ in 0..5 {
        let asked = std::time::Instant::now();
        let answered = take(&gate).await;
        assert_eq!(answered.store_error(), Some(StoreErrorKind::Timeout));
        let took = asked.elapsed();
        assert!(took >= TIMEOUT, "{took:?}");
        assert!(took <= TIMEOUT + Duration::from_millis(30), "{took:?}");
    }
    assert!(matches!(gate.store_state(), StoreState::Away { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_timeout_is_the_policys() {
    let text = format!("[store]\ntimeout = \"300ms\"\n{LOCAL}");
    let (gate, _) = gate(&text, Fault::Slow(Duration::from_millis(200)));
    let asked = Instant::now();
    assert!(!take(&gate).await.is_degraded());
    assert!(asked.elapsed() >= Duration::from_millis(200));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_is_not_too_late() {
    let (gate, _) = gate(LOCAL, Fault::Slow(Duration::ZERO));
    let deciding = gate.take(&get());
    tokio::time::sleep(10 * TIMEOUT).await;
    assert!(!deciding.wait().await.is_degraded());
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_not_asked_again() {
    let (gate, store) = gate(LOCAL, Fault::Lost);
    let answered = take(&gate).await;
    assert_eq!(answered.store_error(), Some(StoreErrorKind::Timeout));
    assert_eq!(store.asked(), 1);
    // The store did it, once; and the process has charged its own share beside.
    store.set(Fault::None);
    let charge = NamedCharge::new("r", &["192.0.2.1"]);
    let looked = gate.charge(Verb::Check, &[charge]).unwrap().wait().await;
    assert_eq!(looked.decisions().next().unwrap().decision.remaining, 99);
}

#[tokio::test(start_paused = true)]
async fn a_driven_gate_notices_the_return_and_spares_the_requests() {
    for fault in ALL_FAULTS {
        let (gate, store) = gate(LOCAL, fault);
        let driving = tokio::spawn(gate.clone().drive());
        for _ in 0..5 {
            take(&gate).await;
        }
        store.asked();
        for _ in 0..40 {
            pass(&gate, 100).await;
            let asked = Instant::now();
            assert!(take(&gate).await.is_degraded(), "{fault:?}");
            assert_eq!(
                asked.elapsed(),
                Duration::ZERO,
                "{fault:?}: no request waits"
            );
        }
        // Where looks pass, a plan that writes is what is tried.
        let probes = store.asked();
        let expected = if matches!(fault, Fault::Plans(_)) {
            7..=9
        } else {
            0..=1
        };
        let expected = if fault == ALL_FAULTS[2] {
            0..=0
        } else {
            expected
        };
        assert!(expected.contains(&probes), "{fault:?}: {probes}");
        assert!((7..=10).contains(&store.looks()), "{fault:?}");
        assert!(matches!(gate.store_state(), StoreState::Away { .. }));

        store.set(Fault::None);
        let back = Instant::now();
        while take(&gate).await.is_degraded() {
            pass(&gate, 10).await;
            assert!(back.elapsed() < Duration::from_secs(1), "{fault:?}");
        }
        assert_eq!(gate.store_state(), StoreState::Ready);
        driving.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn the_return_is_seen_without_any_request() {
    let (gate, store) = gate(LOCAL, Fault::Hang);
    let driving = tokio::spawn(gate.clone().drive());
    // Nobody asks, and yet it is seen that nobody would be answered.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let why = StoreErrorKind::Timeout;
    assert_eq!(gate.store_state(), StoreState::Away { why });
    store.set(Fault::None);
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(gate.store_state(), StoreState::Ready);
    driving.abort();
}

#[tokio::test(start_paused = true)]
async fn where_nobody_drives_one_request_a_second_asks() {
    let (gate, store) = gate(LOCAL, Fault::Hang);
    for _ in 0..5 {
        take(&gate).await;
    }
    store.asked();
    for _ in 0..100 {
        take(&gate).await;
        pass(&gate, 100).await;
    }
    let probes = store.asked();
    assert!((9..=10).contains(&probes), "{probes} in ten seconds");
    store.set(Fault::None);
    let mut waited_ms = 0;
    while take(&gate).await.is_degraded() {
        pass(&gate, 100).await;
        waited_ms += 100;
        assert!(waited_ms <= 1_100);
    }
    assert_eq!(gate.store_state(), StoreState::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_looks_well_and_takes_nothing_does_not_seem_to_come_and_go() {
    let (gate, _) = gate(LOCAL, Fault::Plans(StoreErrorKind::Refused));
    let driving = tokio::spawn(gate.clone().drive());
    let mut changes = 0;
    let mut before = false;
    for _ in 0..200 {
        take(&gate).await;
        pass(&gate, 50).await;
        let is_away = matches!(gate.store_state(), StoreState::Away { .. });
        changes += u32::from(is_away != before);
        before = is_away;
    }
    assert_eq!(changes, 1);
    driving.abort();
}

#[tokio::test(start_paused = true)]
async fn looks_reservations_and_orders_are_bounded_too() {
    let (gate, _) = gate(LOCAL, Fault::Hang);
    let asked = Instant::now();
    assert!(gate.refresh_orders().await.is_err());
    assert!(
        !gate
            .reserve(&get(), None, DEFAULT_TTL)
            .wait()
            .await
            .allowed()
    );
    let explained = gate.explain(&get()).await;
    assert!(explained.answered.is_degraded());
    assert!(asked.elapsed() <= 3 * (TIMEOUT + TICK));
    // Operators wait longer than requests may: what they set has to reach a disk.
    let asked = Instant::now();
    assert!(gate.block("r", &["192.0.2.1"], None).await.is_err());
    assert!(asked.elapsed() <= Duration::from_secs(2) + TICK);
    assert!(asked.elapsed() >= 4 * TIMEOUT);
}

const COUNT: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "login"
key = "client-ip"
algorithm = "fixed-window"
limit = 4
window = "1h"
count = { status = [401] }
on_failure = { local = 0.5 }
"#;

async fn guess(gate: &Gate, status: StatusCode) -> Answered {
    let mut answered = gate.hold(&get()).wait().await;
    if let Some(mut hold) = answered.take_hold() {
        hold.answered(status, &HeaderMap::new(), Some(&mut answered));
    }
    answered
}

#[tokio::test(start_paused = true)]
async fn what_is_held_locally_is_settled_locally() {
    for fault in [Fault::Error(StoreErrorKind::Unavailable), Fault::Hang] {
        let (gate, store) = gate(COUNT, fault);
        for _ in 0..6 {
            let right = guess(&gate, StatusCode::OK).await;
            assert!(right.allowed() && right.is_degraded());
            assert_eq!(right.decisions().next().unwrap().decision.remaining, 2);
        }
        // It came back while a request was out, which was counted here.
        let mut out = gate.hold(&get()).wait().await;
        store.set(Fault::None);
        let mut hold = out.take_hold().unwrap();
        hold.answered(StatusCode::OK, &HeaderMap::new(), None);
        drop(hold);
        store.set(fault);
        let wrong = StatusCode::UNAUTHORIZED;
        assert!(guess(&gate, wrong).await.allowed());
        assert!(guess(&gate, wrong).await.allowed());
        assert!(!guess(&gate, wrong).await.allowed());
        assert_eq!(store.table.stats().keys, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn f32_it_dies_between_request_and_response() {
    for fault in ALL_FAULTS {
        let (gate, store) = gate(COUNT, Fault::None);
        let mut answered = gate.hold(&get()).wait().await;
        assert!(answered.allowed() && !answered.is_degraded());
        let mut hold = answered.take_hold().unwrap();
        store.set(fault);
        let asked = Instant::now();
        hold.answered(StatusCode::OK, &HeaderMap::new(), Some(&mut answered));
        hold.ended(None);
        assert_eq!(asked.elapsed(), Duration::ZERO, "nobody waits for it");
        tokio::time::sleep(2 * TIMEOUT).await;
        let tally = gate.tally();
        let settled = tally.event(Event::Settled) + tally.event(Event::SettleLost);
        assert_eq!(settled, 1, "{fault:?}");
        assert_eq!(tally.event(Event::SettleLost), errors(&gate));
        // Nobody waits for units that are not out any more.
        store.set(Fault::None);
        for _ in 0..4 {
            drop(gate.hold(&get()).wait().await);
        }
        let asked = Instant::now();
        assert!(!gate.hold(&get()).wait().await.allowed());
        assert_eq!(asked.elapsed(), Duration::ZERO, "{fault:?}");
    }
}

const IN_FLIGHT: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "flight"
key = "client-ip"
algorithm = "concurrency"
limit = 4
lease = "3s"
on_failure = { local = 0.5 }
"#;

#[tokio::test(start_paused = true)]
async fn units_in_flight_are_shared_out_and_come_back() {
    let (gate, store) = gate(IN_FLIGHT, Fault::Error(StoreErrorKind::Unavailable));
    let mut first = gate.hold(&get()).wait().await;
    let mut second = gate.hold(&get()).wait().await;
    assert!(first.allowed() && second.allowed());
    assert!(!gate.hold(&get()).wait().await.allowed());
    let holds = (first.take_hold().unwrap(), second.take_hold().unwrap());
    // They are kept for as long as they are held.
    for _ in 0..10 {
        pass(&gate, 1_000).await;
        assert!(!gate.hold(&get()).wait().await.allowed());
    }
    drop(holds);
    let held = gate.hold(&get()).wait().await;
    assert!(held.allowed());
    drop(held);
    assert_eq!(store.table.stats().keys, 0);
    assert_eq!(gate.tally().event(Event::SettleLost), 0);
}

#[test]
fn without_a_runtime_nothing_panics() {
    let (gate, _) = gate(LOCAL, Fault::LateError(StoreErrorKind::Unavailable));
    for _ in 0..10 {
        assert!(futures_executor::block_on(take(&gate)).is_degraded());
    }
    let (gate, store) = self::gate(COUNT, Fault::None);
    let mut answered = gate.hold(&get()).now().unwrap();
    store.set(Fault::Hang);
    drop(answered.take_hold());
}
