//! F35: what is wrong with a server has a word in the metrics and a line in the log.

use std::thread;
use std::time::{Duration, Instant};

use jeton_testkit::proxy::{Fault, Proxy, Refusal};
use jeton_testkit::redis_server::Version;

use super::{HUNDRED, get, is_allowed, policy, take};
use crate::support::binary::Running;
use crate::support::eventually;

#[test]
fn each_reason_has_a_word_and_one_line() {
    let redis = Version::V7_0.shared();
    let proxy = Proxy::before(redis.socket());
    let store = "timeout = \"1s\"\nprefix = \"reasons:\"";
    let node = Running::serve(&policy(&proxy.url(), store, HUNDRED));
    assert!(take(&node, "user", "k")["reason"].is_null());
    for (refusal, word, said) in [
        (Refusal::OutOfMemory, "out_of_memory", "raise maxmemory"),
        (Refusal::Loading, "not_ready", "the server is not ready yet"),
        (
            Refusal::NoAuth,
            "unauthenticated",
            "wants another user or password",
        ),
        (
            Refusal::NoPerm,
            "forbidden",
            "no permissions to run the 'evalsha' command",
        ),
        (Refusal::ReadOnly, "not_primary", "does not take writes"),
    ] {
        let reason = format!("jeton_store_errors_total{{reason=\"{word}\"}}");
        assert_eq!(node.metric(&reason), 0, "{word}");
        let lines = node.log().lines().count();
        proxy.set(Fault::Refuse(refusal));
        let start = Instant::now();
        let is_told = || {
            let log = node.log();
            log.lines().skip(lines).any(|line| line.contains("ERROR"))
        };
        while node.metric(&reason) == 0 || !is_told() {
            assert!(is_allowed(&take(&node, "user", "k")), "{word}");
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "{word}: {}",
                node.log()
            );
            thread::sleep(Duration::from_millis(20));
        }
        node.logs(said);
        let ready = get(node.api_address(), "/readyz", "");
        assert!(
            ready.body().contains("degraded: the store "),
            "{}",
            ready.body()
        );
        proxy.set(Fault::None);
        eventually("it decides again", || {
            take(&node, "user", "k")["reason"].is_null()
        });
        eventually("that is told", || {
            let told = node
                .log()
                .lines()
                .skip(lines)
                .filter(|line| line.contains("answers again"))
                .count();
            told == 1
        });
        let log = node.log();
        let errors: Vec<&str> = log
            .lines()
            .skip(lines)
            .filter(|line| line.contains("ERROR"))
            .collect();
        assert_eq!(errors.len(), 1, "{word}: {errors:?}");
    }
    assert_eq!(node.metric("jeton_store_disagreements_total"), 0);
}
