//! Several rules over one store: who is charged, who is told what, what is counted.

use jeton::{Disposition, Event, Micros, RuleOutcome, Verb};

use crate::support::{Request, S, gate, named, take};

const TWO_LAYERS: &str = r#"
[[rule]]
name = "everyone"
key = ["client-ip"]
algorithm = "fixed-window"
limit = 50
window = "1d"

[[rule]]
name = "user"
match = { with = ["header:authorization"] }
key = ["header:authorization"]
algorithm = "fixed-window"
limit = 5
window = "1min"
"#;

#[test]
fn f51_both_layers_are_charged_once_or_not_at_all() {
    let gate = gate(TWO_LAYERS);
    let request = Request::get("192.0.2.1", "/").header("authorization", "Bearer a");
    for _ in 0..5 {
        assert!(take(&gate, &request).allowed());
    }
    let denied = take(&gate, &request);
    assert!(!denied.allowed());
    assert_eq!(denied.violated().collect::<Vec<_>>(), ["user"]);
    let remaining: Vec<u32> = denied.decisions().map(|d| d.decision.remaining).collect();
    assert_eq!(remaining, [45, 0]);

    let tally = gate.tally();
    assert_eq!(tally.rule(0, RuleOutcome::Allowed), 5);
    assert_eq!(tally.rule(0, RuleOutcome::Withheld), 1);
    assert_eq!(tally.rule(1, RuleOutcome::Denied), 1);
}

#[test]
fn f51_two_charges_on_one_rule_and_key_are_one_of_their_sum() {
    let gate = gate(TWO_LAYERS);
    let charges = [
        ("user", "a", 2),
        ("everyone", "192.0.2.1", 1),
        ("user", "a", 2),
    ];
    let answered = named(&gate, Verb::Take, &charges);
    assert!(answered.allowed());
    let decisions: Vec<_> = answered.decisions().map(|d| d.decision.remaining).collect();
    assert_eq!(decisions, [1, 49]);
    assert!(!named(&gate, Verb::Take, &charges).allowed());
}

#[test]
fn f42_rules_of_one_client_never_share_a_counter() {
    let gate = gate(
        r#"
[[rule]]
name = "a"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 10
window = "30d"
[[rule]]
name = "b"
key = ["client-ip"]
algorithm = "sliding-log"
limit = 5
window = "1h"
"#,
    );
    for rule in ["a", "b"] {
        for _ in 0..5 {
            assert!(
                named(&gate, Verb::Take, &[(rule, "192.0.2.1", 1)]).allowed(),
                "{rule}"
            );
        }
    }
    assert!(!named(&gate, Verb::Take, &[("b", "192.0.2.1", 1)]).allowed());
    assert!(named(&gate, Verb::Take, &[("a", "192.0.2.1", 1)]).allowed());
}

#[test]
fn the_rule_told_first_is_the_one_that_matters_most() {
    let gate = gate(TWO_LAYERS);
    let request = Request::get("192.0.2.1", "/").header("authorization", "Bearer a");
    let first = |answered: &jeton::Answered| answered.told()[0].rule.name().to_owned();
    // 49 of 50 against 4 of 5: the user's share is smaller.
    assert_eq!(first(&take(&gate, &request)), "user");
    for _ in 0..4 {
        take(&gate, &request);
    }
    assert_eq!(first(&take(&gate, &request)), "user");
    named(&gate, Verb::Take, &[("everyone", "192.0.2.1", 45)]);
    // Both deny now; the day's wait is the longer one.
    assert_eq!(first(&take(&gate, &request)), "everyone");
}

#[test]
fn lists_and_words_come_before_counters() {
    let gate = gate(
        r#"
[lists]
exempt = ["10.0.0.0/8"]
block = ["10.6.6.6", "192.0.2.0/24"]
[[rule]]
name = "admin"
match = { path = "/admin/{x..}" }
limit = "deny"
[[rule]]
name = "static"
match = { path = "/static/{x..}" }
limit = "unlimited"
[[rule]]
name = "api"
match = { path = "/api" }
key = ["client-ip"]
algorithm = "gcra"
rate = "1/h"
"#,
    );
    let disposition = |ip, path| take(&gate, &Request::get(ip, path)).disposition();
    assert_eq!(disposition("10.6.6.6", "/api"), Disposition::Blocked);
    assert_eq!(disposition("10.1.2.3", "/admin/x"), Disposition::Exempt);
    assert!(matches!(
        disposition("198.51.100.7", "/admin/x"),
        Disposition::Refused { rule: 0, .. }
    ));
    assert_eq!(
        disposition("198.51.100.7", "/static/a.css"),
        Disposition::Unlimited
    );
    assert_eq!(
        disposition("198.51.100.7", "/elsewhere"),
        Disposition::Unmatched
    );
    assert!(take(&gate, &Request::get("198.51.100.7", "/api")).allowed());
    assert!(!take(&gate, &Request::get("198.51.100.7", "/api")).allowed());

    let tally = gate.tally();
    for (event, count) in [
        (Event::Blocked, 1),
        (Event::Exempt, 1),
        (Event::Refused, 1),
        (Event::Unlimited, 1),
        (Event::Unmatched, 1),
        (Event::Degraded, 0),
    ] {
        assert_eq!(tally.event(event), count, "{event:?}");
    }
}

