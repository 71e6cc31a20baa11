//! Blocks, overrides, modes: what operators say while a policy runs.

use std::sync::Arc;
use std::time::Duration;

use futures_executor::block_on;
use jeton::policy::{Alternative, Mode};
use jeton::{
    Clock, Disposition, Gate, Micros, NamedCharge, OrderError, Settings, Span, Table, Verb,
};

use crate::support::{Request, S, gate, policy, take};

const RULES: &str = r#"
[[rule]]
name = "api"
key = "client-ip"
algorithm = "fixed-window"
limit = 3
window = "1d"

[[rule]]
name = "key"
match = { with = "header:authorization" }
key = "header:authorization"
algorithm = "fixed-window"
limit = 100
window = "1d"
"#;

const ALICE: &str = "192.0.2.1";

fn alice() -> Request {
    Request::get(ALICE, "/")
}

fn settings<const N: usize>(settings: [(&str, &str); N]) -> Alternative {
    Alternative::new(settings).unwrap()
}

fn minutes(minutes: u64) -> Option<Span> {
    Span::from_micros(minutes * 60 * S).ok()
}

#[test]
fn a_blocked_key_is_refused_until_the_block_ends_and_nothing_is_charged() {
    let gate = gate(RULES);
    let start = gate.clock().now().get();
    block_on(gate.block("api", &[ALICE], minutes(10))).unwrap();
    let refused = take(&gate, &alice());
    assert!(!refused.allowed());
    assert_eq!(refused.violated().collect::<Vec<_>>(), ["api"]);
    assert_eq!(refused.retry_after(), minutes(10));
    assert!(take(&gate, &Request::get("192.0.2.2", "/")).allowed());

    gate.clock().set(Micros::new(start + 600 * S - 1));
    assert!(!take(&gate, &alice()).allowed());
    gate.clock().set(Micros::new(start + 600 * S));
    let passed = take(&gate, &alice());
    assert_eq!(passed.decisions().next().unwrap().decision.remaining, 2);
    assert!(gate.orders().is_empty());
}

#[test]
fn a_block_without_an_end_is_lifted_by_hand_and_has_no_retry() {
    let gate = gate(RULES);
    block_on(gate.block("api", &[ALICE], None)).unwrap();
    let refused = take(&gate, &alice());
    assert!(matches!(
        refused.disposition(),
        Disposition::BlockedUntil {
            rule: 0,
            until: None
        }
    ));
    assert_eq!(refused.retry_after(), None);
    let shown = gate.orders();
    assert_eq!(shown[0].key.as_deref(), Some(&[ALICE.to_owned()][..]));
    assert!(block_on(gate.unblock("api", &[ALICE])).unwrap());
    assert!(!block_on(gate.unblock("api", &[ALICE])).unwrap());
    assert!(take(&gate, &alice()).allowed());
}

#[test]
fn a_blocked_key_is_refused_by_name_too_and_corrections_still_work() {
    let gate = gate(RULES);
    take(&gate, &alice());
    block_on(gate.block("api", &[ALICE], None)).unwrap();
    let charge = NamedCharge::new("api", &[ALICE]);
    let asked = |verb| gate.charge(verb, &[charge]).unwrap().now().unwrap();
    assert!(!asked(Verb::Take).allowed() && !asked(Verb::Check).allowed());
    let refunded = asked(Verb::Refund);
    assert_eq!(refunded.decisions().next().unwrap().decision.remaining, 3);
}

#[test]
fn an_override_keeps_what_is_owed() {
    let gate = gate(RULES);
    for _ in 0..3 {
        assert!(take(&gate, &alice()).allowed());
    }
    assert!(!take(&gate, &alice()).allowed());
    let raise = settings([("limit", "5")]);
    block_on(gate.set_override("api", &[ALICE], raise, minutes(1))).unwrap();
    let passed = take(&gate, &alice());
    let decided = passed.decisions().next().unwrap();
    assert_eq!((decided.decision.limit, decided.decision.remaining), (5, 1));
    let other = take(&gate, &Request::get("192.0.2.2", "/"));
    assert_eq!(other.decisions().next().unwrap().decision.limit, 3);

    let start = gate.clock().now().get();
    gate.clock().set(Micros::new(start + 60 * S));
    let denied = take(&gate, &alice());
    assert!(!denied.allowed());
    assert_eq!(denied.decisions().next().unwrap().decision.limit, 3);
}

#[test]
fn an_override_can_lift_or_deny_altogether() {
    let gate = gate(RULES);
    for _ in 0..3 {
        take(&gate, &alice());
    }
    let say = |word| gate.set_override("api", &[ALICE], settings([("limit", word)]), None);
    block_on(say("unlimited")).unwrap();
    assert!(take(&gate, &alice()).allowed());
    block_on(say("deny")).unwrap();
    assert!(matches!(
        take(&gate, &alice()).disposition(),
        Disposition::Refused { rule: 0, .. }
    ));
    assert!(gate.override_of("api", &[ALICE]).unwrap().is_some());
    assert!(block_on(gate.lift_override("api", &[ALICE])).unwrap());
    assert!(gate.override_of("api", &[ALICE]).unwrap().is_none());
    assert!(!take(&gate, &alice()).allowed());
}

#[test]
fn a_mode_is_switched_and_put_back() {
    let gate = gate(RULES);
    for _ in 0..3 {
        take(&gate, &alice());
    }
    block_on(gate.set_mode("api", Some(Mode::Mark))).unwrap();
    let marked = take(&gate, &alice());
    assert!(marked.allowed());
    assert_eq!(marked.marked().collect::<Vec<_>>(), ["api"]);
    assert!(block_on(gate.set_mode("api", None)).unwrap());
    assert!(!block_on(gate.set_mode("api", None)).unwrap());
    assert!(!take(&gate, &alice()).allowed());
}

