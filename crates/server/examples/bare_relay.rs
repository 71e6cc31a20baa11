//! The peer for comparisons: the shortest relay one writes with hyper and hyper-util's client.
//! It has no limits, no timeouts and none of the care for fields that a proxy owes.
//!
//! `bare_relay LISTEN UPSTREAM [WORKERS]`, as `open_door`.

use std::convert::Infallible;
use std::error::Error;

use http::{Request, Response, StatusCode, Uri, uri};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

type Relay = Client<HttpConnector, Incoming>;
type Body = Either<Incoming, Empty<bytes::Bytes>>;

async fn relay(
    client: Relay,
    upstream: uri::Parts,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut target = uri::Parts::default();
    target.scheme = upstream.scheme;
    target.authority = upstream.authority;
    target.path_and_query = request.uri().path_and_query().cloned();
    let Ok(target) = Uri::from_parts(target) else {
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    *request.uri_mut() = target;
    match client.request(request).await {
        Ok(response) => Ok(response.map(Either::Left)),
        Err(_) => Ok(status(StatusCode::BAD_GATEWAY)),
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = status;
    response
}

async fn serve(listen: String, upstream: Uri) -> Result<(), Box<dyn Error>> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Relay = Client::builder(TokioExecutor::new()).build(connector);
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (client, upstream) = (client.clone(), upstream.clone());
        let service = service_fn(move |request| {
            relay(client.clone(), upstream.clone().into_parts(), request)
        });
        tokio::spawn(async move {
            let http = hyper::server::conn::http1::Builder::new();
            drop(http.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(listen), Some(upstream)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bare_relay LISTEN UPSTREAM [WORKERS]".into());
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(workers) = arguments.next() {
        runtime.worker_threads(workers.parse()?);
    }
    runtime
        .enable_all()
        .build()?
        .block_on(serve(listen, upstream.parse()?))
}
