//! A cluster of three primaries with a replica each.

use std::sync::{Arc, LazyLock};

use jeton_core::{Act, Anchor, Cost, Op, Plan, Quota, Rate, RuleId, Span, Store, When};
use jeton_redis::{RedisStore, Settings};
use jeton_testkit::laws::StoreConfig;
use jeton_testkit::redis_server::{Cluster, Version};

use crate::server::{RUNTIME, open, settings, submit};

static SHARED: LazyLock<Cluster> = LazyLock::new(|| Cluster::start(Version::V8_2, 30_000));

fn named(cluster: &Cluster) -> Settings {
    settings(format!("redis-cluster://{}", cluster.hosts()))
}

fn store(cluster: &Cluster) -> RedisStore {
    let store = open(&named(cluster));
    RUNTIME.block_on(store.ready()).unwrap();
    store
}

mod laws {
    use super::{Arc, SHARED, Store, StoreConfig, store};
    jeton_testkit::store_laws!(|_config: StoreConfig| -> Arc<dyn Store> {
        Arc::new(store(&SHARED))
    });
}

fn limit(limit: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_micros(3_600_000_000).unwrap()).unwrap()
}

/// Keys of one subject meet in one slot, all of them are decided in one step.
#[test]
fn plans_over_all_slots_are_charged_together_or_not_at_all() {
    let store = store(&SHARED);
    let hour = Span::from_micros(3_600_000_000).unwrap();
    let quotas = [
        Quota::bucket(Rate::new(1, hour).unwrap(), 9).unwrap(),
        limit(7),
        Quota::fixed_window(
            8,
            Span::from_micros(100_000 * 3_600_000_000).unwrap(),
            Anchor::Epoch,
        )
        .unwrap(),
    ];
    let names: Vec<[u8; 8]> = (0..12_u64).map(u64::to_be_bytes).collect();
    let ops: Vec<Op<'_>> = names
        .iter()
        .zip(quotas.iter().cycle())
        .map(|(name, quota)| Op::take(RuleId::new(1), name, quota, Cost::ONE))
        .collect();
    for round in 0..10 {
        let plan = Plan::new(&ops).unwrap();
        let answers = submit(&store, &[plan], When::StoreClock);
        let (verdict, decisions) = answers.plan(0);
        assert_eq!(verdict.unwrap().allowed, round < 7, "round {round}");
        for (decision, op) in decisions.iter().zip(&ops) {
            let expected = op.quota.limit() - (round + 1).min(7);
            assert_eq!(decision.remaining, expected, "round {round}: {op:?}");
        }
    }
}

/// Slots move while they are in use: every take is counted once.
#[test]
fn slots_move_under_load() {
    let cluster = Cluster::start(Version::V7_0, 30_000);
    let store = store(&cluster);
    let quota = limit(1_000_000);
    let ops: Vec<[u8; 8]> = (0..40_u64).map(u64::to_be_bytes).collect();
    let take = || {
        let ops: Vec<Op<'_>> = ops
            .iter()
            .map(|name| Op::take(RuleId::new(1), name, &quota, Cost::ONE))
            .collect();
        let plans: Vec<Plan<'_>> = ops.iter().map(Plan::one).collect();
        let answers = submit(&store, &plans, When::StoreClock);
        (0..plans.len())
            .filter(|i| answers.plan(*i).0.is_ok())
            .count()
    };
    assert_eq!(take(), 40);
    let from_to: [String; 2] = [0, 1].map(|node| cluster.node(node).ask(&["CLUSTER", "MYID"]));
    let mut counted = 40;
    for name in &ops {
        let key = store.key_of(&Op::take(RuleId::new(1), name, &quota, Cost::ONE));
        let slot: u16 = redis::cmd("CLUSTER")
            .arg("KEYSLOT")
            .arg(&key)
            .query(&mut cluster.node(0).client())
            .unwrap();
        if Cluster::primary_of(slot) > 0 {
            continue;
        }
        let slot = slot.to_string();
        let () = cluster
            .node(1)
            .ask(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_to[0]]);
        let () = cluster
            .node(0)
            .ask(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &from_to[1]]);
        counted += take();
        let port = cluster.port(1).to_string();
        let () = redis::cmd("MIGRATE")
            .arg("127.0.0.1")
            .arg(&port)
            .arg("")
            .arg(0)
            .arg(5000)
            .arg("KEYS")
            .arg(&key)
            .query(&mut cluster.node(0).client())
            .unwrap();
        counted += take();
        for node in [1, 0, 2] {
            let () = cluster
                .node(node)
                .ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &from_to[1]]);
        }
        counted += take();
    }
    let used: u32 = ops
        .iter()
        .map(|name| {
            let op = Op::new(RuleId::new(1), name, &quota, Act::Peek { cost: Cost::ZERO });
            let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
            quota.limit() - answers.plan(0).1[0].remaining
        })
        .sum();
    assert_eq!(used as usize, counted);
    assert_eq!(counted % 40, 0, "nobody was refused: {counted}");
}
