//! Faults met in the field, under their numbers.

use std::thread::sleep;
use std::time::Duration;

use jeton_core::codec::Stored;
use jeton_core::{
    Act, Anchor, Answers, Cell, Cost, Entry, Fit, Micros, Op, Plan, Quota, Rate, RuleId, Span,
    Store as _, StoreError, StoreErrorKind, Submitted, When, Written,
};
use jeton_redis::{RedisStore, TroubleKind, state};
use jeton_testkit::random::Random;
use jeton_testkit::redis_server::{Server, Version};
use redis::Commands as _;

use crate::mirror::store;
use crate::server::{RUNTIME, open, settings, submit};

const SECOND: u64 = 1_000_000;

fn span(us: u64) -> Span {
    Span::from_micros(us).unwrap()
}

fn bucket(units: u64, per_us: u64, burst: u64) -> Quota {
    Quota::bucket(Rate::new(units, span(per_us)).unwrap(), burst).unwrap()
}

fn kinds(limit: u64, window_us: u64) -> [Quota; 6] {
    let window = span(window_us);
    [
        bucket(limit, window_us, limit),
        Quota::fixed_window(limit, window, Anchor::Epoch).unwrap(),
        Quota::fixed_window(limit, window, Anchor::FirstRequest).unwrap(),
        Quota::sliding_counter(limit, window).unwrap(),
        Quota::sliding_log(limit, window).unwrap(),
        Quota::concurrency(limit, window).unwrap(),
    ]
}

fn take<'a>(quota: &'a Quota, key: &'a [u8]) -> Op<'a> {
    let cost = Cost::ONE;
    let act = if quota.kind().is_held() {
        Act::Hold { cost }
    } else {
        Act::Take { cost }
    };
    Op::new(RuleId::new(1), key, quota, act)
}

fn now(store: &RedisStore, op: &Op<'_>) -> Result<jeton_core::Decision, StoreError> {
    let answers = submit(store, &[Plan::one(op)], When::StoreClock);
    answers.plan(0).0.map(|_| answers.plan(0).1[0])
}

/// F7: the server's clock is the only authority, whatever the nodes think of the time.
#[test]
fn f7_all_nodes_go_by_the_servers_clock() {
    for version in Version::ALL {
        let server = version.shared();
        let settings = settings(server.url());
        let open = || RedisStore::open(&settings, RUNTIME.handle()).unwrap();
        let nodes = [open(), open()];
        let quota = bucket(2, 3600 * SECOND, 4);
        for (node, expected) in [(0, 4), (1, 0), (0, 0)] {
            let passed = (0..4)
                .filter(|_| now(&nodes[node], &take(&quota, b"key")).unwrap().fit == Fit::Allowed);
            assert_eq!(passed.count(), expected, "node {node}");
        }
        let window = Quota::fixed_window(10, span(3600 * SECOND), Anchor::Epoch).unwrap();
        let resets = nodes.each_ref().map(|node| {
            let decision = now(node, &take(&window, b"key")).unwrap();
            decision.at.get() + decision.reset_after.as_micros()
        });
        assert_eq!(resets[0], resets[1]);
        let (seconds, us): (u64, u64) = redis::cmd("TIME").query(&mut server.client()).unwrap();
        let at = now(&nodes[0], &take(&window, b"key")).unwrap().at.get();
        assert!((seconds * SECOND + us..).contains(&at) && at < (seconds + 20) * SECOND);
    }
}

/// F8: waits of less than a second stay what they are, and instants keep their last digit.
#[test]
fn f8_numbers_cross_the_border_of_the_script_exactly() {
    for version in Version::ALL {
        let server = version.shared();
        let (store, mut client) = (store(server), server.client());
        let quota = bucket(1, 400_000, 1);
        let first = now(&store, &take(&quota, b"wait")).unwrap();
        let second = now(&store, &take(&quota, b"wait")).unwrap();
        let elapsed_us = second.at.get() - first.at.get();
        let wait_us = second.fit.retry_after().map(Span::as_micros);
        assert_eq!(wait_us, Some(400_000 - elapsed_us));

        let mut random = Random::new(8);
        let quota = bucket(1, 10_000 * SECOND, 1);
        for number in 0..1000_u64 {
            let at = Micros::new(1_800_000_000_000_000 + random.below(1_000_000_000_000));
            let name = number.to_be_bytes();
            let op = take(&quota, &name);
            let _ = submit(&store, &[Plan::one(&op)], When::At(at));
            let bytes: Vec<u8> = client.get(store.key_of(&op)).unwrap();
            let stored = state::decode(&bytes).unwrap();
            assert_eq!(stored.cell.at, at);
            assert_eq!(stored.until.get(), at.get() + 10_000 * SECOND);
        }
    }
}

