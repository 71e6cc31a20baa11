//! What stands in the server: whose keys, for how long.

use jeton_core::{
    Act, Cost, Micros, Note, NoteEdit, Op, Plan, Quota, RuleId, Span, Store as _, When,
};
use jeton_redis::RedisStore;
use jeton_testkit::redis_server::{Server, Version};
use redis::Commands as _;

use crate::mirror::store;
use crate::server::{RUNTIME, open, settings, submit};

fn put(store: &RedisStore, name: &[u8], until_us: Option<u64>) {
    let until = until_us.map(Micros::new);
    let note = Note {
        name: name.into(),
        value: [].into(),
        until,
    };
    RUNTIME
        .block_on(store.note(NoteEdit::Put(note), When::StoreClock))
        .unwrap();
}

/// Notes live as long as the one that lives longest.
#[test]
fn notes_vanish_with_the_last_of_them() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = store(&server);
        let mut client = server.client();
        let (seconds, _): (u64, u64) = redis::cmd("TIME").query(&mut client).unwrap();
        let mut left_s = || {
            let keys: Vec<Vec<u8>> = client.keys("jeton1:*").unwrap();
            assert_eq!(keys.len(), 1);
            client.ttl::<_, i64>(&keys[0]).unwrap()
        };
        let in_s = |more: u64| Some((seconds + more) * 1_000_000);
        put(&store, b"short", in_s(100));
        assert!((70..=100).contains(&left_s()), "{}", left_s());
        put(&store, b"long", in_s(1000));
        put(&store, b"shorter", in_s(50));
        assert!((970..=1000).contains(&left_s()), "{}", left_s());
        put(&store, b"for ever", None);
        assert_eq!(left_s(), -1);
        let remove = NoteEdit::Remove {
            name: b"for ever".as_slice().into(),
        };
        assert!(
            RUNTIME
                .block_on(store.note(remove, When::StoreClock))
                .unwrap()
        );
        assert_eq!(
            RUNTIME
                .block_on(store.notes(When::StoreClock))
                .unwrap()
                .len(),
            3
        );
        assert!((970..=1000).contains(&left_s()), "{}", left_s());
    }
}

/// By the server's clock, a key vanishes within a millisecond of its state.
#[test]
fn states_vanish_when_they_are_over() {
    for version in Version::ALL {
        let server = version.shared();
        let (store, mut client) = (store(server), server.client());
        for window_us in [1000, 1_000_000, 86_400_000_000] {
            let quota = Quota::sliding_log(5, Span::from_micros(window_us).unwrap()).unwrap();
            let name = window_us.to_be_bytes();
            let op = Op::take(RuleId::new(1), &name, &quota, Cost::ONE);
            let answers = submit(&store, &[Plan::one(&op)], When::StoreClock);
            let until_us = answers.plan(0).1[0].at.get() + window_us;
            let key = store.key_of(&op);
            let vanishes_ms: i64 = redis::cmd("PEXPIRETIME")
                .arg(&key)
                .query(&mut client)
                .unwrap();
            let is_gone = vanishes_ms == -2;
            let expected_ms = i64::try_from(until_us.div_ceil(1000)).unwrap();
            assert!(
                vanishes_ms == expected_ms || (is_gone && window_us == 1000),
                "{vanishes_ms}"
            );
        }
    }
}

/// With a secret, keys are an HMAC: nodes that share it share limits, nobody else can tell or touch them,
/// and nothing that a client sent stands in the server, whatever bytes it sent.
#[test]
fn what_clients_send_stands_nowhere() {
    let names: [&[u8]; 5] = [
        b"203.0.113.9",
        b"}{203.0.113.9}",
        b"{}\r\n*1\r\n$8\r\nFLUSHALL\r\n",
        b"\0\xff\xfe 203.0.113.9 \x80",
        b"",
    ];
    let quota = Quota::sliding_log(names.len() as u64, Span::SECOND).unwrap();
    let now = When::At(Micros::new(1_700_000_000_000_000));
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let with = |secret: Option<&[u8]>| {
            let mut settings = settings(server.url());
            settings.prefix = "shared:".to_owned();
            settings.key_secret = secret.map(Into::into);
            open(&settings)
        };
        let nodes = [
            with(Some(b"one")),
            with(Some(b"one")),
            with(Some(b"two")),
            with(None),
        ];
        let take = |node: usize, name: &[u8]| {
            let op = Op::take(RuleId::new(1), name, &quota, Cost::ONE);
            let answers = submit(&nodes[node], &[Plan::one(&op)], now);
            answers.plan(0).1[0].remaining
        };
        for name in names {
            // The second shares with the first; others begin anew.
            let left = [4, 3, 4, 4];
            assert_eq!([0, 1, 2, 3].map(|node| take(node, name)), left, "{name:?}");
        }
        let keys: Vec<Vec<u8>> = server.client().keys("*").unwrap();
        assert_eq!(keys.len(), 3 * names.len());
        for key in keys {
            let key = String::from_utf8(key).unwrap();
            assert!(
                key.starts_with("jeton1:shared:{") && key.is_ascii(),
                "{key}"
            );
            assert!(
                !key.contains("203") && key.matches(['{', '}']).count() == 2,
                "{key}"
            );
        }
    }
}

/// What was made under a prefix goes with it, and nothing else does.
#[test]
fn a_prefix_is_removed_as_a_whole() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let (kept, cleared) = (store(&server), store(&server));
        let quota = Quota::sliding_log(5, Span::SECOND).unwrap();
        let at = When::At(Micros::new(1_700_000_000_000_000));
        let names: Vec<[u8; 8]> = (0..2500_u64).map(u64::to_be_bytes).collect();
        let take = |store: &RedisStore, names: &[[u8; 8]]| {
            let act = Act::Take { cost: Cost::ONE };
            let op = |name| Op::new(RuleId::new(1), name, &quota, act);
            let ops: Vec<Op<'_>> = names.iter().map(|name| op(name)).collect();
            let plans: Vec<Plan<'_>> = ops.iter().map(Plan::one).collect();
            let answers = submit(store, &plans, at);
            let is_allowed = |plan| answers.plan(plan).0.unwrap().allowed;
            assert!((0..plans.len()).all(is_allowed));
        };
        take(&kept, &names[..5]);
        for some in names.chunks(250) {
            take(&cleared, some);
        }
        put(&cleared, b"note", None);
        assert_eq!(RUNTIME.block_on(cleared.clear()), Ok(2501));
        let left: usize = redis::cmd("DBSIZE").query(&mut server.client()).unwrap();
        assert_eq!(left, 5);
    }
}
