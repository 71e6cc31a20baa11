//! A primary, its replica, and a sentinel that names the one that is the primary.

use std::time::Duration;

use jeton_redis::{RedisStore, TroubleKind};
use jeton_testkit::redis_server::{Server, Version, free_port, wait_until};

use crate::load::Load;
use crate::server::{RUNTIME, open, settings};

/// More than callers are granted before the primary dies.
const LIMIT: u64 = 3_000;

fn store(url: String) -> RedisStore {
    let mut settings = settings(url);
    settings.timeout = Duration::from_millis(300);
    open(&settings)
}

fn replica_of(version: Version, port: u16, primary: u16) -> Server {
    let (port, of) = (port.to_string(), format!("127.0.0.1 {primary}"));
    let follows = ["--replicaof", &of, "--repl-diskless-sync-delay", "0"];
    let replica = Server::start(version, &[&["--port", &port], &follows[..]].concat());
    wait_until("the replica follows", || {
        let info: String = replica.ask(&["INFO", "replication"]);
        info.contains("master_link_status:up")
    });
    replica
}

/// The primary dies under load: the store follows to the one that the sentinel names, errors stop by
/// themselves, and no more is granted than the limit and what had not been copied yet.
#[test]
fn the_store_follows_the_primary_under_load() {
    for version in Version::ALL {
        let [primary_port, replica_port, sentinel_port] = [(); 3].map(|()| free_port());
        let primary = Server::start(version, &["--port", &primary_port.to_string()]);
        let _replica = replica_of(version, replica_port, primary_port);
        let sentinel = Server::sentinel(version, sentinel_port, primary_port);
        wait_until("the sentinel knows the replica", || {
            let replicas: Vec<redis::Value> = sentinel.ask(&["SENTINEL", "replicas", "mine"]);
            replicas.len() == 1
        });

        // The first sentinel named is none.
        let dead = free_port();
        let hosts = format!("127.0.0.1:{dead},127.0.0.1:{sentinel_port}");
        let store = self::store(format!("redis-sentinel://{hosts}/mine"));
        assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
        let mut not_copied = 0;
        let load = Load::run(&store, 1, LIMIT, |load| {
            wait_until("some are granted", || load.granted() > LIMIT / 10);
            let copied = load.granted();
            let replicas: u32 = primary.ask(&["WAIT", "1", "5000"]);
            assert_eq!(replicas, 1);
            primary.kill();
            not_copied = load.granted() - copied;
            load.is_noticed();
            load.is_spent();
        });
        let granted = load.granted();
        assert!(
            (LIMIT.saturating_sub(load.unanswered())..=LIMIT + not_copied).contains(&granted),
            "{granted} with {not_copied} not copied: {load:?}"
        );

        let unknown = self::store(format!("redis-sentinel://{hosts}/other"));
        let trouble = RUNTIME.block_on(unknown.ready()).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Misnamed, "{trouble}");
    }
}
