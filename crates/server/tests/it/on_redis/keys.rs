//! F27, F30: how many keys stand in the server, and whose.

use std::sync::Arc;
use std::time::Duration;

use jeton::policy::{NoReferences, Policy, Source};
use jeton::redis::{RedisStore, Settings};
use jeton::{Clock, Gate, NamedCharge, Verb};
use jeton_testkit::redis_server::{Server, Version};
use tokio::runtime::{Handle, Runtime};

use super::{HUNDRED, PATIENT, get, policy, with_proxy};
use crate::support::binary::Running;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

#[test]
fn f27_what_only_changes_the_answer_changes_no_key() {
    let redis = Server::start(Version::V7_0, &[]);
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let keys = || {
        let mut keys: Vec<Vec<u8>> = redis.ask(&["KEYS", "*"]);
        keys.sort();
        keys
    };
    let mut seen = Vec::new();
    for headers in ["\"none\"", "[\"ietf\", \"legacy-epoch\"]"] {
        let rules = HUNDRED.replace("limit = 100", "limit = 1000");
        let rules = format!("[answer]\nheaders = {headers}\n{rules}");
        let policy = policy(&redis.url(), PATIENT, &rules);
        let node = Running::serve(&with_proxy(&policy, &upstream.url()));
        let mut client = Raw::connect(node.proxy_address());
        for hit in 0..1_000 {
            let user = hit % 10;
            client.send(&format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX-User: u{user}\r\n\r\n"
            ));
            assert_eq!(client.read_response().status(), 200);
        }
        let told = get(node.proxy_address(), "/", "X-User: u0\r\n");
        let is_told =
            told.field("ratelimit").is_some() && told.field("x-ratelimit-limit").is_some();
        assert_eq!(is_told, headers != "\"none\"", "{}", told.text);
        seen.push(keys());
    }
    assert_eq!(seen[0].len(), 10);
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn f30_instances_leave_nothing_of_their_own() {
    const INSTANCES: u64 = 1_000;
    let redis = Server::start(Version::V7_0, &[]);
    let runtime = Runtime::new().expect("threads");
    let rules = |name: &str| {
        format!(
            "[[rule]]\nname = \"{name}\"\nkey = [\"header:x-user\"]\nalgorithm = \"fixed-window\"\n\
             limit = 5000\nwindow = \"1d\"\nanchor = \"first-request\"\n"
        )
    };
    let text = format!("[store]\ntimeout = \"5s\"\n{}{}", rules("a"), rules("b"));
    let settings = Settings {
        timeout: Duration::from_secs(5),
        ..Settings::new(redis.url())
    };
    let left = runtime.block_on(async {
        let mut left = (0, 0);
        for _ in 0..INSTANCES {
            let source = Source::new("jeton.toml", text.as_str());
            let policy = Policy::load(&source, &NoReferences)
                .expect("a policy")
                .policy;
            let store = RedisStore::open(&settings, &Handle::current());
            let store = Arc::new(store.expect("a store"));
            let gate = Gate::new(policy, store, Clock::system());
            let ask = async |verb, rule| {
                let charge = NamedCharge::new(rule, &["k"]);
                let deciding = gate.charge(verb, &[charge]).expect("a charge");
                let answered = deciding.wait().await;
                let decision = answered.decisions().next().expect("decided").decision;
                u64::from(decision.remaining)
            };
            left = (ask(Verb::Take, "a").await, ask(Verb::Check, "b").await);
        }
        left
    });
    assert_eq!(left, (5_000 - INSTANCES, 5_000), "two rules never share");
    let keys: u64 = redis.ask(&["DBSIZE"]);
    assert!(keys <= 1 + 2, "{keys} keys for one counter");
}
