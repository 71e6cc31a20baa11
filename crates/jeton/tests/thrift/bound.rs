//! Whatever several processes take ahead, spend, give back and lose, no more passes than is promised.

use jeton::{Micros, Verb};
use jeton_testkit::bound::{self, Passed};
use jeton_testkit::model::ModelQuota;
use jeton_testkit::random::Random;

use crate::far::{Fault, MS, World, ask, decided, is_full, one, take};
use crate::random::{Rule, rule};

/// What passed of one key, in order of time, with the ends of the windows that it was charged to.
#[derive(Default)]
pub(crate) struct Through {
    pub(crate) passed: Vec<Passed>,
    pub(crate) windows: Vec<(u64, u64)>,
}

/// Units of one key that one process takes ahead at most.
fn ahead(rule: &Rule, lease: u64) -> u64 {
    if rule.limit < 8 {
        0
    } else {
        lease.min(rule.limit / 4)
    }
}

/// The bound of `rule` where `nodes` processes take `lease` units ahead for `lease_us`.
pub(crate) fn promised(rule: &Rule, nodes: u64, lease: u64, lease_us: u64) -> ModelQuota {
    let out = nodes * ahead(rule, lease);
    match rule.model {
        ModelQuota::Bucket {
            units,
            per_us,
            burst,
        } => ModelQuota::Bucket {
            units,
            per_us,
            // All of the units that come in that time, and the last one that has begun.
            burst: burst + (units * lease_us).div_ceil(per_us),
        },
        ModelQuota::SlidingLog { limit, window_us } => ModelQuota::SlidingLog {
            limit: limit + out,
            window_us,
        },
        // Fewer than twice the limit by itself.
        ModelQuota::SlidingCounter { limit, window_us } => ModelQuota::SlidingLog {
            limit: 2 * limit - 1 + out,
            window_us,
        },
        exact => exact,
    }
}

pub(crate) fn check(seed: u64, rule: &Rule, promised: &ModelQuota, through: &Through) {
    if let ModelQuota::FixedWindow { limit, epoch, .. } = *promised {
        let mut windows = through.windows.clone();
        windows.sort_unstable();
        for window in windows.chunk_by(|one, other| one.0 == other.0) {
            let passed: u64 = window.iter().map(|(_, units)| units).sum();
            assert!(
                passed <= limit,
                "seed {seed}: {passed} in one window of {limit}"
            );
        }
        if !epoch {
            return;
        }
    }
    if let Err(broken) = bound::check(promised, &through.passed) {
        panic!("seed {seed}: {broken}\n{}", rule.text);
    }
}

struct Tallied {
    asked: usize,
    calls: usize,
}

