//! Several rules in one step, and the exceptions to "all or none" that have names.

use jeton::policy::Counter;
use jeton::{Disposition, Gate, RuleOutcome};

use crate::support::{Request, S, gate, policy, take};

fn left(gate: &Gate, request: &Request) -> Vec<u32> {
    let looked = gate.check(request).now().unwrap();
    looked.decisions().map(|d| d.decision.remaining).collect()
}

/// A rule over all, and one of `settings` behind it.
fn behind(settings: &str) -> String {
    format!(
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
        algorithm = "fixed-window"
        limit = 2
        window = "1d"
        {settings}
        "#
    )
}

fn alice() -> Request {
    Request::get("192.0.2.1", "/").header("x-user", "alice")
}

#[test]
fn on_deny_charge_costs_what_is_left_of_the_rule_that_denies() {
    let gate = gate(&format!(
        r#"{}
        on_deny = "charge"
        cost = 1
        "#,
        behind("")
    ));
    let three = |gate: &Gate| {
        let cost = jeton::Cost::new(3);
        gate.decide(&alice(), jeton::Verb::Take, Some(cost))
    };
    assert!(take(&gate, &alice()).allowed());
    assert_eq!(left(&gate, &alice()), [9, 1]);
    // Impossible: nothing is charged for what can never be.
    assert!(three(&gate).now().unwrap().impossible());
    assert_eq!(left(&gate, &alice()), [9, 1]);
    let two = gate.decide(&alice(), jeton::Verb::Take, Some(jeton::Cost::new(2)));
    assert!(!two.now().unwrap().allowed());
    assert_eq!(
        left(&gate, &alice()),
        [9, 0],
        "down to empty, and no other rule"
    );
}

#[test]
fn shadow_has_no_vote_and_is_charged_only_when_it_would_allow_and_the_request_passes() {
    let gate = gate(&behind("mode = \"shadow\""));
    for passed in 1..=10 {
        let answered = take(&gate, &alice());
        assert!(answered.allowed());
        let told: Vec<&str> = answered.told().iter().map(|d| d.rule.name()).collect();
        assert_eq!(told, ["wide"], "no headers");
        let expected = [10 - passed, 2_u32.saturating_sub(passed)];
        assert_eq!(left(&gate, &alice()), expected);
    }
    assert!(!take(&gate, &alice()).allowed());
    let tally = gate.tally();
    assert_eq!(tally.rule(1, RuleOutcome::Allowed), 2);
    assert_eq!(tally.rule(1, RuleOutcome::ShadowDenied), 9);
}

#[test]
fn mark_lets_pass_and_says_so() {
    let gate = gate(&behind("mode = \"mark\""));
    for passed in 1..=3 {
        let answered = take(&gate, &alice());
        assert!(answered.allowed());
        let marked: Vec<&str> = answered.marked().collect();
        assert_eq!(marked.is_empty(), passed <= 2);
    }
    assert_eq!(gate.tally().rule(1, RuleOutcome::Marked), 1);
}

#[test]
fn a_trial_is_counted_side_by_side_without_a_vote() {
    let gate = gate(&behind("trial = { limit = 1 }"));
    for (trial_passes, allowed) in [(true, true), (false, true), (false, false)] {
        let answered = take(&gate, &alice());
        assert_eq!(answered.allowed(), allowed);
        let trial = answered.decisions().find(|d| d.counter == Counter::Trial);
        assert_eq!(trial.unwrap().decision.fit.passes(), trial_passes);
        let told = answered.told();
        assert!(told.iter().all(|d| d.counter == Counter::Requests));
    }
    let tally = gate.tally();
    assert_eq!(tally.rule(1, RuleOutcome::TrialAllowed), 1);
    assert_eq!(tally.rule(1, RuleOutcome::TrialDenied), 2);
    assert_eq!(tally.rule(1, RuleOutcome::Denied), 1);
}

#[test]
fn a_rule_that_matches_takes_the_place_of_those_it_replaces() {
    let gate = gate(&behind(
        "match = { with = \"header:x-user\" }\nreplaces = [\"wide\"]",
    ));
    assert!(take(&gate, &alice()).allowed());
    assert_eq!(left(&gate, &alice()), [1]);
    assert_eq!(left(&gate, &Request::get("192.0.2.1", "/")), [10]);
}

const PLANS: &str = r#"
[[rule]]
name = "user"
key = "header:x-user"
algorithm = "fixed-window"
limit = 3
window = "1d"
plan = "header:x-plan"
plans = { pro = { limit = 5 }, staff = "unlimited", banned = "deny" }
"#;

#[test]
fn a_plan_changes_the_quota_and_never_the_counter() {
    let gate = gate(PLANS);
    let on = |plan: &str| alice().header("x-plan", plan);
    for _ in 0..3 {
        assert!(take(&gate, &alice()).allowed());
    }
    assert!(!take(&gate, &alice()).allowed());
    let pro = take(&gate, &on("pro"));
    let decided = pro.decisions().next().unwrap();
    assert_eq!(decided.plan, Some("pro"));
    assert_eq!((decided.decision.limit, decided.decision.remaining), (5, 1));
    assert!(take(&gate, &on("staff")).allowed());
    assert!(matches!(
        take(&gate, &on("banned")).disposition(),
        Disposition::Refused { rule: 0, .. }
    ));
    assert!(
        !take(&gate, &on("nobody knows")).allowed(),
        "the rule's own terms"
    );
    assert_eq!(left(&gate, &on("pro")), [1]);
}

#[test]
fn f47_reloads_keep_what_is_used_and_f48_a_raise_helps_at_once() {
    let gate = gate(PLANS);
    for _ in 0..3 {
        assert!(take(&gate, &alice()).allowed());
    }
    for _ in 0..100 {
        gate.swap(policy(PLANS));
        assert!(!take(&gate, &alice()).allowed());
    }
    assert_eq!(
        gate.tally().rule(0, RuleOutcome::Denied),
        100,
        "meters go on"
    );
    gate.swap(policy(&PLANS.replace("limit = 3", "limit = 4")));
    assert!(take(&gate, &alice()).allowed());
    assert!(!take(&gate, &alice()).allowed());
    gate.swap(policy(&PLANS.replace("fixed-window", "sliding-log")));
    assert!(
        take(&gate, &alice()).allowed(),
        "another algorithm is another counter"
    );
}

#[test]
fn f49_a_raised_rate_never_turns_an_allow_into_a_deny() {
    let text = |rate: &str| {
        format!(
            "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"gcra\"\n\
             rate = \"{rate}\"\nburst = 16\n"
        )
    };
    let gate = gate(&text("10/20s"));
    for _ in 0..3 {
        assert!(take(&gate, &alice()).allowed());
    }
    let before = left(&gate, &alice());
    for rate in ["1000/20s", "1000/s", "1000000/s"] {
        gate.swap(policy(&text(rate)));
        assert!(left(&gate, &alice()) >= before);
        assert!(gate.check(&alice()).now().unwrap().allowed());
    }
    assert!(take(&gate, &alice()).allowed());
    let now = gate.clock().now().get();
    gate.clock().set(jeton::Micros::new(now + S));
    assert_eq!(left(&gate, &alice()), [16]);
}
