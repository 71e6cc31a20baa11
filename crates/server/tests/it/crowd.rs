//! More decisions than may be out at a store that is slow: at the proxy and at the API, the outage rule
//! speaks at once, and it is counted. Requests that are at the upstream are out nowhere.

use std::thread;
use std::time::{Duration, Instant};

use jeton_testkit::proxy::{Fault, Proxy};
use jeton_testkit::redis_server::Version;
use serde_json::json;

use crate::support::binary::Running;
use crate::support::calls::{call, get, is_allowed, post, take};
use crate::support::eventually;
use crate::support::raw::Raw;
use crate::support::upstream::Upstream;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";

/// Longer than a test looks.
const SLOW: Duration = Duration::from_secs(3);

/// How long somebody waits for a place.
const HELD: Duration = Duration::from_millis(300);

fn policy(redis: &Proxy, upstream: &str, prefix: &str) -> String {
    format!(
        "[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"{upstream}\"\nmax_in_flight = 2\n\
         [api]\nlisten = \"127.0.0.1:0\"\nmax_in_flight = 2\ngateways = [\"127.0.0.1\"]\n\
         [store]\nkind = \"redis\"\nurl = \"{}\"\nprefix = \"{prefix}:\"\ntimeout = \"9s\"\n\
         [[rule]]\nname = \"open\"\nkey = \"global\"\nalgorithm = \"fixed-window\"\nlimit = 99\nwindow = \"1d\"\n\
         anchor = \"first-request\"\n\
         [[rule]]\nname = \"closed\"\nkey = \"global\"\nmatch = {{ path = \"/closed\" }}\non_failure = \"deny\"\n\
         algorithm = \"fixed-window\"\nlimit = 99\nwindow = \"1d\"\nanchor = \"first-request\"\n",
        redis.url()
    )
}

fn in_flight(jeton: &Running, door: &str) -> u64 {
    jeton.metric(&format!("jeton_door_in_flight{{door=\"{door}\"}}"))
}

fn shed(jeton: &Running, door: &str) -> u64 {
    jeton.metric(&format!("jeton_door_shed_total{{door=\"{door}\"}}"))
}

#[test]
fn at_the_proxy_the_outage_rule_speaks_for_those_beyond_the_most() {
    let redis = Proxy::before(Version::V7_0.shared().socket());
    let upstream = Upstream::answering(OK);
    let jeton = Running::serve(&policy(&redis, &upstream.url(), "crowd-proxy"));
    let ask = |path| get(jeton.proxy_address(), path, "");
    assert!(ask("/").field("ratelimit").is_some());
    redis.set(Fault::Slow(SLOW));
    thread::scope(|scope| {
        let out = [(); 2].map(|()| scope.spawn(|| ask("/")));
        eventually("two are out", || in_flight(&jeton, "proxy") == 2);
        let begun = Instant::now();
        let open = ask("/");
        assert_eq!((open.status(), open.field("ratelimit")), (200, None));
        let closed = ask("/closed");
        assert_eq!(closed.status(), 503);
        assert!(closed.field("retry-after").is_some());
        // The other door has a count of its own.
        assert_eq!(in_flight(&jeton, "api"), 0);
        assert!(begun.elapsed() < SLOW / 2, "{:?}", begun.elapsed());
        for one in out {
            let answer = one.join().expect("an answer");
            assert!(answer.status() == 200 && answer.field("ratelimit").is_some());
        }
    });
    assert_eq!((shed(&jeton, "proxy"), in_flight(&jeton, "proxy")), (2, 0));
    assert_eq!(shed(&jeton, "api"), 0);
}

#[test]
fn requests_at_the_upstream_are_out_nowhere() {
    let redis = Proxy::before(Version::V7_0.shared().socket());
    // It takes connections, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let jeton = Running::serve(&policy(&redis, &url, "crowd-upstream"));
    let clients: Vec<Raw> = (1..=8)
        .map(|number| {
            let mut client = Raw::connect(jeton.proxy_address());
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            eventually("it is decided about", || {
                jeton.metric("jeton_decisions_total{rule=\"open\",outcome=\"allowed\"}") == number
            });
            client
        })
        .collect();
    assert_eq!((in_flight(&jeton, "proxy"), shed(&jeton, "proxy")), (0, 0));
    let connections = jeton.metric("jeton_door_connections{door=\"proxy\"}");
    assert_eq!(connections, 8);
    drop(clients);
}

#[test]
fn at_the_api_the_outage_rule_speaks_for_those_beyond_the_most() {
    let redis = Proxy::before(Version::V7_0.shared().socket());
    let jeton = Running::serve(&policy(&redis, "http://127.0.0.1:1", "crowd-api"));
    assert!(is_allowed(&take(&jeton, "open", "")));
    redis.set(Fault::Slow(SLOW));
    let reserve = json!({ "rule": "closed", "key": "" });
    let batch = json!([{ "op": "take", "rule": "open" }, { "op": "take", "rule": "open" },
            { "op": "take", "rule": "open" }]);
    thread::scope(|scope| {
        let out = scope.spawn(|| call(&jeton, "/v1/batch", &batch));
        eventually("two are out", || in_flight(&jeton, "api") == 2);
        let begun = Instant::now();
        let open = take(&jeton, "open", "");
        assert!(is_allowed(&open) && open["reason"] == "degraded", "{open}");
        let closed = post(jeton.api_address(), "/v1/take?deny=429", &reserve);
        assert_eq!(closed.status(), 503, "{}", closed.text);
        let closed = call(&jeton, "/v1/reserve", &reserve);
        assert!(!is_allowed(&closed), "{closed}");
        let gateway = get(
            jeton.api_address(),
            "/v1/auth",
            "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /closed\r\n",
        );
        assert_eq!(gateway.status(), 503, "{}", gateway.text);
        // Health and metrics always get through.
        assert_eq!(get(jeton.api_address(), "/healthz", "").status(), 200);
        assert!(begun.elapsed() < SLOW / 2, "{:?}", begun.elapsed());
        let answers = out.join().expect("answers");
        let degraded: Vec<bool> = (0..3)
            .map(|at| answers[at]["reason"] == "degraded")
            .collect();
        assert_eq!(degraded, [false, false, true], "{answers}");
    });
    assert_eq!((shed(&jeton, "api"), in_flight(&jeton, "api")), (5, 0));
}

#[test]
fn connections_beyond_the_most_wait_for_those_before_them() {
    let jeton = Running::serve(
        "[api]\nlisten = \"127.0.0.1:0\"\nmax_connections = 2\n\
         [[rule]]\nname = \"a\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n",
    );
    let held = [(); 2].map(|()| Raw::connect(jeton.api_address()));
    let mut third = Raw::connect(jeton.api_address());
    let begun = Instant::now();
    third.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    thread::spawn(move || {
        thread::sleep(HELD);
        drop(held);
    });
    assert_eq!(third.read_response().status(), 200);
    assert!(begun.elapsed() >= HELD);
}
