//! Reservations: an estimate charged now, settled once, by whoever has its handle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use jeton::{
    Answered, Clock, Cost, DEFAULT_TTL, Gate, Handle, Micros, NamedCharge, Settings, Settlement,
    Span, Table, Verb,
};

use crate::support::{Request, S, gate, policy};

const TOKENS: &str = r#"
[[rule]]
name = "tokens"
key = "header:x-user"
algorithm = "token-bucket"
rate = "10/s"
burst = 20
"#;

fn key(rule: &'static str) -> NamedCharge<'static> {
    NamedCharge::new(rule, &["alice"])
}

fn reserve(gate: &Gate, cost: u64) -> Answered {
    let charge = key("tokens").cost(Cost::new(cost));
    let reserved = gate.reserve_charges(&[charge], DEFAULT_TTL).unwrap();
    reserved.now().unwrap()
}

fn left(gate: &Gate, rule: &'static str) -> u32 {
    let answered = gate
        .charge(Verb::Check, &[key(rule)])
        .unwrap()
        .now()
        .unwrap();
    answered.decisions().next().unwrap().decision.remaining
}

fn commit(gate: &Gate, handle: &Handle, actual: u64) -> Settlement {
    let answered = gate.commit(handle, Cost::new(actual)).now().unwrap();
    answered.settlement().unwrap()
}

#[test]
fn f25_a_cancelled_reservation_leaves_what_would_be_there_without_it() {
    let gate = gate(TOKENS);
    let kept = reserve(&gate, 15);
    let refused = reserve(&gate, 10);
    assert!(!refused.allowed() && refused.handle().is_none());
    assert_eq!(left(&gate, "tokens"), 5);
    let cancelled = gate.cancel(kept.handle().unwrap()).now().unwrap();
    assert_eq!(cancelled.settlement(), Some(Settlement::Done));
    assert_eq!(left(&gate, "tokens"), 20);
}

#[test]
fn settling_twice_is_answered_the_same_and_changes_nothing() {
    let gate = gate(TOKENS);
    let handle = reserve(&gate, 15).handle().unwrap().clone();
    assert_eq!(commit(&gate, &handle, 4), Settlement::Done);
    assert_eq!(left(&gate, "tokens"), 16);
    for again in [4, 0, 20] {
        assert_eq!(
            commit(&gate, &handle, again),
            Settlement::Repeated { actual: 4 }
        );
        assert_eq!(left(&gate, "tokens"), 16);
    }
}

#[test]
fn an_estimate_of_nothing_is_charged_what_it_came_to() {
    for algorithm in [
        "algorithm = \"token-bucket\"\nrate = \"10/d\"\nburst = 20",
        "algorithm = \"fixed-window\"\nlimit = 20\nwindow = \"1d\"",
        "algorithm = \"sliding-log\"\nlimit = 20\nwindow = \"1d\"",
        "algorithm = \"sliding-counter\"\nlimit = 20\nwindow = \"1d\"",
    ] {
        let gate = gate(&format!(
            "[[rule]]\nname = \"tokens\"\nkey = \"header:x-user\"\n{algorithm}\n"
        ));
        let handle = reserve(&gate, 0).handle().unwrap().clone();
        assert_eq!(left(&gate, "tokens"), 20);
        assert_eq!(commit(&gate, &handle, 7), Settlement::Done);
        assert_eq!(left(&gate, "tokens"), 13, "{algorithm}");
        assert_eq!(
            commit(&gate, &handle, 7),
            Settlement::Repeated { actual: 7 }
        );
        assert_eq!(left(&gate, "tokens"), 13, "{algorithm}");
    }
}

#[test]
fn a_handle_with_other_words_has_no_record() {
    let gate = gate(TOKENS);
    let handle = reserve(&gate, 15).handle().unwrap().clone();
    let text = handle.to_string();
    let mut known = 0;
    for at in 0..text.len() {
        let other = if text.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let mut forged = text.clone();
        forged.replace_range(at..=at, other);
        let Ok(forged) = forged.parse::<Handle>() else {
            continue;
        };
        if gate.extend(&forged, None).now().unwrap().settlement() == Some(Settlement::Done) {
            known += 1;
            assert_eq!(commit(&gate, &forged, 15), Settlement::Done);
            break;
        }
    }
    // What is not bound is where the charge stands: worth no more than what was charged.
    assert!(known <= 1);
    assert!(left(&gate, "tokens") <= 20);
}

#[test]
fn units_that_find_no_room_even_as_debt_are_counted() {
    let gate = gate(&TOKENS.replace("10/s", "10/d"));
    let handle = reserve(&gate, 1).handle().unwrap().clone();
    assert_eq!(commit(&gate, &handle, 1_000), Settlement::Done);
    assert_eq!(gate.tally().event(jeton::Event::UnitsClipped), 960);
}

#[test]
fn a_store_without_room_for_the_record_is_no_limit() {
    let settings = Settings {
        max_keys: 2,
        ..Settings::default()
    };
    let table = Arc::new(Table::new(&settings).unwrap());
    let gate = Gate::new(policy(TOKENS), table, Clock::fixed(Micros::new(S)));
    let mut refused = None;
    for _ in 0..4 {
        let reserved = reserve(&gate, 1);
        if !reserved.allowed() {
            refused = Some(reserved);
            break;
        }
    }
    let refused = refused.expect("two places, and a record for each");
    assert!(matches!(
        refused.disposition(),
        jeton::Disposition::Degraded { denied: true, .. }
    ));
    assert_eq!(refused.retry_after(), None);
}

#[test]
fn a_handle_survives_as_text_and_another_node_settles_it() {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    let clock = Clock::fixed(Micros::new(1_800_000_000 * S));
    let node = || Gate::new(policy(TOKENS), Arc::clone(&table) as _, clock.clone());
    let text = reserve(&node(), 15).handle().unwrap().to_string();
    let other = node();
    assert_eq!(commit(&other, &text.parse().unwrap(), 1), Settlement::Done);
    assert_eq!(left(&other, "tokens"), 19);
}

#[test]
fn a_commit_above_the_estimate_goes_into_debt_and_delays() {
    let gate = gate(TOKENS);
    let handle = reserve(&gate, 20).handle().unwrap().clone();
    assert_eq!(commit(&gate, &handle, 30), Settlement::Done);
    assert_eq!(left(&gate, "tokens"), 0);
    let charge = key("tokens").cost(Cost::ONE);
    let denied = gate.charge(Verb::Take, &[charge]).unwrap().now().unwrap();
    // 11 units have to come back, at 10 a second.
    assert_eq!(denied.retry_after().unwrap().as_micros(), 1_100_000);
}

#[test]
fn an_expired_reservation_stays_charged_and_cannot_be_settled() {
    let gate = gate(&TOKENS.replace("10/s", "10/d"));
    let start = gate.clock().now();
    let charge = key("tokens").cost(Cost::new(15));
    let ttl = Span::from_micros(60 * S).unwrap();
    let reserved = gate.reserve_charges(&[charge], ttl).unwrap().now().unwrap();
    let handle = reserved.handle().unwrap();

    gate.clock().set(Micros::new(start.get() + 59 * S));
    let extended = gate.extend(handle, None).now().unwrap();
    assert_eq!(extended.settlement(), Some(Settlement::Done));
    gate.clock().set(Micros::new(start.get() + 118 * S));
    assert_eq!(commit(&gate, handle, 15), Settlement::Done);

    let reserved = gate.reserve_charges(&[charge.cost(Cost::new(5))], ttl);
    let reserved = reserved.unwrap().now().unwrap();
    gate.clock().set(Micros::new(start.get() + 178 * S));
    let handle = reserved.handle().unwrap();
    assert_eq!(commit(&gate, handle, 0), Settlement::Unknown);
    assert_eq!(left(&gate, "tokens"), 0);
    let extended = gate.extend(handle, None).now().unwrap();
    assert_eq!(extended.settlement(), Some(Settlement::Unknown));
}

#[test]
fn what_a_request_is_charged_is_reserved_all_or_none() {
    let gate = gate(
        r#"
        [[rule]]
        name = "wide"
        key = "client-ip"
        algorithm = "fixed-window"
        limit = 10
        window = "1d"
        [[rule]]
        name = "narrow"
        key = "header:x-user"
        algorithm = "sliding-log"
        limit = 4
        window = "1d"
        "#,
    );
    let request = Request::get("192.0.2.1", "/").header("x-user", "alice");
    let reserved = gate.reserve(&request, Some(Cost::new(3)), DEFAULT_TTL);
    let handle = reserved.now().unwrap().handle().unwrap().clone();
    let refused = gate.reserve(&request, Some(Cost::new(3)), DEFAULT_TTL);
    assert!(!refused.now().unwrap().allowed());
    let settled = gate.commit(&handle, Cost::ONE).now().unwrap();
    let remaining: Vec<u32> = settled.decisions().map(|d| d.decision.remaining).collect();
    assert_eq!(remaining, [9, 3]);
}

#[test]
fn a_reservation_of_a_rule_that_is_gone_settles_nothing() {
    let gate = gate(TOKENS);
    let handle = reserve(&gate, 15).handle().unwrap().clone();
    gate.swap(policy(&TOKENS.replace("tokens", "others")));
    assert_eq!(commit(&gate, &handle, 0), Settlement::Done);
    assert_eq!(
        commit(&gate, &handle, 0),
        Settlement::Repeated { actual: 0 }
    );
    gate.swap(policy(TOKENS));
    assert_eq!(left(&gate, "tokens"), 5);
}

#[test]
fn of_many_who_settle_one_reservation_one_does() {
    let gate = gate(TOKENS);
    for _ in 0..200 {
        let handle = reserve(&gate, 20).handle().unwrap().clone();
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for actual in 0..4 {
                let (gate, handle, done) = (&gate, &handle, &done);
                scope.spawn(move || {
                    if commit(gate, handle, actual) == Settlement::Done {
                        done.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.load(Relaxed), 1);
        assert!((17..=20).contains(&left(&gate, "tokens")));
        let answered = gate.charge(Verb::Reset, &[key("tokens")]).unwrap();
        assert!(answered.now().unwrap().allowed());
    }
}

#[test]
fn a_commit_is_told_to_the_rules_whose_cost_is_known_afterwards() {
    let gate = gate(
        r#"
        [api]
        listen = "127.0.0.1:0"
        [[rule]]
        name = "requests"
        key = "client-ip"
        algorithm = "fixed-window"
        limit = 60
        window = "1d"
        [[rule]]
        name = "tokens"
        key = "client-ip"
        algorithm = "fixed-window"
        limit = 10000
        window = "1d"
        cost = { response = "header:x-units", estimate = 500 }
        [[rule]]
        name = "slots"
        key = "client-ip"
        algorithm = "concurrency"
        limit = 3
        lease = "30s"
        "#,
    );
    let request = Request::get("192.0.2.1", "/");
    let reserved = gate.reserve(&request, None, DEFAULT_TTL).now().unwrap();
    let handle = reserved.handle().unwrap();
    assert_eq!(commit(&gate, handle, 1234), Settlement::Done);
    let left = |gate: &Gate| -> Vec<u32> {
        let looked = gate.check(&request).now().unwrap();
        looked.decisions().map(|d| d.decision.remaining).collect()
    };
    assert_eq!(left(&gate), [59, 8766, 3]);
    let again = gate.reserve(&request, None, DEFAULT_TTL).now().unwrap();
    let cancelled = gate.cancel(again.handle().unwrap()).now().unwrap();
    assert_eq!(cancelled.settlement(), Some(Settlement::Done));
    assert_eq!(left(&gate), [59, 8766, 3], "a cancel gives back everything");
}
