//! Receipts: a charge is given back exactly, and only while it still counts.

use jeton::{ChargeError, Cost, Gate, GivenReceipt, Micros, NamedCharge, Verb};

use crate::support::{S, gate};

const START: u64 = 1_800_000_000 * S;

const RULES: &str = r#"
[[rule]]
name = "minute"
key = "header:x-user"
algorithm = "fixed-window"
limit = 10
window = "1min"

[[rule]]
name = "log"
key = "header:x-user"
algorithm = "sliding-log"
limit = 10
window = "1min"

[[rule]]
name = "bucket"
key = "header:x-user"
algorithm = "token-bucket"
rate = "1/s"
burst = 10
"#;

fn decide(gate: &Gate, verb: Verb, charge: NamedCharge<'_>) -> (u32, Option<GivenReceipt>) {
    let answered = gate.charge(verb, &[charge]).unwrap().now().unwrap();
    let decided = answered.decisions().next().unwrap();
    (decided.decision.remaining, decided.receipt())
}

fn take(gate: &Gate, rule: &str, cost: u64) -> (u32, GivenReceipt) {
    let charge = NamedCharge::new(rule, &["alice"]).cost(Cost::new(cost));
    let (remaining, receipt) = decide(gate, Verb::Take, charge);
    (remaining, receipt.unwrap())
}

#[test]
fn a_receipt_survives_as_text_and_gives_back_its_own_charge() {
    for rule in ["minute", "log", "bucket"] {
        let gate = gate(RULES);
        gate.clock().set(Micros::new(START));
        let (_, first) = take(&gate, rule, 4);
        let (left, _) = take(&gate, rule, 3);
        assert_eq!(left, 3, "{rule}");
        let first: GivenReceipt = first.to_string().parse().unwrap();
        assert_eq!(first.cost(), 4);
        let refund = NamedCharge::new(rule, &["alice"]).receipt(first);
        assert_eq!(decide(&gate, Verb::Refund, refund).0, 7, "{rule}");
    }
}

#[test]
fn a_part_of_a_receipt_can_be_given_back() {
    let gate = gate(RULES);
    let (_, receipt) = take(&gate, "log", 4);
    let part = NamedCharge::new("log", &["alice"])
        .receipt(receipt)
        .cost(Cost::ONE);
    assert_eq!(decide(&gate, Verb::Refund, part).0, 7);
}

#[test]
fn a_receipt_is_worth_nothing_once_its_window_is_over() {
    for (rule, later, left) in [("minute", 60, 5), ("log", 60, 5), ("bucket", 10, 5)] {
        let gate = gate(RULES);
        gate.clock().set(Micros::new(START));
        let (_, old) = take(&gate, rule, 10);
        gate.clock().set(Micros::new(START + later * S));
        assert_eq!(take(&gate, rule, 5).0, left, "{rule}");
        let refund = NamedCharge::new(rule, &["alice"]).receipt(old);
        assert_eq!(decide(&gate, Verb::Refund, refund).0, left, "{rule}");
    }
}

#[test]
fn a_receipt_is_for_one_rule_and_for_refunds() {
    let gate = gate(RULES);
    let (_, receipt) = take(&gate, "minute", 4);
    let wrong = [
        (
            Verb::Refund,
            NamedCharge::new("log", &["alice"]).receipt(receipt),
        ),
        (
            Verb::Take,
            NamedCharge::new("minute", &["alice"]).receipt(receipt),
        ),
    ];
    for (verb, charge) in wrong {
        let error = gate.charge(verb, &[charge]).unwrap_err();
        assert_eq!(error, ChargeError::Receipt { index: 0 });
    }
    assert_eq!(take(&gate, "minute", 1).0, 5);
}

#[test]
fn f19_a_refund_without_a_receipt_never_goes_above_full() {
    for rule in ["minute", "log", "bucket"] {
        let gate = gate(RULES);
        let refund = |units| {
            let charge = NamedCharge::new(rule, &["alice"]).cost(Cost::new(units));
            decide(&gate, Verb::Refund, charge).0
        };
        take(&gate, rule, 10);
        assert_eq!(refund(1), 1, "{rule}");
        assert_eq!(take(&gate, rule, 1).0, 0, "{rule}");
        assert_eq!(refund(100), 10, "{rule}");
    }
}
