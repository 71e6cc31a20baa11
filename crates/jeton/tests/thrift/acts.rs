//! Whatever is done to a key that units were taken ahead of.

use futures_executor::block_on;
use jeton::policy::{Alternative, Mode};
use jeton::{Cost, DEFAULT_TTL, GivenReceipt, Micros, NamedCharge, Verb};

use crate::far::{MS, START, World, ask, check, decided, one, policy, take};
use crate::leases::WINDOW;

const LOG: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "sliding-log"
limit = 100
window = "10s"
"#;

const BUCKET: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "token-bucket"
rate = "7/s"
burst = 100
"#;

const COUNTER: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "sliding-counter"
limit = 100
window = "10s"
"#;

/// Of 22 that were taken, 17 are left.
fn leased(rules: &str) -> World {
    let world = World::new(1, "lease = 20", rules);
    for _ in 0..5 {
        assert!(take(&world.nodes[0].gate, "api", "alice", 1).allowed());
    }
    assert_eq!(world.used("api", "alice"), 22);
    assert_eq!(world.nodes[0].far.calls(), 2);
    world
}

#[test]
fn a_refund_finds_what_was_really_used() {
    for rules in [WINDOW, LOG, BUCKET, COUNTER] {
        let world = leased(rules);
        ask(&world.nodes[0].gate, Verb::Refund, &[("api", "alice", 2)]);
        assert_eq!(world.used("api", "alice"), 3, "{rules}");
        ask(&world.nodes[0].gate, Verb::Refund, &[("api", "alice", 9)]);
        assert_eq!(world.used("api", "alice"), 0, "{rules}");
    }
}

#[test]
fn a_reset_leaves_nothing_to_be_spent() {
    for rules in [WINDOW, LOG, BUCKET, COUNTER] {
        let world = leased(rules);
        ask(&world.nodes[0].gate, Verb::Reset, &[("api", "alice", 0)]);
        assert_eq!(world.used("api", "alice"), 0, "{rules}");
        let taken = (0..200).filter(|_| take(&world.nodes[0].gate, "api", "alice", 1).allowed());
        assert_eq!(taken.count(), 100, "{rules}");
    }
}

#[test]
fn a_receipt_of_a_unit_that_was_taken_ahead_is_as_good_as_any() {
    for rules in [WINDOW, LOG, BUCKET, COUNTER] {
        let world = leased(rules);
        let gate = &world.nodes[0].gate;
        let taken = take(gate, "api", "alice", 3);
        let receipt = taken.decisions().next().unwrap().receipt().unwrap();
        let receipt: GivenReceipt = receipt.to_string().parse().unwrap();
        assert_eq!((receipt.cost(), world.nodes[0].far.calls()), (3, 0));
        let refund = NamedCharge::new("api", &["alice"]).receipt(receipt);
        let refunded = gate.charge(Verb::Refund, &[refund]).unwrap().now().unwrap();
        assert_eq!(decided(&refunded), Some(true));
        assert_eq!(world.used("api", "alice"), 5, "{rules}");
    }
}

#[test]
fn receipts_of_a_bucket_give_back_nothing_that_has_come_back_by_itself() {
    let world = World::new(1, "lease = 20\nlease_for = \"1min\"", BUCKET);
    let gate = &world.nodes[0].gate;
    let receipts: Vec<GivenReceipt> = (0..22)
        .map(|_| {
            take(gate, "api", "alice", 1)
                .decisions()
                .next()
                .unwrap()
                .receipt()
                .unwrap()
        })
        .collect();
    assert_eq!(
        (world.nodes[0].far.calls(), world.used("api", "alice")),
        (2, 22)
    );
    // All have come back but the last five; somebody has taken as many since.
    world.pass(2_430 * MS);
    assert_eq!(world.used("api", "alice"), 5);
    take(&world.plain, "api", "alice", 30);
    for receipt in receipts {
        let refund = NamedCharge::new("api", &["alice"]).receipt(receipt);
        gate.charge(Verb::Refund, &[refund]).unwrap().now().unwrap();
    }
    assert_eq!(world.used("api", "alice"), 30);
}