/// F22: ten together on a log of five, each from a node of its own, are five every time.
#[test]
fn f22_what_comes_together_is_counted_one_by_one() {
    let rounds = if jeton_testkit::laws::full_size() {
        200
    } else {
        20
    };
    for version in Version::ALL {
        let settings = settings(version.shared().url());
        let nodes: Vec<RedisStore> = (0..10).map(|_| open(&settings)).collect();
        for node in &nodes {
            RUNTIME.block_on(node.ready()).unwrap();
        }
        let quota = Quota::sliding_log(5, span(60 * SECOND)).unwrap();
        for round in 0..rounds {
            let name = u64::to_be_bytes(round);
            let op = take(&quota, &name);
            let plan = [Plan::one(&op)];
            let send =
                |node: &RedisStore| node.submit(&plan, When::StoreClock, &mut Answers::new());
            let under_way: Vec<Submitted> = nodes.iter().map(send).collect();
            let allowed = under_way
                .into_iter()
                .filter_map(|submitted| match submitted {
                    Submitted::Later(answers) => {
                        Some(RUNTIME.block_on(answers).plan(0).0.unwrap().allowed)
                    }
                    Submitted::Done => None,
                });
            assert_eq!(
                allowed.filter(|allowed| *allowed).count(),
                5,
                "round {round}"
            );
        }
    }
}

/// F34: what is no state of ours is one error for its own plan, and gone after its window.
#[test]
fn f34_a_foreign_value_at_a_key_is_one_error_and_passes() {
    for version in Version::ALL {
        let server = version.shared();
        let (store, mut client) = (store(server), server.client());
        let text = |text: &str| redis::cmd("SET").arg("KEY").arg(text).to_owned();
        let values = [
            ("text", text("hello")),
            ("empty", text("")),
            ("digits", text("123456789012345678901234567890")),
            ("28 bytes", text("\u{1}\u{1}23456789012345678901234567")),
            (
                "44 bytes",
                text("\u{1}\u{5}234567890123456789012345678901234567890123"),
            ),
            ("list", redis::cmd("RPUSH").arg("KEY").arg("a").to_owned()),
            (
                "hash",
                redis::cmd("HSET").arg("KEY").arg("a").arg("b").to_owned(),
            ),
        ];
        let quotas = kinds(3, SECOND / 2);
        let bad = StoreError {
            kind: StoreErrorKind::BadState,
            written: Written::No,
        };
        for quota in &quotas {
            for (name, command) in &values {
                let op = take(quota, name.as_bytes());
                let key = store.key_of(&op);
                let args: Vec<Vec<u8>> = command
                    .args_iter()
                    .map(|arg| match arg {
                        redis::Arg::Simple(b"KEY") => key.clone(),
                        redis::Arg::Simple(bytes) => bytes.to_vec(),
                        _ => unreachable!(),
                    })
                    .collect();
                let mut set = redis::Cmd::new();
                set.arg(args);
                set.exec(&mut client).unwrap();
                let other = take(quota, b"other");
                let plans = [Plan::one(&op), Plan::one(&other)];
                let answers = submit(&store, &plans, When::StoreClock);
                assert_eq!(answers.plan(0).0, Err(bad), "{quota:?} {name}");
                assert!(answers.plan(1).0.is_ok(), "{quota:?} {name}");
            }
        }
        assert_eq!(store.disagreements(), 0);
        sleep(Duration::from_millis(1100));
        for quota in &quotas {
            for (name, _) in &values {
                let fit = now(&store, &take(quota, name.as_bytes())).map(|decision| decision.fit);
                assert_eq!(fit, Ok(Fit::Allowed), "{quota:?} {name}");
            }
        }
    }
}

