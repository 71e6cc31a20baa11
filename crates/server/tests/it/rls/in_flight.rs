//! More than may be out at a store that does not answer: the outage rule speaks, at once and counted.

use std::thread;
use std::time::{Duration, Instant};

use jeton_server::rls::messages::{Code, RateLimitRequest, RateLimitResponse};
use jeton_testkit::proxy::{Fault, Proxy};
use jeton_testkit::redis_server::Version;

use super::grpc::{descriptor, should_rate_limit};
use super::serve;
use crate::support::binary::Running;
use crate::support::eventually;

const LIMITS: &str =
    "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: year, requests_per_unit: 9 } }]\n";

/// Longer than the test looks.
const SLOW: Duration = Duration::from_secs(3);

fn ask(jeton: &Running) -> RateLimitResponse {
    let request = RateLimitRequest {
        domain: "d".to_owned(),
        descriptors: vec![descriptor("a"), descriptor("b")],
        hits_addend: 1,
    };
    should_rate_limit(jeton, &request)
}

#[test]
fn beyond_the_most_the_outage_rule_answers_at_once() {
    for (word, code) in [("allow", Code::Ok), ("deny", Code::OverLimit)] {
        let redis = Proxy::before(Version::V7_0.shared().socket());
        let jeton = serve(
            &format!(
                "max_in_flight = 2\n[store]\nkind = \"redis\"\nurl = \"{}\"\nprefix = \"crowd-{word}:\"\n\
                 timeout = \"9s\"\non_failure = \"{word}\"\n",
                redis.url()
            ),
            LIMITS,
        );
        assert_eq!(ask(&jeton).statuses[0].limit_remaining, 8);
        redis.set(Fault::Slow(SLOW));
        thread::scope(|scope| {
            let out = [(); 2].map(|()| scope.spawn(|| ask(&jeton)));
            eventually("two are out", || {
                jeton.metric("jeton_door_in_flight{door=\"rls\"}") == 2
            });
            let begun = Instant::now();
            let shed = ask(&jeton);
            assert!(begun.elapsed() < SLOW / 2, "{:?}", begun.elapsed());
            assert_eq!(shed.overall_code, code as i32);
            // Nothing is told that nobody knows.
            assert!(shed.statuses.iter().all(|one| {
                one.code == code as i32 && one.current_limit.is_none() && one.limit_remaining == 0
            }));
            assert_eq!(shed.statuses.len(), 2);
            // Those that were asked for have their answers.
            let mut left = out.map(|one| {
                let answer = one.join().expect("an answer");
                assert_eq!(answer.overall_code, Code::Ok as i32);
                answer.statuses[0].limit_remaining
            });
            left.sort_unstable();
            assert_eq!(left, [6, 7]);
        });
        assert_eq!(jeton.metric("jeton_door_shed_total{door=\"rls\"}"), 1);
        assert_eq!(jeton.metric("jeton_door_in_flight{door=\"rls\"}"), 0);
        assert_eq!(
            jeton.metric("jeton_store_errors_total{reason=\"saturated\"}"),
            1
        );
        redis.set(Fault::None);
        assert_eq!(ask(&jeton).statuses[0].limit_remaining, 5);
    }
}
