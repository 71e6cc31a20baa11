//! An axum service under a policy, with a limit of its own on an expensive route.
//!
//! ```text
//! cargo run -p jeton-examples --bin axum
//! for i in 1 2 3 4 5 6; do curl -i http://127.0.0.1:3000/; done       # five at once, then 429
//! curl -i -H 'x-api-key: alice' http://127.0.0.1:3000/report          # one a minute for each key
//! ```
#![allow(clippy::print_stdout)] // it says where it listens

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::request::Parts;
use jeton::layer::{ByKey, RateLimitLayer};
use jeton::policy::{Missing, NoReferences, Policy, Source};
use jeton::{Clock, Gate, Limiter, Settings, Table};

/// In a service of your own this is a file beside it, which `jeton check` reads too.
const POLICY: &str = r#"
[[rule]]
name      = "everyone"
key       = ["client-ip"]
algorithm = "token-bucket"
rate      = "1/s"
burst     = 5
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let policy = Policy::load(&Source::new("jeton.toml", POLICY), &NoReferences)?.policy;
    let gate = Gate::new(
        policy,
        Arc::new(Table::new(&Settings::default())?),
        Clock::system(),
    );
    let everyone = RateLimitLayer::policy(gate, peer);

    let reports = ByKey::new(Limiter::bucket("1/min", 1)?, api_key)
        .named("reports")?
        .missing(Missing::Deny) // no key: 403
        .layer();

    let app = Router::new()
        .route("/report", get(|| async { "a report\n" }).layer(reports))
        .route("/", get(|| async { "hello\n" }))
        .layer(everyone);

    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:3000".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await?;
    Ok(())
}

/// Who is at the other end of the connection, as axum leaves it.
fn peer(head: &Parts) -> Option<IpAddr> {
    Some(head.extensions.get::<ConnectInfo<SocketAddr>>()?.ip())
}

fn api_key(head: &Parts) -> Option<http::HeaderValue> {
    head.headers.get("x-api-key").cloned()
}
