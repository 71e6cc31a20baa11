//! Units in flight: taken by whoever says when they are over, and by nobody else.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jeton::policy::Mode;
use jeton::{
    ChargeError, Cost, DEFAULT_TTL, Disposition, Gate, Micros, NamedCharge, Settlement, Verb,
};

use crate::support::{Request, S, gate, gate_on, take};

const SLOTS: &str = r#"
[proxy]
listen = "127.0.0.1:0"
upstream = "http://127.0.0.1:9"

[[rule]]
name = "slots"
key = "client-ip"
algorithm = "concurrency"
limit = 2
lease = "30s"
"#;

const ALICE: &str = "192.0.2.1";

fn alice() -> Request {
    Request::get(ALICE, "/")
}

fn left(gate: &Gate) -> u32 {
    let charge = NamedCharge::new("slots", &[ALICE]);
    let looked = gate.charge(Verb::Check, &[charge]).unwrap().now().unwrap();
    looked.decisions().next().unwrap().decision.remaining
}

#[tokio::test]
async fn units_go_back_when_the_response_ends_and_when_it_breaks_off() {
    let gate = gate(SLOTS);
    let mut first = gate.hold(&alice()).now().unwrap();
    let mut hold = first.take_hold().unwrap();
    let mut second = gate.hold(&alice()).now().unwrap();
    let dropped = second.take_hold().unwrap();
    assert_eq!(left(&gate), 0);
    let denied = gate.hold(&alice()).wait().await;
    assert!(!denied.allowed());
    assert_eq!(denied.retry_after().unwrap().as_secs_ceil(), 1);

    drop(dropped);
    assert_eq!(left(&gate), 1);
    hold.answered(StatusCode::OK, &HeaderMap::new(), Some(&mut first));
    assert!(hold.is_open());
    assert_eq!(left(&gate), 1);
    hold.ended(None);
    assert_eq!(left(&gate), 2);
}

#[test]
fn a_plain_take_of_it_is_refused_by_name() {
    let gate = gate(SLOTS);
    let refused = gate.charge(Verb::Take, &[NamedCharge::new("slots", &[ALICE])]);
    let error = refused.unwrap_err();
    assert!(matches!(&error, ChargeError::NeedsHold { index: 0, rule } if rule == "slots"));
    let refused = take(&gate, &alice());
    assert_eq!(refused.disposition(), Disposition::NeedsHold { rule: 0 });
    assert_eq!(left(&gate), 2);
    assert!(gate.check(&alice()).now().unwrap().allowed());
}

#[test]
fn reservations_take_it_extend_it_and_give_it_back() {
    let gate = gate(SLOTS);
    let start = gate.clock().now().get();
    let reserve = || {
        let charge = NamedCharge::new("slots", &[ALICE]).cost(Cost::ONE);
        let reserved = gate.reserve_charges(&[charge], DEFAULT_TTL).unwrap();
        reserved.now().unwrap()
    };
    let (one, two) = (reserve(), reserve());
    assert!(!reserve().allowed());
    gate.clock().set(Micros::new(start + 20 * S));
    let extended = gate.extend(one.handle().unwrap(), None).now().unwrap();
    assert_eq!(extended.settlement(), Some(Settlement::Done));
    // The lease of the other one is over: its holder is taken for dead.
    gate.clock().set(Micros::new(start + 31 * S));
    assert_eq!(left(&gate), 1);
    let late = gate.extend(two.handle().unwrap(), None).now().unwrap();
    assert_eq!(late.settlement(), Some(Settlement::Unknown));
    let cancelled = gate.cancel(one.handle().unwrap()).now().unwrap();
    assert_eq!(cancelled.settlement(), Some(Settlement::Done));
    assert_eq!(left(&gate), 2);
}

#[test]
fn without_a_vote_nobody_is_kept_waiting() {
    let gate = gate(&SLOTS.replace("limit = 2", "limit = 2\nmode = \"shadow\""));
    assert!(gate.policy().rules()[0].mode() == Mode::Shadow);
    assert!(take(&gate, &alice()).allowed());
    assert_eq!(left(&gate), 2, "nobody would give it back");
}

#[tokio::test]
async fn a_lease_is_renewed_for_as_long_as_the_response_takes() {
    let gate = gate_on(
        &SLOTS
            .replace("30s", "900ms")
            .replace("limit = 2", "limit = 1"),
        jeton::Clock::system(),
    );
    let mut answered = gate.hold(&alice()).now().unwrap();
    let hold = answered.take_hold().unwrap();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(left(&gate), 0);
    }
    drop(hold);
    assert_eq!(left(&gate), 1);
}