#[test]
fn what_an_operator_says_wrongly_is_refused_and_changes_nothing() {
    let gate = gate(RULES);
    let wrong_rule = block_on(gate.block("apy", &[ALICE], None)).unwrap_err();
    assert!(
        matches!(&wrong_rule, OrderError::UnknownRule { nearest: Some(near), .. } if near == "api")
    );
    let wrong_key = block_on(gate.block("api", &["a", "b"], None)).unwrap_err();
    assert!(matches!(wrong_key, OrderError::Key(_)));
    for pair in [
        ("rate", "5/s"),
        ("limit", "0"),
        ("limit", "many"),
        ("colour", "blue"),
    ] {
        let refused = gate.set_override("api", &[ALICE], settings([pair]), None);
        let refused = block_on(refused).unwrap_err();
        assert!(matches!(refused, OrderError::Settings(_)), "{pair:?}");
    }
    assert!(gate.orders().is_empty());
}

#[test]
fn secret_keys_are_listed_as_fingerprints() {
    let gate = gate(RULES);
    block_on(gate.block("key", &["Bearer s3cret"], None)).unwrap();
    let orders = gate.orders();
    let shown = &orders[0].key.as_ref().unwrap()[0];
    assert!(
        shown.starts_with('#') && !shown.contains("s3cret"),
        "{shown}"
    );
}

#[test]
fn orders_outlive_a_reload_and_idle_while_their_rule_is_gone() {
    let gate = gate(RULES);
    block_on(gate.block("api", &[ALICE], None)).unwrap();
    gate.swap(policy(&RULES.replace("\"api\"", "\"web\"")));
    assert!(take(&gate, &alice()).allowed());
    let idle = gate.orders();
    assert!(idle[0].idle.as_ref().is_some_and(|why| why.contains("api")));
    gate.swap(policy(RULES));
    assert!(!take(&gate, &alice()).allowed());
    assert!(gate.orders()[0].idle.is_none());
}

#[test]
fn every_node_on_one_store_goes_by_them_when_it_looks() {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    let clock = Clock::fixed(Micros::new(1_800_000_000 * S));
    let node = || Gate::new(policy(RULES), Arc::clone(&table) as _, clock.clone());
    let (here, there) = (node(), node());
    block_on(here.block("api", &[ALICE], None)).unwrap();
    assert!(take(&there, &alice()).allowed());
    block_on(there.refresh_orders()).unwrap();
    assert!(!take(&there, &alice()).allowed());
}

#[cfg(feature = "settling")]
#[tokio::test(start_paused = true)]
async fn a_driven_gate_looks_within_a_second() {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    let clock = Clock::fixed(Micros::new(1_800_000_000 * S));
    let node = || Gate::new(policy(RULES), Arc::clone(&table) as _, clock.clone());
    let (here, there) = (node(), node());
    tokio::spawn(there.clone().drive());
    tokio::time::sleep(Duration::from_millis(10)).await;
    here.block("api", &[ALICE], None).await.unwrap();
    tokio::time::sleep(Duration::from_millis(999)).await;
    assert!(!take(&there, &alice()).allowed());
}

#[test]
fn a_credential_is_named_as_it_is_sent() {
    let gate = gate(RULES);
    for written in ["Bearer s3cret", "bearer   s3cret"] {
        block_on(gate.block("key", &[written], None)).unwrap();
        for sent in ["Bearer s3cret", "BEARER s3cret", "bearer  s3cret"] {
            let request = alice().header("authorization", sent);
            assert!(
                !take(&gate, &request).allowed(),
                "{written:?} blocks {sent:?}"
            );
        }
        assert!(block_on(gate.unblock("key", &["BEARER s3cret"])).unwrap());
    }
    let other = alice().header("authorization", "Bearer S3cret");
    assert!(take(&gate, &other).allowed());
}

#[test]
fn what_is_meant_as_an_address_has_to_be_one() {
    let gate = gate(RULES);
    for text in ["203.0.113.0/24", "203.0.113.999", "2001:db8::/32", "1.2.3"] {
        let refused = block_on(gate.block("api", &[text], None)).unwrap_err();
        assert!(matches!(&refused, OrderError::NoAddress { text: named } if named == text));
    }
    block_on(gate.block("api", &["2001:db8::7"], None)).unwrap();
    assert!(
        !take(&gate, &Request::get("2001:db8::9", "/")).allowed(),
        "one /64, one client"
    );
    assert_eq!(gate.orders().len(), 1);
}

#[test]
fn what_is_listed_can_be_lifted_as_it_is_listed() {
    let gate = gate(RULES);
    block_on(gate.block("key", &["Bearer s3cret"], None)).unwrap();
    let raise = settings([("limit", "5")]);
    block_on(gate.set_override("api", &[ALICE], raise, None)).unwrap();
    let listed = |at: usize| gate.orders()[at].key.clone().unwrap().remove(0);
    let fingerprint = listed(0);
    assert!(block_on(gate.unblock("key", &[&fingerprint])).unwrap());
    // Its rule is gone, and with it the word for its keys.
    gate.swap(policy(&RULES.replace("\"api\"", "\"web\"")));
    let shown = listed(0);
    assert!(block_on(gate.lift_override("api", &[&shown])).unwrap());
    assert!(gate.orders().is_empty());
    let unknown = block_on(gate.unblock("api", &[ALICE])).unwrap_err();
    assert!(matches!(unknown, OrderError::UnknownRule { .. }));
}
