//! F32: what clients see of a store that is away, before a real server and with curl.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use jeton::StoreErrorKind;
use jeton::layer::RateLimitLayer;

use crate::faulty::{Fault, Faulty};
use crate::support::{Got, Server, curl, gate_over, peer};

const AWAY: Fault = Fault::Error(StoreErrorKind::Unavailable);

fn file(on_failure: &str) -> String {
    format!(
        "[[rule]]\nname = \"r\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\nlimit = 4\n\
         window = \"1h\"\non_failure = {on_failure}\n"
    )
}

/// A server behind a store that is `fault`y.
fn server(on_failure: &str, fault: Fault) -> (Server, Arc<Faulty>) {
    let store = Arc::new(Faulty::new());
    store.set(fault);
    let gate = gate_over(Arc::clone(&store) as _, &file(on_failure));
    let (server, _) = Server::axum(&RateLimitLayer::policy(gate, peer));
    (server, store)
}

/// The service's own field, and none of ours.
fn tells_nothing(got: &Got) {
    assert_eq!(got.fields("ratelimit"), [r#""mine";r=7;t=1"#]);
    assert_eq!(got.field("ratelimit-policy"), None);
    assert_eq!(got.field("retry-after"), None);
}

#[test]
fn f32_open_passes_without_our_fields() {
    for fault in [AWAY, Fault::Hang, Fault::Lost] {
        let (server, store) = server("\"allow\"", fault);
        for _ in 0..8 {
            let asked = Instant::now();
            let got = curl(&[&server.url()]);
            assert_eq!(got.statuses(), [200]);
            tells_nothing(&got);
            assert!(asked.elapsed() < Duration::from_secs(5));
        }
        assert_eq!(store.asked(), 5);
    }
}

#[test]
fn f32_closed_is_503_with_a_time_to_come_back() {
    let (server, _) = server("\"deny\"", AWAY);
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        let got = curl(&[version, "-H", "accept: application/json", &server.url()]);
        assert_eq!(got.statuses(), [503]);
        assert_eq!(got.field("retry-after"), Some("1"));
        assert!(got.fields("ratelimit").is_empty() && got.fields("ratelimit-policy").is_empty());
        assert!(got.body().contains("\"violated-policies\":[]"), "{}", got.0);
    }
}

#[test]
fn local_tells_the_limit_that_it_goes_by() {
    let (server, _) = server("{ local = 0.5 }", AWAY);
    for (status, left) in [(200, 1), (200, 0), (429, 0)] {
        let got = curl(&[&server.url()]);
        assert_eq!(got.statuses(), [status]);
        let ours = got.fields("ratelimit").last().copied();
        assert!(
            ours.unwrap().starts_with(&format!("\"r\";r={left};")),
            "{}",
            got.0
        );
        assert_eq!(got.field("ratelimit-policy"), Some(r#""r";q=2;w=3600"#));
        assert_eq!(got.field("retry-after").is_some(), status == 429);
    }
}

#[test]
fn f32_a_store_that_dies_while_the_service_answers_spoils_nothing() {
    let text = format!("{}count = {{ status = [401] }}\n", file("\"deny\""));
    let text =
        format!("[proxy]\nlisten = \"127.0.0.1:0\"\nupstream = \"http://127.0.0.1:9\"\n{text}");
    let store = Arc::new(Faulty::new());
    let gate = gate_over(Arc::clone(&store) as _, &text);
    let dying = Arc::clone(&store);
    let service = move || async move {
        dying.set(Fault::Hang);
        "answered\n"
    };
    let layer = RateLimitLayer::policy(gate.clone(), peer);
    let app = Router::new().route("/", get(service)).layer(layer);
    let server = Server::run(|listener| async move {
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).await.unwrap();
    });
    let got = curl(&[&server.url()]);
    assert_eq!((got.statuses(), got.body()), (vec![200], "answered\n"));
    assert_eq!(curl(&[&server.url()]).statuses(), [503]);
}
