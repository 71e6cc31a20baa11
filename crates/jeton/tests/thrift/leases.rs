//! What is answered from units that were taken ahead.

use jeton::{Fit, Verb};

use crate::far::{Fault, MS, S, World, ask, check, one, take};

pub(crate) const WINDOW: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "fixed-window"
limit = 100
window = "10s"
"#;

const LEASE: &str = "lease = 20";

#[test]
fn the_second_use_takes_ahead_and_the_next_ones_ask_nobody() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!((node.far.calls(), node.far.plans()), (1, 1));
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!((node.far.calls(), node.far.plans()), (1, 2));
    assert_eq!(world.used("api", "alice"), 22);
    for spent in 1..=20 {
        world.pass(10 * MS);
        let own = one(&check(&world.plain, "api", "alice", 1));
        let checked = check(&node.gate, "api", "alice", 1);
        assert_eq!(one(&checked).remaining, 99 - 1 - spent + 1);
        let taken = one(&take(&node.gate, "api", "alice", 1));
        assert_eq!(taken.fit, Fit::Allowed);
        assert_eq!(taken.remaining, 98 - spent);
        assert_eq!(
            (taken.limit, taken.at, taken.reset_after),
            (100, own.at, own.reset_after)
        );
        assert_eq!(taken.receipt.cost, 1);
    }
    assert_eq!((node.far.calls(), world.used("api", "alice")), (0, 22));
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!((node.far.calls(), world.used("api", "alice")), (1, 43));
}

#[test]
fn a_key_that_is_seldom_used_takes_nothing_ahead() {
    let world = World::new(1, LEASE, &WINDOW.replace("10s", "1h"));
    let node = &world.nodes[0];
    for _ in 0..50 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        world.pass(S);
    }
    assert_eq!(
        (
            node.far.calls(),
            node.far.plans(),
            world.used("api", "alice")
        ),
        (50, 50, 50)
    );
}

#[test]
fn what_does_not_fit_into_what_is_left_gives_it_back_and_is_decided_exactly() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    for cost in [1, 1, 15] {
        assert!(take(&node.gate, "api", "alice", cost).allowed());
    }
    assert_eq!(world.used("api", "alice"), 22);
    // 5 are left here, and 78 there.
    let checked = check(&node.gate, "api", "alice", 83);
    assert!(checked.allowed(), "{checked:?}");
    assert_eq!(
        (one(&checked).remaining, world.used("api", "alice")),
        (83, 17)
    );
    let all = one(&take(&node.gate, "api", "alice", 83));
    assert_eq!((all.fit, all.remaining), (Fit::Allowed, 0));
    assert_eq!(world.used("api", "alice"), 100);
}

#[test]
fn small_limits_are_asked_about_every_time() {
    let world = World::new(1, LEASE, &WINDOW.replace("limit = 100", "limit = 5"));
    let node = &world.nodes[0];
    for taken in 1..=8 {
        assert_eq!(take(&node.gate, "api", "alice", 1).allowed(), taken <= 5);
    }
    assert_eq!((node.far.calls(), node.far.plans()), (8, 8));
}

#[test]
fn near_the_limit_there_is_nothing_to_take_ahead_and_it_is_not_tried_all_the_time() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    take(&world.plain, "api", "alice", 85);
    for taken in 1..=30 {
        assert_eq!(
            take(&node.gate, "api", "alice", 1).allowed(),
            taken <= 15,
            "{taken}"
        );
    }
    assert_eq!((node.far.calls(), node.far.plans()), (30, 31));
}

#[test]
fn they_die_with_their_window_and_go_back_when_nobody_wants_them() {
    let world = World::new(1, "lease = 20\nlease_for = \"1min\"", WINDOW);
    let node = &world.nodes[0];
    for _ in 0..5 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
    }
    assert_eq!((node.far.calls(), world.used("api", "alice")), (2, 22));
    world.pass(10 * S - 50 * MS - 1);
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!(node.far.calls(), 0);
    world.pass(1);
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!(node.far.calls(), 1);
    // 7 were taken, and nothing is left here.
    world.drain();
    assert_eq!(world.used("api", "alice"), 7);
    // In the next one nothing of it is left.
    world.pass(50 * MS);
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    world.drain();
    assert_eq!(world.used("api", "alice"), 1);
}

