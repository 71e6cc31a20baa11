//! A cluster that loses a primary.

use std::time::Duration;

use jeton_redis::Health;
use jeton_testkit::redis_server::{Cluster, Version, wait_until};

use crate::load::Load;
use crate::server::{RUNTIME, open, settings};

const KEYS: u64 = 30;
const LIMIT: u64 = 60;

/// A primary dies under load: errors stop by themselves, and no more is granted than the limits and what
/// had not been copied yet.
#[test]
fn a_primary_that_dies_under_load_is_replaced() {
    for version in Version::ALL {
        let cluster = Cluster::start(version, 1_000);
        let mut settings = settings(format!("redis-cluster://{}", cluster.hosts()));
        settings.timeout = Duration::from_millis(300);
        let store = open(&settings);
        RUNTIME.block_on(store.ready()).unwrap();
        let mut not_copied = 0;
        let load = Load::run(&store, KEYS, LIMIT, |load| {
            wait_until("a third is granted", || load.granted() > KEYS * LIMIT / 3);
            let copied = load.granted();
            for node in 0..Cluster::PRIMARIES {
                let replicas: u32 = cluster.node(node).ask(&["WAIT", "1", "5000"]);
                assert_eq!(replicas, 1);
            }
            cluster.node(0).kill();
            not_copied = load.granted() - copied;
            load.is_noticed();
            load.is_spent();
            wait_until("the store is well", || store.health() == Health::Up);
        });
        let granted = load.granted();
        let all = KEYS * LIMIT;
        assert!(
            (all.saturating_sub(load.unanswered())..=all + not_copied).contains(&granted),
            "{granted} with {not_copied} not copied: {load:?}"
        );
    }
}