#[test]
fn a_reservation_finds_what_was_really_used() {
    let world = leased(WINDOW);
    let gate = &world.nodes[0].gate;
    let charge = NamedCharge::new("api", &["alice"]).cost(Cost::new(95));
    let reserved = gate
        .reserve_charges(&[charge], DEFAULT_TTL)
        .unwrap()
        .now()
        .unwrap();
    assert!(reserved.allowed());
    assert_eq!(world.used("api", "alice"), 100);
    assert_eq!(
        decided(&gate.cancel(reserved.handle().unwrap()).now().unwrap()),
        Some(true)
    );
    assert_eq!(world.used("api", "alice"), 5);
}

#[test]
fn under_another_quota_nothing_of_the_old_one_is_spent_or_denied() {
    let world = leased(WINDOW);
    let gate = &world.nodes[0].gate;
    let limit = Alternative::new([("limit", "30")]).unwrap();
    block_on(gate.set_override("api", &["alice"], limit, None)).unwrap();
    let taken = (0..50).filter(|_| take(gate, "api", "alice", 1).allowed());
    assert_eq!(taken.count(), 30 - 5);
    block_on(gate.lift_override("api", &["alice"])).unwrap();
    let taken = (0..200).filter(|_| take(gate, "api", "alice", 1).allowed());
    assert_eq!(taken.count(), 70);
    assert!(!take(gate, "api", "alice", 1).allowed());
}

#[test]
fn a_rule_that_loses_its_vote_is_asked_about_every_time() {
    let world = leased(WINDOW);
    let node = &world.nodes[0];
    block_on(node.gate.set_mode("api", Some(Mode::Shadow))).unwrap();
    for used in 6..20 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        assert_eq!((node.far.calls(), world.used("api", "alice")), (1, used));
    }
}

#[test]
fn a_clock_that_moves_by_hand_may_go_back() {
    for rules in [WINDOW, LOG, BUCKET, COUNTER] {
        let world = leased(rules);
        let node = &world.nodes[0];
        world.pass(20 * MS);
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        assert_eq!(node.far.calls(), 0);
        world.clock.set(Micros::new(START + 10 * MS));
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        let calls = node.far.calls();
        assert_eq!((calls, world.used("api", "alice")), (1, 7), "{rules}");
    }
}

#[test]
fn a_look_spends_nothing_and_takes_nothing_ahead() {
    let world = leased(WINDOW);
    let node = &world.nodes[0];
    for _ in 0..30 {
        let seen = one(&check(&node.gate, "api", "alice", 17));
        assert_eq!((seen.remaining, seen.receipt.cost), (95, 0));
        assert!(check(&node.gate, "api", "bob", 1).allowed());
    }
    assert_eq!((node.far.calls(), node.far.plans()), (30, 33));
    assert_eq!(
        (world.used("api", "alice"), world.used("api", "bob")),
        (22, 0)
    );
}

/// As an edit of the file does it, again and again: what is out then goes back all the same.
#[test]
fn units_that_are_out_when_a_limit_changes_go_back() {
    let rules = |algorithm: &str, limit: u64| {
        let terms = match algorithm {
            "gcra" | "token-bucket" => format!("rate = \"1/h\"\nburst = {limit}"),
            _ => format!("limit = {limit}\nwindow = \"1h\""),
        };
        format!(
            "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"{algorithm}\"\n{terms}"
        )
    };
    for algorithm in [
        "fixed-window",
        "sliding-log",
        "sliding-counter",
        "token-bucket",
        "gcra",
    ] {
        let world = World::new(1, "lease = 20", &rules(algorithm, 100));
        let node = &world.nodes[0];
        let mut taken = 0;
        for round in 0..8 {
            let limit = 100 + round % 3;
            let store = "[store]\nkind = \"redis\"\nurl = \"redis://localhost\"\nlease = 20\n";
            let text = format!("{store}{}", rules(algorithm, limit));
            let _ = node.gate.swap(policy(&text));
            for _ in 0..3 {
                assert!(take(&node.gate, "api", "alice", 1).allowed());
                taken += 1;
            }
        }
        world.drain();
        let used = world.used("api", "alice");
        // One unit of a bucket may have come back each time, and stays charged.
        let most = match algorithm {
            "gcra" | "token-bucket" => taken + 8,
            _ => taken,
        };
        assert!((taken..=most).contains(&used), "{algorithm}: {used}");
    }
}
