//! F51: one request charges one counter once, however often a layer stands on its path.

use axum::Router;
use axum::routing::get;
use jeton::layer::{ByKey, RateLimitLayer};
use jeton::{Cost, NamedCharge, Verb};

use crate::support::{Got, Server, clock, curl, gate, limiter, peer};

const TWO_WINDOWS: &str = r#"
    [[rule]]
    name = "minute"
    key = "client-ip"
    algorithm = "fixed-window"
    limit = 5
    window = "1m"

    [[rule]]
    name = "day"
    key = "client-ip"
    algorithm = "fixed-window"
    limit = 50
    window = "1d"
"#;

fn serve(app: Router) -> Server {
    Server::run(|listener| async move {
        let service = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
        axum::serve(listener, service).await.unwrap();
    })
}

fn remaining(gate: &jeton::Gate, rule: &str) -> u32 {
    let charge = NamedCharge::new(rule, &["127.0.0.1"]);
    let answered = gate.charge(Verb::Check, &[charge]).unwrap().now().unwrap();
    answered.decisions().next().unwrap().decision.remaining
}

#[test]
fn f51_two_windows_on_one_client_are_charged_together_or_not() {
    let gate = gate(TWO_WINDOWS);
    let (server, _) = Server::axum(&RateLimitLayer::policy(gate.clone(), peer));
    let statuses: Vec<u16> = (0..6)
        .flat_map(|_| curl(&[&server.url()]).statuses())
        .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
    assert_eq!(remaining(&gate, "day"), 45);
}

#[test]
fn f51_a_gate_met_twice_on_a_path_charges_once() {
    let gate = gate(TWO_WINDOWS);
    // On the route and on the router, by two layers of their own.
    let outer = RateLimitLayer::policy(gate.clone(), peer);
    let inner = RateLimitLayer::policy(gate.clone(), peer);
    let routed = get(|| async { "hello" }).layer(inner);
    let server = serve(Router::new().route("/", routed).layer(outer));
    let got = curl(&[&server.url()]);
    assert_eq!(got.statuses(), [200]);
    assert_eq!(
        got.fields("ratelimit").len(),
        1,
        "and tells once: {}",
        got.0
    );
    assert_eq!(
        [remaining(&gate, "minute"), remaining(&gate, "day")],
        [4, 49]
    );
}

#[test]
fn f51_a_keyed_layer_met_twice_on_a_path_charges_once() {
    let limiter = limiter(5, 60_000_000, &clock());
    let layer = RateLimitLayer::by(limiter.clone(), |_| Some("all"));
    let nested = Router::new()
        .route("/", get(|| async { "hello" }))
        .layer(layer.clone());
    let server = serve(Router::new().nest("/in", nested).layer(layer));
    let url = format!("{}in", server.url());
    for version in ["--http1.1", "--http2-prior-knowledge"] {
        assert_eq!(curl(&[version, &url]).statuses(), [200]);
    }
    assert_eq!(limiter.check("all", Cost::ONE).remaining, 3);
}

#[test]
fn two_limits_of_their_own_are_both_charged() {
    let (wide, narrow) = (
        limiter(5, 60_000_000, &clock()),
        limiter(1, 60_000_000, &clock()),
    );
    let outer = ByKey::new(wide.clone(), |_| Some("all")).named("wide");
    let inner = ByKey::new(narrow, |_| Some("all")).named("narrow");
    let (outer, inner) = (outer.unwrap().layer(), inner.unwrap().layer());
    let routed = get(|| async { "hello" }).layer(inner);
    let server = serve(Router::new().route("/", routed).layer(outer));
    let got = [(); 2].map(|()| curl(&[&server.url()]));
    assert_eq!(got.each_ref().map(Got::statuses), [[200], [429]]);
    assert_eq!(
        got.each_ref().map(|got| got.fields("ratelimit").len()),
        [2, 2]
    );
    assert_eq!(wide.check("all", Cost::ONE).remaining, 3);
}
