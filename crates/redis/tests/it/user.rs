//! The user that the documentation names: allowed all that is needed, and no more than that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use jeton_core::{
    Act, Cost, Note, NoteEdit, Op, Plan, Quota, RuleId, Span, Store, StoreErrorKind, When,
};
use jeton_redis::RedisStore;
use jeton_testkit::laws::{self, full_size};
use jeton_testkit::redis_server::{Cluster, Server, Version, free_port, wait_until};

use crate::server::{RUNTIME, open, settings, submit};

const USER: &str = "limiter:PASSWORD";

pub(crate) fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/redis.md");
    std::fs::read_to_string(page).unwrap()
}

/// The words of the line in the page, and those that come on top somewhere.
pub(crate) fn words(page: &str, on_top: Option<&str>) -> Vec<String> {
    let mut lines = page.lines();
    let line = lines.find_map(|line| line.strip_prefix("redis-cli ACL SETUSER"));
    let mut named = format!("ACL SETUSER{}", line.unwrap());
    if let Some(place) = on_top {
        let start = format!("- {place}");
        let more = lines.find_map(|line| line.strip_prefix(&start)).unwrap();
        let (_, more) = more.split_once(": `").unwrap();
        let (more, _) = more.split_once('`').unwrap();
        named.extend([" ", more]);
    }
    let words = named.split_whitespace();
    words
        .map(|word| word.trim_matches('\'').to_owned())
        .collect()
}

pub(crate) fn set_user(server: &Server, words: &[String]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let () = server.ask(&words);
}

/// Everything that a store is asked for, once at least.
fn use_all(store: &Arc<RedisStore>) {
    let make = |_| -> Arc<dyn Store> { Arc::clone(store) as _ };
    laws::a_note_is_set_replaced_and_removed(&make);
    // Under the server's own clock a block may be for ever.
    let for_ever = NoteEdit::Put(Note {
        name: (*b"for ever").into(),
        value: [].into(),
        until: None,
    });
    let put = RUNTIME.block_on(store.note(for_ever, When::StoreClock));
    assert_eq!(put, Ok(false));
    let window = Span::from_micros(60_000_000).unwrap();
    let quotas = [
        Quota::sliding_counter(300, window).unwrap(),
        Quota::sliding_log(300, window).unwrap(),
    ];
    let rule = RuleId::new(9);
    for act in (0..200)
        .map(|_| Act::Take { cost: Cost::ONE })
        .chain([Act::Give { units: Cost::ONE }, Act::Reset])
    {
        for quota in &quotas {
            let op = Op::new(rule, b"key", quota, act);
            let answers = submit(store, &[Plan::one(&op)], When::StoreClock);
            assert!(answers.plan(0).0.unwrap().allowed, "{act:?}");
        }
    }
}

/// All that is named is needed, and nothing else is.
#[test]
fn a_user_with_just_the_commands_needed_does() {
    let page = page();
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let words = words(&page, Some("to remove a prefix as a whole"));
        set_user(&server, &words);
        let opened = AtomicU64::new(0);
        let store = || {
            opened.fetch_add(1, Relaxed);
            let url = format!("{}?user=limiter&pass=PASSWORD", server.url());
            let store = Arc::new(open(&settings(url)));
            assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
            store
        };
        let () = server.ask(&["CONFIG", "RESETSTAT"]);
        let first = store();
        use_all(&first);
        // What somebody else has put at a key is given an end.
        let quota = Quota::sliding_log(1, Span::SECOND).unwrap();
        let op = Op::take(RuleId::new(1), b"foreign", &quota, Cost::ONE);
        let key = String::from_utf8(first.key_of(&op)).unwrap();
        let () = server.ask(&["SET", &key, "hello"]);
        let answers = submit(&first, &[Plan::one(&op)], When::StoreClock);
        let error = answers.plan(0).0.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::BadState);
        let make = |_| -> Arc<dyn Store> { store() };
        laws::a_note_is_over_at_its_end(&make);
        // What is decided on each of them, others try.
        if version == Version::V7_0 || full_size() {
            laws::the_store_equals_the_models(&make);
            laws::random_plans_equal_the_models(&make);
        }
        assert!(RUNTIME.block_on(first.clear()).is_ok());
        wait_until("an idle line is looked at", || {
            calls(&server)["ping"] > opened.load(Relaxed)
        });

        let calls = calls(&server);
        let named: BTreeSet<&str> = words.iter().filter_map(|w| w.strip_prefix('+')).collect();
        let called: BTreeSet<&str> = calls.keys().map(String::as_str).collect();
        assert_eq!(called, named, "{version:?}");
        for (name, calls) in &calls {
            // Each store tries each of them out, and that alone shows no need of it.
            let tried = match name.as_str() {
                "scan" | "unlink" => 1,
                _ => opened.load(Relaxed),
            };
            assert!(
                *calls > tried,
                "{version:?}: {name}: {calls}, tried {tried}"
            );
        }
    }
}

/// How often each command was called but for those by which the test looks.
fn calls(server: &Server) -> BTreeMap<String, u64> {
    let ours = [
        "info",
        "config|resetstat",
        "client|setinfo",
        "auth",
        "hello",
    ];
    let said: String = server.ask(&["INFO", "commandstats"]);
    let called = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = rest.split_once(',')?.0.parse().ok()?;
        (calls > 0 && !ours.contains(&name)).then(|| (name.to_owned(), calls))
    };
    said.lines().filter_map(called).collect()
}

/// On a cluster a few more are needed, by all nodes.
#[test]
fn on_a_cluster_the_user_does_too() {
    let cluster = Cluster::start(Version::V7_0, 30_000);
    let words = words(&page(), Some("on a cluster"));
    for node in 0..2 * Cluster::PRIMARIES {
        set_user(cluster.node(node), &words);
    }
    let store = open(&settings(format!(
        "redis-cluster://{USER}@{}",
        cluster.hosts()
    )));
    assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    use_all(&Arc::new(store));
}

/// Behind sentinels one more is needed.
#[test]
fn behind_sentinels_the_user_does_too() {
    let [port, sentinel_port] = [(); 2].map(|()| free_port());
    let primary = Server::start(Version::V7_0, &["--port", &port.to_string()]);
    set_user(&primary, &words(&page(), Some("behind sentinels")));
    let _sentinel = Server::sentinel(Version::V7_0, sentinel_port, port);
    let url = format!("redis-sentinel://{USER}@127.0.0.1:{sentinel_port}/mine");
    let store = open(&settings(url));
    assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
    use_all(&Arc::new(store));
}
