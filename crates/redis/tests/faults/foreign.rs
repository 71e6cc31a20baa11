//! Values of somebody else at our keys, seen from the gate.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Event, Gate, NamedCharge, StoreErrorKind, StoreState, Verb};
use jeton_testkit::redis_server::{Server, Version};
use redis::Commands as _;

use crate::server::{RUNTIME, open, settings};

const POLICY: &str = r#"
[api]
listen = "127.0.0.1:0"

[store]
timeout = "20s"
on_failure = "allow"

[[rule]]
name = "api"
key = "header:x-user"
algorithm = "sliding-log"
limit = 5
window = "500ms"
"#;

/// F34: each is one counted error under the policy, says nothing about other keys, and the key counts
/// again after its window.
#[test]
fn f34_a_foreign_value_is_one_counted_error_and_passes() {
    let values: [&[&str]; 4] = [
        &["SET", "KEY", "hello"],
        &["SET", "KEY", ""],
        &["RPUSH", "KEY", "one"],
        &["SET", "KEY", "123456789012345678901234567890"],
    ];
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = open(&settings(server.url()));
        RUNTIME.block_on(store.ready()).unwrap();
        let Ok(loaded) = Policy::load(&Source::new("jeton.toml", POLICY), &NoReferences) else {
            panic!("a policy")
        };
        let gate = Gate::new(loaded.policy, Arc::new(store), Clock::system());
        let take = |user| {
            let key = [user];
            let charge = NamedCharge::new("api", &key);
            RUNTIME.block_on(gate.charge(Verb::Take, &[charge]).unwrap().wait())
        };
        for (number, words) in (1..).zip(values) {
            // Where it stands is what the server then has.
            let () = server.ask(&["FLUSHALL"]);
            assert!(!take("alice").is_degraded());
            let keys: Vec<String> = server.client().keys("jeton1:*").unwrap();
            let key: &str = &keys[0];
            let () = server.ask(&["DEL", key]);
            let words: Vec<&str> = words
                .iter()
                .map(|word| if *word == "KEY" { key } else { word })
                .collect();
            let _: redis::Value = server.ask(&words);

            let answered = take("alice");
            assert!(answered.allowed());
            assert_eq!(answered.store_error(), Some(StoreErrorKind::BadState));
            assert_eq!(answered.decisions().count(), 0, "no invented numbers");
            assert_eq!(gate.tally().event(Event::Degraded), number);
            let errors: u64 = gate.tally().store_errors().map(|(_, n)| n).sum();
            assert_eq!(errors, number);
            assert!(take("bob").allowed() && !take("bob").is_degraded());
            assert_eq!(gate.store_state(), StoreState::Ready);

            thread::sleep(Duration::from_millis(510));
            let again = take("alice");
            assert!(again.allowed() && !again.is_degraded(), "{words:?}");
            let left = again.decisions().next().unwrap().decision.remaining;
            assert_eq!(left, 4, "{words:?}");
        }
    }
}
