//! A cluster of three primaries with a replica each.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use jeton_core::{Anchor, Cost, Fit, Op, Plan, Quota, Rate, RuleId, Span, Store, When};
use jeton_redis::{Health, RedisStore, Settings};
use jeton_testkit::laws::StoreConfig;

use crate::mirror::submit;
use crate::server::{RUNTIME, Server, Version, free_port, wait_until};

const PRIMARIES: usize = 3;
/// The last slot of each primary.
const LAST_SLOTS: [u16; PRIMARIES] = [5460, 10922, 16383];

pub(crate) struct Cluster {
    /// Primaries first, then their replicas in the same order.
    nodes: Vec<(Server, u16)>,
}

impl Cluster {
    fn start(version: Version, node_timeout_ms: &str) -> Self {
        let node = |_| {
            let port = free_port();
            let text = port.to_string();
            let server = Server::start(
                version,
                &[
                    "--port",
                    &text,
                    "--cluster-enabled",
                    "yes",
                    "--cluster-node-timeout",
                    node_timeout_ms,
                    "--cluster-replica-validity-factor",
                    "0",
                    "--repl-diskless-sync-delay",
                    "0",
                ],
            );
            (server, port)
        };
        let cluster = Self {
            nodes: (0..2 * PRIMARIES).map(node).collect(),
        };
        cluster.meet();
        cluster
    }

    fn ask<T: redis::FromRedisValue>(&self, node: usize, words: &[&str]) -> T {
        self.nodes[node].0.ask(words)
    }

    fn meet(&self) {
        let ports: Vec<String> = self
            .nodes
            .iter()
            .map(|(_, port)| port.to_string())
            .collect();
        let mut first = 0;
        for (node, last) in LAST_SLOTS.iter().enumerate() {
            let (from, to) = (first.to_string(), last.to_string());
            let () = self.ask(node, &["CLUSTER", "ADDSLOTSRANGE", &from, &to]);
            first = last + 1;
        }
        for port in &ports[1..] {
            let () = self.ask(0, &["CLUSTER", "MEET", "127.0.0.1", port]);
        }
        let all_know_all = || {
            (0..ports.len()).all(|node| {
                let info: String = self.ask(node, &["CLUSTER", "INFO"]);
                info.contains("cluster_known_nodes:6")
            })
        };
        wait_until("the nodes know each other", all_know_all);
        for node in 0..PRIMARIES {
            let id: String = self.ask(node, &["CLUSTER", "MYID"]);
            let () = self.ask(PRIMARIES + node, &["CLUSTER", "REPLICATE", &id]);
        }
        let is_well = |node| {
            let info: String = self.ask(node, &["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok")
        };
        wait_until("the cluster is well", || (0..ports.len()).all(is_well));
        let has_replica = |node| {
            let info: String = self.ask(node, &["INFO", "replication"]);
            info.contains("state=online")
        };
        wait_until("replicas follow", || (0..PRIMARIES).all(has_replica));
    }

    fn settings(&self) -> Settings {
        let hosts: Vec<String> = self.nodes[..2]
            .iter()
            .map(|(_, port)| format!("127.0.0.1:{port}"))
            .collect();
        Settings {
            url: format!("redis-cluster://{}", hosts.join(",")),
            ..self.nodes[0].0.settings()
        }
    }

    pub(crate) fn store(&self) -> RedisStore {
        let store = RedisStore::open(&self.settings(), RUNTIME.handle()).unwrap();
        RUNTIME.block_on(store.ready()).unwrap();
        store
    }
}

static SHARED: LazyLock<Cluster> = LazyLock::new(|| Cluster::start(Version::V8_2, "30000"));

mod laws {
    use super::{Arc, SHARED, Store, StoreConfig};
    jeton_testkit::store_laws!(|_config: StoreConfig| -> Arc<dyn Store> {
        Arc::new(SHARED.store())
    });
}

fn limit(limit: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_micros(3_600_000_000).unwrap()).unwrap()
}

/// Keys of one subject meet in one slot, all of them are decided in one step.
#[test]
fn plans_over_all_slots_are_charged_together_or_not_at_all() {
    let store = SHARED.store();
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
    let cluster = Cluster::start(Version::V7_0, "30000");
    let store = cluster.store();
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
    let from_to: [String; 2] = [0, 1].map(|node| cluster.ask(node, &["CLUSTER", "MYID"]));
    let mut counted = 40;
    for name in &ops {
        let key = store.key_of(&Op::take(RuleId::new(1), name, &quota, Cost::ONE));
        let slot: u16 = redis::cmd("CLUSTER")
            .arg("KEYSLOT")
            .arg(&key)
            .query(&mut cluster.nodes[0].0.client())
            .unwrap();
        if slot > LAST_SLOTS[0] {
            continue;
        }
        let slot = slot.to_string();
        let () = cluster.ask(1, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_to[0]]);
        let () = cluster.ask(0, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &from_to[1]]);
        counted += take();
        let port = cluster.nodes[1].1.to_string();
        let () = redis::cmd("MIGRATE")
            .arg("127.0.0.1")
            .arg(&port)
            .arg("")
            .arg(0)
            .arg(5000)
            .arg("KEYS")
            .arg(&key)
            .query(&mut cluster.nodes[0].0.client())
            .unwrap();
        counted += take();
        for node in [1, 0, 2] {
            let () = cluster.ask(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &from_to[1]]);
        }
        counted += take();
    }
    let used: u32 = ops
        .iter()
        .map(|name| {
            let op = Op::new(
                RuleId::new(1),
                name,
                &quota,
                jeton_core::Act::Peek { cost: Cost::ZERO },
            );
            let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
            quota.limit() - answers.plan(0).1[0].remaining
        })
        .sum();
    assert_eq!(used as usize, counted);
    assert_eq!(counted % 40, 0, "nobody was refused: {counted}");
}

/// A primary dies: errors stop by themselves, and its replica goes on with what it has.
#[test]
fn a_dead_primary_is_replaced() {
    for version in Version::ALL {
        let cluster = Cluster::start(version, "1000");
        let mut settings = cluster.settings();
        settings.timeout = Duration::from_millis(300);
        let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
        RUNTIME.block_on(store.ready()).unwrap();
        let quota = limit(5);
        let names: Vec<[u8; 8]> = (0..30_u64).map(u64::to_be_bytes).collect();
        let take = |name: &[u8]| {
            let op = Op::take(RuleId::new(1), name, &quota, Cost::ONE);
            let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
            answers.plan(0).0.map(|_| answers.plan(0).1[0].fit)
        };
        for name in &names {
            assert!((0..5).all(|_| take(name) == Ok(Fit::Allowed)));
        }
        let acknowledged = |node| {
            let replicas: u32 = cluster.ask(node, &["WAIT", "1", "5000"]);
            replicas == 1
        };
        assert!((0..PRIMARIES).all(acknowledged));
        cluster.nodes[0].0.kill();
        let start = Instant::now();
        let mut failed = 0;
        loop {
            let errors = names.iter().filter_map(|name| {
                let fit = take(name);
                assert!(
                    !fit.is_ok_and(Fit::passes),
                    "what was used up stays used up"
                );
                fit.err()
            });
            let errors = errors.count();
            failed += errors;
            if errors == 0 {
                break;
            }
            assert!(
                start.elapsed() < Duration::from_secs(15),
                "{:?}",
                store.health()
            );
        }
        assert!(failed > 0, "nobody noticed");
        wait_until("the store is well", || store.health() == Health::Up);
    }
}
