//! A remembered denial is true, and saves calls.

use jeton::{Cost, Fit, NamedCharge, Verb};
use jeton_testkit::random::Random;

use crate::far::{MS, S, START, World, ask, check, decided, is_full, one, take};
use crate::random::rule;

fn runs() -> u64 {
    if is_full() { 3_000 } else { 150 }
}

#[test]
fn a_blocked_client_costs_one_call_per_period() {
    let mut spared = 0;
    for seed in 0..runs() {
        let mut random = Random::new(seed);
        let rule = rule(&mut random, (1, 50), (20, 3_000));
        let deny_ms = random.scaled(1, 2_000);
        let world = World::new(1, &format!("deny_cache = \"{deny_ms}ms\""), &rule.text);
        let node = &world.nodes[0];
        let latency = random.below(2) * 10 * MS;
        node.far
            .takes(random.below(latency + 1), random.below(latency + 1));
        let cost = random.between(1, rule.limit);
        // Until when nobody may ask: of the latest denial.
        let mut quiet_until = 0;
        for step in 0..300 {
            world.pass(random.scaled(1, deny_ms * MS));
            let sent = world.now();
            let answered = take(&node.gate, "api", "alice", cost);
            let is_asked = node.far.calls() > 0;
            let decision = one(&answered);
            if sent < quiet_until {
                assert!(
                    !is_asked,
                    "seed {seed}, step {step}: {sent} < {quiet_until}"
                );
                spared += 1;
            }
            match decision.fit {
                Fit::Allowed => assert!(is_asked),
                Fit::Denied { retry_after } if is_asked => {
                    quiet_until = sent + retry_after.as_micros().min(deny_ms * MS);
                }
                Fit::Denied { retry_after } => {
                    // It is as the store would say, if it could be asked without any delay.
                    let own = one(&check(&world.plain, "api", "alice", cost));
                    let own_wait = own.fit.retry_after().expect("the store denies as well");
                    let later = retry_after.as_micros() - own_wait.as_micros();
                    assert!(
                        later <= latency + 1,
                        "seed {seed}: {own_wait:?}, {retry_after:?}"
                    );
                    assert!(decision.remaining <= own.remaining);
                    assert!(!decision.reset_after.is_zero());
                    assert_eq!(decision.limit, own.limit);
                    assert_eq!(decision.receipt.cost, 0);
                    assert!(
                        decision.at <= own.at && own.at.since(decision.at).as_micros() <= latency
                    );
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(answered.allowed(), decision.fit == Fit::Allowed);
            if random.below(10) == 0 {
                // It waits as it was told.
                let wait = decision.fit.retry_after().unwrap_or_default();
                world.pass(wait.as_micros());
                if !wait.is_zero() {
                    let after = take(&node.gate, "api", "alice", cost);
                    assert!(
                        after.allowed(),
                        "seed {seed}: {wait:?} was not enough: {after:?}"
                    );
                    node.far.calls();
                }
            }
        }
    }
    assert!(spared > runs() * 20, "{spared}");
}

#[test]
fn whatever_other_nodes_take_it_denies_nothing_that_fits() {
    let (mut spared, mut asked) = (0, 0);
    for seed in 0..runs() {
        let mut random = Random::new(1_000_000 + seed);
        let rule = rule(&mut random, (1, 50), (20, 3_000));
        let deny_ms = random.scaled(1, 2_000);
        let world = World::new(3, &format!("deny_cache = \"{deny_ms}ms\""), &rule.text);
        for step in 0..400 {
            world.pass(random.below(rule.window_us / 10));
            let node = &world.nodes[usize::try_from(random.below(3)).unwrap()];
            let key = ["alice", "bob"][usize::try_from(random.below(2)).unwrap()];
            let cost = random.scaled(1, rule.limit);
            let verb =
                [Verb::Take, Verb::Take, Verb::Check][usize::try_from(random.below(3)).unwrap()];
            let own = one(&check(&world.plain, "api", key, cost));
            let answered = ask(&node.gate, verb, &[("api", key, cost)]);
            let decision = one(&answered);
            let passes = |fit: Fit| fit == Fit::Allowed;
            assert_eq!(
                passes(decision.fit),
                passes(own.fit),
                "seed {seed}, step {step}"
            );
            if node.far.calls() > 0 {
                asked += 1;
                continue;
            }
            spared += 1;
            // Nobody gives anything back: what others have taken since makes the wait longer.
            let (told, owned) = (decision.fit.retry_after(), own.fit.retry_after());
            assert!(told.unwrap().as_micros() <= owned.unwrap().as_micros() + 1);
            assert!(!told.unwrap().is_zero());
        }
    }
    assert!(spared > asked / 20, "{spared} of {asked}");
}

const LOG: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "sliding-log"
limit = 10
window = "10s"
"#;

#[test]
fn a_higher_cost_is_asked_about_once_and_of_a_bucket_not_at_all() {
    let bucket = "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"gcra\"\nrate = \"1/s\"\nburst = 10\n";
    for (rules, calls) in [(LOG, 1), (bucket, 0)] {
        let world = World::new(1, "deny_cache = \"1s\"", rules);
        let node = &world.nodes[0];
        assert!(take(&node.gate, "api", "alice", 4).allowed());
        world.pass(500 * MS);
        assert!(take(&node.gate, "api", "alice", 4).allowed());
        assert!(!take(&node.gate, "api", "alice", 3).allowed());
        node.far.calls();
        for _ in 0..3 {
            world.pass(100 * MS);
            let more = one(&take(&node.gate, "api", "alice", 7));
            let own = one(&check(&world.plain, "api", "alice", 7));
            let receipt = own.receipt;
            assert_eq!(jeton::Decision { receipt, ..more }, own);
        }
        assert_eq!(node.far.calls(), calls);
        // Less than what was denied fits.
        assert!(take(&node.gate, "api", "alice", 2).allowed());
        assert_eq!(node.far.calls(), 1);
        // What can never fit is not what was denied.
        assert!(matches!(
            one(&take(&node.gate, "api", "alice", 11)).fit,
            Fit::Impossible
        ));
    }
}

#[test]
fn whatever_may_free_units_ends_it() {
    let freeing = |world: &World, verb| ask(&world.nodes[0].gate, verb, &[("api", "alice", 10)]);
    for verb in [Verb::Refund, Verb::Reset] {
        let world = World::new(1, "deny_cache = \"1min\"", LOG);
        let gate = &world.nodes[0].gate;
        assert!(take(gate, "api", "alice", 10).allowed());
        assert!(!take(gate, "api", "alice", 1).allowed());
        assert!(!check(gate, "api", "alice", 1).allowed());
        assert_eq!(world.nodes[0].far.calls(), 2);
        freeing(&world, verb);
        assert!(check(gate, "api", "alice", 1).allowed(), "{verb:?}");
        assert!(take(gate, "api", "alice", 1).allowed(), "{verb:?}");
    }
    // A reservation that is given back.
    let world = World::new(1, "deny_cache = \"1min\"", LOG);
    let gate = &world.nodes[0].gate;
    let charge = NamedCharge::new("api", &["alice"]).cost(Cost::new(10));
    let reserved = gate
        .reserve_charges(&[charge], jeton::DEFAULT_TTL)
        .unwrap()
        .now()
        .unwrap();
    assert!(!take(gate, "api", "alice", 1).allowed());
    let cancelled = gate.cancel(reserved.handle().unwrap()).now().unwrap();
    assert!(decided(&cancelled).is_some());
    assert!(take(gate, "api", "alice", 1).allowed());
}

#[test]
fn of_a_plan_that_is_denied_every_rule_tells_where_it_stands() {
    let rules = format!(
        "{LOG}{}",
        LOG.replace("api", "all").replace("10\n", "100\n")
    );
    let world = World::new(1, "deny_cache = \"1s\"", &rules);
    let node = &world.nodes[0];
    let both = |cost| [("api", "alice", cost), ("all", "everybody", cost)];
    assert!(ask(&node.gate, Verb::Take, &both(8)).allowed());
    for pass in [0, 300 * MS, 600 * MS] {
        world.clock.set(jeton::Micros::new(START + pass));
        let denied = ask(&node.gate, Verb::Take, &both(5));
        let own = ask(&world.plain, Verb::Check, &both(5));
        assert_eq!(denied.disposition(), own.disposition());
        let told: Vec<_> = denied
            .decisions()
            .map(|d| (d.decision.fit, d.decision.remaining))
            .collect();
        let owned: Vec<_> = own
            .decisions()
            .map(|d| (d.decision.fit, d.decision.remaining))
            .collect();
        assert_eq!(told, owned);
    }
    assert_eq!(node.far.calls(), 2);
    // Another key of which nothing is known: the store is asked.
    let other = [("api", "alice", 5), ("all", "somebody", 5)];
    assert!(!ask(&node.gate, Verb::Take, &other).allowed());
    assert_eq!(node.far.calls(), 1);
    assert!(!ask(&node.gate, Verb::Take, &other).allowed());
    assert_eq!(node.far.calls(), 0);
}

#[test]
fn what_costs_something_or_has_no_vote_is_always_asked() {
    for word in [
        "on_deny = \"charge\"",
        "mode = \"shadow\"",
        "mode = \"mark\"",
        "trial = { limit = 5 }",
    ] {
        let world = World::new(1, "deny_cache = \"1min\"", &format!("{LOG}{word}\n"));
        let node = &world.nodes[0];
        for _ in 0..20 {
            take(&node.gate, "api", "alice", 3);
        }
        assert_eq!(node.far.calls(), 20, "{word}");
    }
}

#[test]
fn it_lasts_no_longer_than_it_was_told_to() {
    let world = World::new(1, "deny_cache = \"200ms\"", LOG);
    let node = &world.nodes[0];
    assert!(take(&node.gate, "api", "alice", 10).allowed());
    for _ in 0..1_000 {
        world.pass(10 * MS);
        take(&node.gate, "api", "alice", 1);
    }
    // The first take, ten seconds of denials, and the take that passes at their end.
    assert_eq!(node.far.calls(), 1 + 50 + 1);
    assert_eq!(world.now(), START + 10 * S);
}