fn run(seed: u64, faults: bool) -> Tallied {
    let mut random = Random::new(seed);
    let rule = rule(&mut random, (4, 400), (120, 3_000));
    let nodes = random.between(1, 4);
    let lease = random.scaled(3, 50);
    let lease_ms = random.between(100, 2_000);
    let cache = if random.below(2) == 0 {
        "deny_cache = \"50ms\"\n"
    } else {
        ""
    };
    let thrift = format!("{cache}lease = {lease}\nlease_for = \"{lease_ms}ms\"");
    let world = World::new(usize::try_from(nodes).unwrap(), &thrift, &rule.text);
    let promised = promised(&rule, nodes, lease, lease_ms * MS);
    let mut through = [Through::default(), Through::default()];
    let mut tallied = Tallied { asked: 0, calls: 0 };
    // As busy as the limit, or several times as busy.
    let pace_us = rule.window_us / rule.limit / random.between(1, 6) * 2 + 1;
    let latency_us = random.below(2) * random.below(20 * MS);
    for node in &world.nodes {
        node.far
            .takes(random.below(latency_us + 1), random.below(latency_us + 1));
    }
    for _ in 0..random.between(200, 1_200) {
        world.pass(if random.below(200) == 0 {
            random.below(2 * rule.window_us)
        } else {
            random.below(pace_us)
        });
        let node = &world.nodes[usize::try_from(random.below(nodes)).unwrap()];
        if faults && random.below(20) == 0 {
            let fault = [Fault::None, Fault::None, Fault::Lost, Fault::Away];
            node.far
                .set(fault[usize::try_from(random.below(4)).unwrap()]);
        }
        if random.below(100) == 0 {
            world.look();
        }
        let key = usize::from(random.below(4) == 0);
        let most = if random.below(10) == 0 { rule.limit } else { 3 };
        let cost = random.scaled(1, most);
        let answered = take(&node.gate, "api", ["alice", "bob"][key], cost);
        let calls = node.far.calls();
        tallied.asked += 1;
        tallied.calls += calls;
        if decided(&answered) != Some(true) {
            continue;
        }
        let decision = one(&answered);
        assert_eq!(u64::from(decision.limit), rule.limit);
        assert!(decision.remaining <= decision.limit);
        assert_eq!(u64::from(decision.receipt.cost), cost);
        assert!(decision.at <= Micros::new(world.now()));
        // The store's answers stand for when it decided, those of this process for now.
        let at = if calls > 0 {
            decision.at.get()
        } else {
            world.now()
        };
        through[key].passed.push(Passed::new(at, cost));
        if matches!(rule.model, ModelQuota::FixedWindow { .. }) {
            let end = decision.receipt.mark.get();
            assert!(at < end, "seed {seed}: spent after its window");
            through[key].windows.push((end, cost));
        }
    }
    for one in &mut through {
        one.passed.sort_by_key(|passed| passed.at_us);
        check(seed, &rule, &promised, one);
    }
    tallied
}

pub(crate) fn runs() -> u64 {
    if is_full() { 3_000 } else { 100 }
}

#[test]
fn no_more_passes_than_is_promised() {
    let (mut asked, mut calls) = (0, 0);
    for seed in 0..runs() {
        let tallied = run(seed, false);
        asked += tallied.asked;
        calls += tallied.calls;
    }
    println!("{} worlds: {asked} takes, {calls} calls", runs());
    assert!(calls * 4 < asked * 3, "{calls} calls of {asked}");
}

#[test]
fn nor_if_answers_are_lost_and_the_store_goes_away() {
    for seed in 0..runs() {
        run(10_000_000 + seed, true);
    }
}

/// Rules of which nothing is over while the test runs.
fn lasting(random: &mut Random) -> Rule {
    rule(random, (8, 2_000), (3_600_000, 3_600_000))
}

#[test]
fn in_the_end_the_store_has_charged_what_has_passed() {
    for seed in 0..runs() {
        let mut random = Random::new(20_000_000 + seed);
        let rule = lasting(&mut random);
        let nodes = random.between(1, 4);
        let thrift = format!("lease = {}\nlease_for = \"1s\"", random.scaled(1, 50));
        let world = World::new(usize::try_from(nodes).unwrap(), &thrift, &rule.text);
        let mut taken: u64 = 0;
        for _ in 0..random.between(1, 400) {
            // Less than the time in which a unit of a bucket comes back.
            world.pass(random.below(10) * MS / 10);
            let node = &world.nodes[usize::try_from(random.below(nodes)).unwrap()];
            match random.below(40) {
                0 => world.look(),
                // Without a receipt, a log gives back what is newest: it may be what another has ahead.
                1 if taken > 0 && nodes == 1 => {
                    let units = random.between(1, 2.min(taken));
                    let refunded = ask(&node.gate, Verb::Refund, &[("api", "alice", units)]);
                    assert_eq!(decided(&refunded), Some(true));
                    taken -= units;
                }
                2 => {
                    ask(
                        &node.gate,
                        Verb::Check,
                        &[("api", "alice", random.between(1, rule.limit))],
                    );
                }
                _ => {
                    let cost = random.scaled(1, 5);
                    if take(&node.gate, "api", "alice", cost).allowed() {
                        taken += cost;
                    }
                }
            }
            assert!(taken <= rule.limit);
        }
        world.drain();
        assert_eq!(
            world.used("api", "alice"),
            taken,
            "seed {seed}\n{}",
            rule.text
        );
    }
}