#[test]
fn whoever_looks_gives_back_what_is_too_old() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    let keys: Vec<String> = (0..3_000).map(|key| format!("k{key}")).collect();
    for _ in 0..2 {
        for key in &keys {
            assert!(take(&node.gate, "api", key, 1).allowed());
        }
    }
    world.pass(S - 1);
    world.look();
    assert_eq!(world.used("api", "k7"), 22);
    world.pass(1);
    node.far.calls();
    node.far.plans();
    world.look();
    for key in &keys {
        assert_eq!(world.used("api", key), 2, "{key}");
    }
    assert_eq!((node.far.plans(), node.far.calls()), (3_000, 12));
}

#[test]
fn several_rules_are_spent_together_or_not_at_all() {
    let rules = format!(
        "{WINDOW}{}",
        WINDOW.replace("api", "all").replace("100", "1_000")
    );
    let world = World::new(1, LEASE, &rules);
    let node = &world.nodes[0];
    let both = |key| [("api", key, 1), ("all", "everybody", 1)];
    for _ in 0..2 {
        assert!(ask(&node.gate, Verb::Take, &both("alice")).allowed());
    }
    // Bob's are not there yet, and he spends none of those that are for all.
    assert!(ask(&node.gate, Verb::Take, &both("bob")).allowed());
    assert_eq!((node.far.calls(), world.used("all", "everybody")), (3, 23));
    assert!(ask(&node.gate, Verb::Take, &both("bob")).allowed());
    assert_eq!((node.far.calls(), node.far.plans()), (1, 6));
    assert_eq!(
        (world.used("all", "everybody"), world.used("api", "bob")),
        (24, 22)
    );
    for _ in 0..10 {
        assert!(ask(&node.gate, Verb::Take, &both("bob")).allowed());
        assert!(ask(&node.gate, Verb::Take, &both("alice")).allowed());
    }
    assert_eq!(node.far.calls(), 0);
    world.drain();
    let used = |rule, key| world.used(rule, key);
    assert_eq!((used("api", "alice"), used("api", "bob")), (12, 12));
    assert_eq!(used("all", "everybody"), 24);
}

#[test]
fn an_answer_that_is_lost_is_never_spent() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    node.far.set(Fault::Lost);
    assert!(take(&node.gate, "api", "alice", 1).is_degraded());
    node.far.set(Fault::None);
    assert_eq!(world.used("api", "alice"), 22);
    for used in 23..40 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        assert_eq!(world.used("api", "alice"), used);
    }
    assert_eq!(node.far.calls(), 19);
    world.pass(S);
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert!(take(&node.gate, "api", "alice", 1).allowed());
    assert_eq!(world.used("api", "alice"), 39 + 2 + 20);
}

#[test]
fn while_the_store_is_away_units_are_spent_and_that_is_no_sign_of_life() {
    let world = World::new(1, "lease = 20\ndeny_cache = \"1s\"", WINDOW);
    let node = &world.nodes[0];
    take(&world.plain, "api", "mallory", 100);
    assert!(!take(&node.gate, "api", "mallory", 1).allowed());
    for _ in 0..2 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
    }
    node.far.set(Fault::Away);
    for i in 0..20 {
        assert!(take(&node.gate, "api", "other", 1).is_degraded());
        assert!(take(&node.gate, "api", "alice", 1).allowed(), "{i}");
        let denied = take(&node.gate, "api", "mallory", 1);
        assert!(!denied.allowed() && !denied.is_degraded());
    }
    // The breaker has opened after five failures, whatever was answered in between.
    assert_eq!(node.far.calls(), 3 + 5);
    assert!(take(&node.gate, "api", "alice", 1).is_degraded());
}

#[test]
fn after_the_last_word_nothing_is_taken_ahead() {
    let world = World::new(1, LEASE, WINDOW);
    let node = &world.nodes[0];
    for _ in 0..3 {
        take(&node.gate, "api", "alice", 1);
    }
    world.drain();
    assert_eq!(world.used("api", "alice"), 3);
    for used in 4..10 {
        assert!(take(&node.gate, "api", "alice", 1).allowed());
        assert_eq!(world.used("api", "alice"), used);
    }
}