/// F35: a user who may not ask the time is told so at the start, by name, and no call waits for it.
#[test]
fn f35_a_user_without_permission_for_time_is_told_so_at_the_start() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let mut client = server.client();
        let user = [
            "ACL",
            "SETUSER",
            "limiter",
            "on",
            ">secret",
            "~jeton1:*",
            "+@all",
            "-time",
        ];
        let mut command = redis::Cmd::new();
        command.arg(&user);
        command.exec(&mut client).unwrap();
        let mut settings = settings(server.url());
        settings.url = format!("{}?user=limiter&pass=secret", server.url());
        let store = RedisStore::open(&settings, RUNTIME.handle()).unwrap();
        let trouble = RUNTIME.block_on(store.ready()).unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Forbidden, "{trouble}");
        assert!(
            trouble.to_string().to_lowercase().contains("time"),
            "{trouble}"
        );
        let refused = StoreError {
            kind: StoreErrorKind::Forbidden,
            written: Written::No,
        };
        let quota = bucket(1, SECOND, 1);
        assert_eq!(now(&store, &take(&quota, b"key")), Err(refused));

        redis::cmd("ACL")
            .arg(&["SETUSER", "limiter", "+time"])
            .exec(&mut client)
            .unwrap();
        let start = std::time::Instant::now();
        while now(&store, &take(&quota, b"key")).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(3),
                "{:?}",
                store.health()
            );
            sleep(Duration::from_millis(20));
        }
    }
}

/// F56: a full log of seventy thousand is asked as little as a short one: so many reads, of so few
/// bytes, whatever its length.
#[test]
fn f56_a_check_of_a_long_log_reads_little_of_it() {
    const ENTRIES: u32 = 70_000;
    let day = 86_400 * SECOND;
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let (store, mut client) = (store(&server), server.client());
        let quota = Quota::sliding_log(u64::from(ENTRIES), span(day)).unwrap();
        let start = 1_800_000_000 * SECOND;
        let now = Micros::new(start + day - SECOND);
        let entry = |number: u32| Entry {
            stamp: start + u64::from(number) * SECOND,
            sum: number + 1,
            cost: 1,
        };
        let raw = now.get();
        let [low, high] =
            [raw, raw >> 32].map(|part| u32::try_from(part & u64::from(u32::MAX)).unwrap());
        let full = Stored {
            kind: quota.kind(),
            until: Micros::stored(now.get() + day),
            cell: Cell {
                at: now,
                words: [low, high, 0],
            },
            tail: (0..ENTRIES).map(entry).collect(),
        };
        let op = take(&quota, b"key");
        let () = client.set(store.key_of(&op), state::encode(&full)).unwrap();
        let () = server.ask(&["CONFIG", "RESETSTAT"]);
        for check in 0..1000 {
            let at = When::At(Micros::new(now.get() + check));
            let answers = submit(&store, &[Plan::one(&op)], at);
            let decision = answers.plan(0).1[0];
            let wait_us = start + day - (now.get() + check);
            assert_eq!(
                decision.fit.retry_after().map(Span::as_micros),
                Some(wait_us)
            );
        }
        let stats: String = server.ask(&["INFO", "all"]);
        let number = |field: &str, end: char| -> u64 {
            let (_, rest) = stats.split_once(field).unwrap();
            rest.split(end).next().unwrap().trim().parse().unwrap()
        };
        assert!(
            number("cmdstat_getrange:calls=", ',') <= 5 * 1000,
            "{stats}"
        );
        assert!(
            number("total_net_output_bytes:", '\r') < 300 * 1000,
            "{stats}"
        );
        // One that lets a unit go writes as little.
        let wider = Quota::sliding_log(u64::from(ENTRIES) + 500, span(day)).unwrap();
        let op = take(&wider, b"key");
        let () = server.ask(&["CONFIG", "RESETSTAT"]);
        for check in 1000..1500 {
            let at = When::At(Micros::new(now.get() + check));
            assert!(
                submit(&store, &[Plan::one(&op)], at)
                    .plan(0)
                    .0
                    .unwrap()
                    .allowed
            );
        }
        let stats: String = server.ask(&["INFO", "commandstats"]);
        assert!(
            !stats.contains("cmdstat_set:"),
            "the whole log was written: {stats}"
        );
    }
}
