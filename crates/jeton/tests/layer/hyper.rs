//! hyper 1 without a framework: one service, cloned for each connection.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use jeton::layer::RateLimitLayer;
use tower::{Layer, service_fn};

use crate::support::{Server, clock, curl, limiter};

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from("hello\n")))
}

#[test]
fn f26_connections_of_a_bare_hyper_server_share_one_state() {
    let layer = RateLimitLayer::by(limiter(2, 60_000_000, &clock()), |_| Some(()));
    let service = layer.layer(service_fn(hello));
    let server = Server::run(|listener| async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    let url = server.url();
    assert_eq!(curl(&[&url]).body(), "hello\n");
    // Two requests on one connection that stays open.
    let got = curl(&[&url, &url]);
    assert_eq!(got.statuses(), [200, 429], "{}", got.0);
    assert_eq!(curl(&[&url]).statuses(), [429]);
}
