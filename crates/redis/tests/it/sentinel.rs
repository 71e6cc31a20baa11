//! A primary, its replica, and a sentinel that names the one that is the primary.

use std::time::{Duration, Instant};

use jeton_core::{Cost, Fit, Op, Plan, Quota, RuleId, Span, StoreError, When};
use jeton_redis::{RedisStore, Settings, TroubleKind};

use crate::mirror::submit;
use crate::server::{RUNTIME, Server, Version, free_port, wait_until};

fn open(url: String) -> RedisStore {
    let settings = Settings {
        timeout: Duration::from_millis(300),
        ..Settings::new(url)
    };
    RedisStore::open(&settings, RUNTIME.handle()).unwrap()
}

fn take(store: &RedisStore) -> Result<Fit, StoreError> {
    let quota = Quota::sliding_log(5, Span::from_micros(3_600_000_000).unwrap()).unwrap();
    let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
    let answers = submit(store, &[Plan::one(&op)], When::StoreClock);
    answers.plan(0).0.map(|_| answers.plan(0).1[0].fit)
}

/// The primary dies: the store follows to the one that the sentinel names, and what was used up stays
/// used up.
#[test]
fn the_store_follows_the_primary() {
    for version in Version::ALL {
        let [primary_port, replica_port, sentinel_port] = [(); 3].map(|()| free_port());
        let ports = [primary_port, replica_port].map(|port| port.to_string());
        let primary = Server::start(version, &["--port", &ports[0]]);
        let of = format!("127.0.0.1 {}", ports[0]);
        let replica = Server::start(
            version,
            &[
                "--port",
                &ports[1],
                "--replicaof",
                &of,
                "--repl-diskless-sync-delay",
                "0",
            ],
        );
        let sentinel = Server::sentinel(version, sentinel_port, primary_port);
        wait_until("the sentinel knows the replica", || {
            let replicas: Vec<redis::Value> = sentinel.ask(&["SENTINEL", "replicas", "mine"]);
            replicas.len() == 1
        });
        wait_until("the replica follows", || {
            replica
                .ask::<String>(&["INFO", "replication"])
                .contains("master_link_status:up")
        });

        // The first sentinel named is none.
        let dead = free_port();
        let hosts = format!("127.0.0.1:{dead},127.0.0.1:{sentinel_port}");
        let store = open(format!("redis-sentinel://{hosts}/mine"));
        assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
        assert!((0..5).all(|_| take(&store) == Ok(Fit::Allowed)));
        let replicas: u32 = primary.ask(&["WAIT", "1", "5000"]);
        assert_eq!(replicas, 1);
        primary.kill();
        let start = Instant::now();
        let mut failed = 0;
        while let Err(_error) = take(&store).map(|fit| assert!(!fit.passes())) {
            failed += 1;
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{:?}",
                store.health()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(failed > 0, "nobody noticed");

        let unknown = open(format!("redis-sentinel://{hosts}/other"));
        let trouble = RUNTIME.block_on(unknown.ready()).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Other, "{trouble}");
        assert!(
            trouble.to_string().contains("no sentinel knows this name"),
            "{trouble}"
        );
    }
}
