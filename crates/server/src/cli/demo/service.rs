//! The example service: says hello, and counts how often.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

pub(super) struct Example {
    pub(super) address: SocketAddr,
    answered: Arc<AtomicU64>,
}

impl Example {
    /// How many requests reached it.
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }
}

/// Starts it on a free port; it ends with the process.
pub(super) async fn start() -> io::Result<Example> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let answered = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&answered);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let counter = Arc::clone(&counter);
            let service = service_fn(move |request| {
                counter.fetch_add(1, Relaxed);
                std::future::ready(Ok::<_, Infallible>(hello(&request)))
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A connection that breaks off takes nothing with it.
            tokio::spawn(async move { drop(serving.await) });
        }
    });
    Ok(Example { address, answered })
}

fn hello(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let client = request
        .headers()
        .get("x-forwarded-for")
        .and_then(|line| line.to_str().ok());
    let text = format!("hello {}, you passed\n", client.unwrap_or("stranger"));
    let mut response = Response::new(Full::from(text));
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
