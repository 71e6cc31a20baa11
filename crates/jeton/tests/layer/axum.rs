//! axum 0.8 behind the layer, over HTTP/1 and HTTP/2.

use std::sync::atomic::Ordering::SeqCst;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jeton::layer::RateLimitLayer;
use jeton::{RuleOutcome, Verb};
use tokio::net::TcpStream;

use crate::support::{Server, clock, curl, gate, limiter, pass, peer};

const H2: &str = "--http2-prior-knowledge";
const ONE_PER_SECOND: u64 = 1_000_000;

/// One unit for everybody, and the clock stands still.
fn one_for_all() -> RateLimitLayer {
    RateLimitLayer::by(limiter(1, ONE_PER_SECOND, &clock()), |_| Some(()))
}

#[test]
fn f26_two_connections_share_one_state() {
    for version in ["--http1.1", H2] {
        let (server, hits) = Server::axum(&one_for_all());
        let url = server.url();
        let statuses = [(); 2].map(|()| curl(&[version, &url]).statuses());
        assert_eq!(statuses, [[200], [429]], "{version}");
        assert_eq!(hits.load(SeqCst), 1, "a refusal reaches no handler");
    }
}

/// One HTTP/2 connection. (curl 7.88 cannot use one twice without TLS.)
async fn connect(server: &Server) -> http2::SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (executor, io) = (TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = http2::handshake(executor, io).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Asks on a stream of its own, at the same time as others.
fn ask(
    connection: &mut http2::SendRequest<Empty<Bytes>>,
    url: &str,
) -> impl Future<Output = u16> + Send + use<> {
    let request = Request::get(url).body(Empty::new()).unwrap();
    let answer = connection.send_request(request);
    async { answer.await.unwrap().status().as_u16() }
}

#[test]
fn f26_two_streams_of_one_connection_share_one_state() {
    let (server, hits) = Server::axum(&one_for_all());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut statuses = runtime.block_on(async {
        let mut connection = connect(&server).await;
        let mut ask = || ask(&mut connection, &server.url());
        <[u16; 2]>::from(tokio::join!(ask(), ask()))
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 429]);
    assert_eq!(hits.load(SeqCst), 1);
}

/// 8 connections of 50 streams each push at a budget of 100: 100 pass, not 101.
#[test]
fn f26_a_rush_over_connections_and_streams_gets_exactly_the_limit() {
    let layer = RateLimitLayer::by(limiter(100, ONE_PER_SECOND, &clock()), |_| Some(()));
    let (server, hits) = Server::axum(&layer);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let statuses: Vec<u16> = runtime.block_on(async {
        let mut asked = Vec::new();
        for _ in 0..8 {
            let mut connection = connect(&server).await;
            for _ in 0..50 {
                asked.push(tokio::spawn(ask(&mut connection, &server.url())));
            }
        }
        let mut statuses = Vec::new();
        for answer in asked {
            statuses.push(answer.await.unwrap());
        }
        statuses
    });
    let of = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!([of(200), of(429)], [100, 300]);
    assert_eq!(hits.load(SeqCst), 100);
}

#[test]
fn what_passes_carries_the_limit_behind_the_fields_of_the_service() {
    let clock = clock();
    let layer = RateLimitLayer::by(limiter(3, ONE_PER_SECOND, &clock), |_| Some(()));
    let (server, _) = Server::axum(&layer);
    for (version, left) in [("--http1.1", 2), (H2, 1)] {
        let got = curl(&[version, &server.url()]);
        let ours = format!(r#""default";r={left};t=1"#);
        assert_eq!(
            got.fields("ratelimit"),
            [r#""mine";r=7;t=1"#, ours.as_str()]
        );
        assert_eq!(got.fields("ratelimit-policy"), [r#""default";q=3;w=3"#]);
        assert_eq!(got.body(), "hello\n");
    }
    curl(&[&server.url()]);
    assert_eq!(curl(&[&server.url()]).statuses(), [429]);
    pass(&clock, ONE_PER_SECOND);
    assert_eq!(
        curl(&[&server.url()]).statuses(),
        [200],
        "the stated wait suffices"
    );
}

#[test]
fn each_key_has_its_own_counter_and_those_without_share_one() {
    let limiter = limiter(1, ONE_PER_SECOND, &clock());
    let layer = RateLimitLayer::by(limiter.clone(), |head| head.headers.get("x-key").cloned());
    let (server, _) = Server::axum(&layer);
    let url = server.url();
    let by = |key: &str| curl(&["-H", &format!("x-key: {key}"), &url]).statuses();
    assert_eq!([by("a"), by("a"), by("b")], [[200], [429], [200]]);
    let bare = || curl(&[&url]).statuses();
    assert_eq!([bare(), bare()], [[200], [429]]);

    limiter.reset(&http::HeaderValue::from_static("a"));
    assert_eq!(
        [by("a"), by("b"), bare()],
        [[200], [429], [429]],
        "the counter is the limiter's"
    );
}

const POLICY: &str = r#"
    client_ip = { header = "x-forwarded-for", trusted = ["127.0.0.0/8"] }
    lists = { block = ["192.0.2.66"], exempt = ["192.0.2.99"] }

    [[rule]]
    name = "everyone"
    key = "client-ip"
    algorithm = "fixed-window"
    limit = 1
    window = "1m"

    [[rule]]
    name = "reports"
    match = { method = ["GET"], path = "/", with = ["header:x-report"] }
    key = "global"
    algorithm = "token-bucket"
    rate = "1/h"
"#;

#[test]
fn a_policy_decides_by_the_client_that_trusted_proxies_name() {
    let gate = gate(POLICY);
    let (server, hits) = Server::axum(&RateLimitLayer::policy(gate.clone(), peer));
    let url = server.url();
    let from = |xff: &str| curl(&["-H", &format!("x-forwarded-for: {xff}"), &url]);
    assert_eq!(from("192.0.2.1").statuses(), [200]);
    assert_eq!(
        from("6.6.6.6, 192.0.2.1").statuses(),
        [429],
        "what a client wrote itself is nothing"
    );
    assert_eq!(from("192.0.2.2").statuses(), [200]);
    let refused = from("192.0.2.66");
    assert_eq!(
        (refused.statuses(), refused.field("retry-after")),
        (vec![403], None)
    );
    let exempt = from("192.0.2.99");
    assert_eq!(
        (exempt.statuses(), exempt.field("ratelimit-policy")),
        (vec![200], None)
    );
    assert_eq!(hits.load(SeqCst), 3);

    let tally = gate.tally();
    let outcomes = [RuleOutcome::Allowed, RuleOutcome::Denied].map(|o| tally.rule(0, o));
    assert_eq!(
        outcomes,
        [2, 1],
        "the gate's meters count the layer's requests"
    );
}

#[test]
fn all_rules_of_a_request_are_charged_or_none() {
    let gate = gate(POLICY);
    let (server, _) = Server::axum(&RateLimitLayer::policy(gate.clone(), peer));
    let url = server.url();
    let from = |ip: &str, report: &str| {
        curl(&["-H", &format!("x-forwarded-for: {ip}"), "-H", report, &url])
    };
    assert_eq!(from("192.0.2.1", "x-report: 1").statuses(), [200]);
    let denied = from("192.0.2.2", "x-report: 1");
    assert_eq!(denied.statuses(), [429]);
    assert!(denied.body().contains("reports"), "{}", denied.0);
    let charge = jeton::NamedCharge::new("everyone", &["192.0.2.2"]);
    let looked = gate.charge(Verb::Check, &[charge]).unwrap().now().unwrap();
    assert!(
        looked.allowed(),
        "the rule that would have allowed was not charged"
    );
}
