//! `poll_ready`, stores that answer later, and what a refused request leaves behind.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use jeton::layer::RateLimitLayer;
use jeton::{Answers, Settings, Store, StoreError, StoreErrorKind, Submitted, Table, When};
use jeton_core::{Note, NoteEdit, Pending, Plan, Written};
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt};

use crate::support::{clock, gate_over, limiter};

/// A service that insists on being asked whether it is ready before each call, and counts calls.
#[derive(Default)]
struct Strict {
    ready: bool,
    calls: Arc<AtomicU64>,
}

impl Clone for Strict {
    /// A clone is not ready, whatever its origin is.
    fn clone(&self) -> Self {
        let calls = Arc::clone(&self.calls);
        Self {
            ready: false,
            calls,
        }
    }
}

impl Service<Request<()>> for Strict {
    type Response = Response<Full<Bytes>>;
    type Error = &'static str;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called without being ready"
        );
        self.calls.fetch_add(1, SeqCst);
        ready(match request.uri().path() {
            "/fail" => Err("failed"),
            _ => Ok(Response::new(Full::from("hello"))),
        })
    }
}

/// Memory that answers when it is asked again.
struct Slow(Arc<Table>);

impl Store for Slow {
    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        self.0.note(edit, when)
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.0.notes(when)
    }

    fn submit(&self, plans: &[Plan<'_>], when: When, _: &mut Answers) -> Submitted {
        let mut answers = Answers::new();
        let Submitted::Done = self.0.submit(plans, when, &mut answers) else {
            panic!("memory answers at once");
        };
        Submitted::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            answers
        }))
    }
}

const ONE: &str =
    "[[rule]]\nname = \"one\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\n";

fn slow_layer() -> RateLimitLayer {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    RateLimitLayer::policy(gate_over(Arc::new(Slow(table)), ONE), |_| None)
}

fn get(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

#[tokio::test]
async fn the_service_that_was_ready_is_the_one_that_is_called() {
    let at_once = RateLimitLayer::by(limiter(1, 1_000_000, &clock()), |_| Some(()));
    for layer in [at_once, slow_layer()] {
        let strict = Strict::default();
        let calls = Arc::clone(&strict.calls);
        let mut service = layer.layer(strict);
        for status in [200, 429, 429] {
            let answer = service.ready().await.unwrap().call(get("/")).await.unwrap();
            assert_eq!(answer.status(), status);
        }
        assert_eq!(calls.load(SeqCst), 1);
    }
}

#[tokio::test]
async fn a_store_that_answers_later_decides_the_same() {
    let service = slow_layer().layer(Strict::default());
    let passed = service.clone().oneshot(get("/")).await.unwrap();
    assert_eq!(passed.headers()["ratelimit"], r#""one";r=0;t=3600"#);
    let refused = service.clone().oneshot(get("/")).await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "3600");
    let request = Request::head("/").header("accept", "text/plain").body(());
    let refused = service.oneshot(request.unwrap()).await.unwrap();
    assert_eq!(
        refused.headers()["content-type"],
        "text/plain; charset=utf-8"
    );
    assert!(http_body::Body::is_end_stream(refused.body()));
}

/// Never answers.
struct Down;

const DOWN: StoreError = StoreError {
    kind: StoreErrorKind::Unavailable,
    written: Written::No,
};

impl Store for Down {
    fn note(&self, _: NoteEdit, _: When) -> Pending<bool> {
        Box::pin(async { Err(DOWN) })
    }

    fn notes(&self, _: When) -> Pending<Vec<Note>> {
        Box::pin(async { Err(DOWN) })
    }

    fn submit(&self, _: &[Plan<'_>], _: When, out: &mut Answers) -> Submitted {
        out.push_failed(DOWN);
        Submitted::Done
    }
}

#[tokio::test]
async fn an_outage_passes_and_invents_no_numbers() {
    let layer = RateLimitLayer::policy(gate_over(Arc::new(Down), ONE), |_| None);
    let service = layer.layer(Strict::default());
    for _ in 0..3 {
        let answer = service.clone().oneshot(get("/")).await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers().len()), (200, 0));
    }
}

#[tokio::test]
async fn errors_are_those_of_the_service() {
    let layer = RateLimitLayer::by(limiter(1, 1_000_000, &clock()), |_| Some(()));
    let failed: Result<_, &'static str> =
        layer.layer(Strict::default()).oneshot(get("/fail")).await;
    assert_eq!(failed.unwrap_err(), "failed");
}

/// A service of one place, and a connection whose client was refused: it keeps the place from
/// nobody.
#[tokio::test]
async fn a_refused_client_holds_no_place_in_the_service() {
    let limiter = limiter(1, 60_000_000, &clock());
    let layer = RateLimitLayer::by(limiter, |head| Some(head.uri.path().to_owned()));
    let place = ConcurrencyLimitLayer::new(1);
    let service = layer.layer(place.layer(Strict::default()));
    let mut connection = service.clone();
    let passed = connection.ready().await.unwrap().call(get("/a")).await;
    assert_eq!(passed.unwrap().status(), 200);
    let refused = connection.ready().await.unwrap().call(get("/a")).await;
    assert_eq!(refused.unwrap().status(), 429);

    let mut other = service.clone();
    let waited = tokio::time::timeout(Duration::from_secs(5), other.ready()).await;
    let answer = waited
        .expect("the place is free")
        .unwrap()
        .call(get("/b"))
        .await;
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_future_that_was_answered_stays_quiet() {
    let layer = RateLimitLayer::by(limiter(1, 60_000_000, &clock()), |_| Some(()));
    let service = layer.layer(Strict::default());
    service.clone().oneshot(get("/")).await.unwrap();
    let mut service = service;
    let mut refused = service.ready().await.unwrap().call(get("/"));
    assert_eq!((&mut refused).await.unwrap().status(), 429);
    let again = std::future::poll_fn(|cx| {
        Poll::Ready(std::pin::Pin::new(&mut refused).poll(cx).is_pending())
    });
    assert!(again.await, "no panic");
}