#[test]
fn f20_both_words_answer_without_a_counter() {
    let gate = gate(
        "[[rule]]\nname = \"open\"\nlimit = \"unlimited\"\n\
         [[rule]]\nname = \"shut\"\nlimit = \"deny\"\n",
    );
    assert!(named(&gate, Verb::Take, &[("open", "x", 1_000_000_000)]).allowed());
    let shut = named(&gate, Verb::Take, &[("shut", "x", 1)]);
    assert!(!shut.allowed());
    assert_eq!(shut.retry_after(), None);
}

#[test]
fn a_shadow_rule_is_counted_and_not_told() {
    let shadow = TWO_LAYERS.replace("limit = 5\n", "limit = 1\nmode = \"shadow\"\n");
    let gate = gate(&shadow);
    let request = Request::get("192.0.2.1", "/").header("authorization", "Bearer a");
    assert!(take(&gate, &request).allowed());
    let second = take(&gate, &request);
    assert!(second.allowed());
    assert_eq!(second.told().len(), 1);
    assert_eq!(gate.tally().rule(1, RuleOutcome::ShadowDenied), 1);
}

#[test]
fn checking_charges_nothing_and_is_not_counted() {
    let gate = gate(TWO_LAYERS);
    for _ in 0..10 {
        let look = named(&gate, Verb::Check, &[("user", "a", 5)]);
        assert!(look.allowed());
        assert_eq!(look.decisions().next().unwrap().decision.remaining, 5);
    }
    assert_eq!(gate.tally().rule(1, RuleOutcome::Allowed), 0);
}

#[test]
fn refunds_and_resets_go_through_the_same_door() {
    let gate = gate(TWO_LAYERS);
    assert!(named(&gate, Verb::Take, &[("user", "a", 5)]).allowed());
    named(&gate, Verb::Refund, &[("user", "a", 2)]);
    assert!(named(&gate, Verb::Take, &[("user", "a", 2)]).allowed());
    assert!(!named(&gate, Verb::Take, &[("user", "a", 1)]).allowed());
    named(&gate, Verb::Reset, &[("user", "a", 1)]);
    assert!(named(&gate, Verb::Take, &[("user", "a", 5)]).allowed());
}

#[test]
fn the_virtual_clock_moves_every_decision() {
    let gate = gate(TWO_LAYERS);
    assert!(named(&gate, Verb::Take, &[("user", "a", 5)]).allowed());
    let wait = named(&gate, Verb::Take, &[("user", "a", 1)])
        .retry_after()
        .unwrap();
    let now = gate.clock().now().get();
    gate.clock().set(Micros::new(now + wait.as_micros() - 1));
    assert!(!named(&gate, Verb::Take, &[("user", "a", 1)]).allowed());
    gate.clock().set(Micros::new(now + wait.as_micros()));
    assert!(named(&gate, Verb::Take, &[("user", "a", 1)]).allowed());
    assert_eq!(wait.as_micros() % S, 0);
}

#[test]
fn what_is_named_wrongly_is_refused_by_name() {
    use jeton::{ChargeError, NamedCharge};
    let gate = gate(TWO_LAYERS);
    let charge = |rule: &'static str, key: &'static [&'static str]| {
        gate.charge(Verb::Take, &[NamedCharge::new(rule, key)])
            .unwrap_err()
    };
    assert!(matches!(
        charge("usr", &["a"]),
        ChargeError::UnknownRule { index: 0, .. }
    ));
    assert!(matches!(
        charge("user", &["a", "b"]),
        ChargeError::Key { index: 0, .. }
    ));
    let many = vec![NamedCharge::new("user", &["a"]); 33];
    let error = gate.charge(Verb::Take, &many).unwrap_err();
    assert_eq!(error, ChargeError::TooMany { charges: 33 });
}
