//! Charges that responses settle, fields that only trusted proxies may write, rules that mark:
//! before axum, as its users have them.

use std::time::Duration;

use axum::Router;
use axum::extract::Query;
use axum::response::IntoResponse;
use axum::routing::{any, get};
use http::{HeaderMap, StatusCode};
use jeton::layer::RateLimitLayer;
use jeton::{Gate, NamedCharge, Verb};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::support::{Server, curl, gate, peer};

/// What a caller asks the service to answer.
#[derive(Deserialize)]
struct Asked {
    #[serde(default = "ok")]
    status: u16,
    units: Option<String>,
}

fn ok() -> u16 {
    200
}

/// Answers as it is asked to, and tells in its body what it was told in fields.
async fn answer(Query(asked): Query<Asked>, headers: HeaderMap) -> impl IntoResponse {
    let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let text = format!(
        "plan={:?} limited={:?}\n",
        told("x-plan"),
        told("x-jeton-limited")
    );
    let mut fields = HeaderMap::new();
    if let Some(units) = asked.units {
        fields.insert("x-units", units.parse().unwrap());
    }
    (StatusCode::from_u16(asked.status).unwrap(), fields, text)
}

/// Lets one of those that wait in [`slow`] go on.
static GO: Semaphore = Semaphore::const_new(0);

async fn slow() -> &'static str {
    GO.acquire().await.unwrap().forget();
    "done\n"
}

fn serve(gate: &Gate) -> Server {
    let layer = RateLimitLayer::policy(gate.clone(), peer);
    let app = Router::new()
        .route("/", any(answer))
        .route("/slow", get(slow))
        .layer(layer);
    Server::run(|listener| async move {
        let service = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
        axum::serve(listener, service).await.unwrap();
    })
}

fn left(gate: &Gate, rule: &str) -> u32 {
    let charge = NamedCharge::new(rule, &["127.0.0.1"]);
    let looked = gate.charge(Verb::Check, &[charge]).unwrap().now().unwrap();
    looked.decisions().next().unwrap().decision.remaining
}

fn ask(server: &Server, query: &str, headers: &[&str]) -> (Vec<u16>, Option<String>, String) {
    let url = format!("{}{query}", server.url());
    let mut arguments: Vec<&str> = headers.iter().flat_map(|header| ["-H", *header]).collect();
    arguments.push(&url);
    let got = curl(&arguments);
    let limit = got.field("ratelimit").map(str::to_owned);
    (got.statuses(), limit, got.body().to_owned())
}

#[test]
fn wrong_guesses_count_and_the_fields_tell_what_is_left_after_them() {
    let gate = gate(
        r#"
        [[rule]]
        name = "login"
        key = "client-ip"
        algorithm = "sliding-log"
        limit = 2
        window = "1m"
        count = { status = ["4xx"] }
        "#,
    );
    let server = serve(&gate);
    for (status, left) in [(200, 2), (401, 1), (204, 1), (403, 0)] {
        let (statuses, told, _) = ask(&server, &format!("?status={status}"), &[]);
        assert_eq!(statuses, [status]);
        assert!(
            told.unwrap().contains(&format!(";r={left};")),
            "after {status}"
        );
    }
    assert_eq!(ask(&server, "", &[]).0, [429]);
}

#[test]
fn a_response_tells_what_it_cost() {
    let gate = gate(
        r#"
        [[rule]]
        name = "tokens"
        key = "client-ip"
        algorithm = "fixed-window"
        limit = 100
        window = "1d"
        cost = { response = "header:x-units", estimate = 10 }
        "#,
    );
    let server = serve(&gate);
    assert_eq!(ask(&server, "?units=3", &[]).0, [200]);
    assert_eq!(left(&gate, "tokens"), 97);
    assert_eq!(ask(&server, "", &[]).0, [200]);
    assert_eq!(
        left(&gate, "tokens"),
        87,
        "no word of it: the estimate stays"
    );
    assert_eq!(ask(&server, "?units=120", &[]).0, [200]);
    assert_eq!(ask(&server, "?units=1", &[]).0, [429]);
}

const PLANS: &str = r#"
    [client_ip]
    header = "x-forwarded-for"
    trusted = [TRUSTED]
    [[rule]]
    name = "api"
    key = "global"
    algorithm = "fixed-window"
    limit = 1
    window = "1d"
    plan = "header:x-plan"
    plans = { staff = "unlimited" }
"#;

#[test]
fn a_plan_is_believed_from_trusted_peers_only_and_stripped_otherwise() {
    let plan = ["x-plan: staff"];
    let trusting = gate(&PLANS.replace("TRUSTED", "\"127.0.0.0/8\""));
    let server = serve(&trusting);
    for _ in 0..3 {
        let (statuses, _, body) = ask(&server, "", &plan);
        assert_eq!(statuses, [200]);
        assert!(body.contains("plan=Some(\"staff\")"), "{body}");
    }
    let wary = gate(&PLANS.replace("TRUSTED", "\"192.0.2.0/24\""));
    let server = serve(&wary);
    let (statuses, _, body) = ask(&server, "", &plan);
    assert_eq!(statuses, [200]);
    assert!(body.contains("plan=None"), "{body}");
    assert_eq!(ask(&server, "", &plan).0, [429]);
}

#[test]
fn a_rule_that_marks_tells_the_service_and_not_the_client() {
    let gate = gate(
        r#"
        [[rule]]
        name = "strict"
        key = "client-ip"
        algorithm = "fixed-window"
        limit = 1
        window = "1d"
        mode = "mark"
        "#,
    );
    let server = serve(&gate);
    let forged = ["x-jeton-limited: me"];
    for (headers, limited) in [(&[][..], "None"), (&forged[..], "Some(\"strict\")")] {
        let (statuses, told, body) = ask(&server, "", headers);
        assert_eq!((statuses, told), (vec![200], None));
        assert!(body.contains(&format!("limited={limited}")), "{body}");
    }
}

/// Waits until so many slots are left.
fn await_left(gate: &Gate, slots: u32) {
    for _ in 0..2_000 {
        if left(gate, "slots") == slots {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{} slots are left, not {slots}", left(gate, "slots"));
}

#[test]
fn units_in_flight_are_taken_until_the_response_has_ended() {
    let gate = gate(
        r#"
        [[rule]]
        name = "slots"
        match = { path = "/slow" }
        key = "client-ip"
        algorithm = "concurrency"
        limit = 1
        lease = "30s"
        "#,
    );
    let server = serve(&gate);
    let first = {
        let url = format!("{}slow", server.url());
        std::thread::spawn(move || curl(&[&url]).statuses())
    };
    await_left(&gate, 0);
    assert_eq!(ask(&server, "slow", &[]).0, [429]);
    GO.add_permits(1);
    assert_eq!(first.join().unwrap(), [200]);
    await_left(&gate, 1);
}
