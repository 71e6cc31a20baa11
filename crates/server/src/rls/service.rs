//! What a connection is served by.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use jeton::{Gate, Ruled};
use smallvec::SmallVec;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_prost::ProstCodec;

use super::messages::{RateLimitRequest, RateLimitResponse};
use super::question::{self, Malformed};
use super::reflection::Reflection;
use super::{SERVICE, answer, json};
use crate::metrics::Metrics;

/// The method that Envoy calls.
const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const HEALTH: &str = "/grpc.health.v1.Health/";
const REFLECTION: &str = "/grpc.reflection.v1";

/// The longest message, in bytes.
const LONGEST: usize = 64 << 10;

/// How long a message may take to come, and its answer with it.
const CALL_TIME: Duration = Duration::from_secs(10);

/// Serves every connection.
#[derive(Clone)]
pub(super) struct Service(Arc<Inner>);

struct Inner {
    gate: Gate,
    metrics: Arc<Metrics>,
    reporter: HealthReporter,
    health: HealthServer<HealthService>,
    reflection: Reflection,
    is_serving: AtomicBool,
}

pub(super) type Answering =
    Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl Service {
    pub(super) async fn new(gate: Gate, metrics: Arc<Metrics>) -> Self {
        let reporter = HealthReporter::new();
        reporter
            .set_service_status("", tonic_health::ServingStatus::Serving)
            .await;
        reporter
            .set_service_status(SERVICE, tonic_health::ServingStatus::Serving)
            .await;
        let health = HealthServer::new(HealthService::from_health_reporter(reporter.clone()));
        Self(Arc::new(Inner {
            gate,
            metrics,
            reporter,
            health,
            reflection: Reflection::new(),
            is_serving: AtomicBool::new(true),
        }))
    }

    /// Tells whoever asks that it takes no new work.
    pub(super) async fn drain(&self) {
        let Inner {
            reporter,
            is_serving,
            ..
        } = &*self.0;
        is_serving.store(false, Relaxed);
        for service in ["", SERVICE] {
            let status = tonic_health::ServingStatus::NotServing;
            reporter.set_service_status(service, status).await;
        }
    }

    /// Decides about one message.
    async fn answer(self, message: RateLimitRequest) -> Result<RateLimitResponse, Malformed> {
        let asked = Instant::now();
        let Inner { gate, metrics, .. } = &*self.0;
        let ruling = question::read(&message, |request| gate.rule(request))?;
        let ruled = ruling.wait().await;
        metrics.decided(asked);
        named(metrics, &message, &ruled);
        Ok(answer::of(&message, &ruled))
    }

    fn plain(&self, request: Request<Incoming>) -> Answering {
        let is_serving = self.0.is_serving.load(Relaxed);
        let service = self.clone();
        Box::pin(async move {
            let path = request.uri().path();
            Ok(match (request.method(), path) {
                (&Method::POST, "/json") => service.json(request).await,
                (_, "/json") => text(StatusCode::METHOD_NOT_ALLOWED, "POST a RateLimitRequest\n"),
                (&Method::GET | &Method::HEAD, "/healthcheck") if is_serving => {
                    text(StatusCode::OK, "OK")
                }
                (&Method::GET | &Method::HEAD, "/healthcheck") => {
                    text(StatusCode::INTERNAL_SERVER_ERROR, "draining")
                }
                _ if is_grpc(&request) => {
                    Status::unimplemented("there is no such method here").into_http()
                }
                _ => text(StatusCode::NOT_FOUND, "there is nothing at this path\n"),
            })
        })
    }

    async fn json(self, request: Request<Incoming>) -> Response<Body> {
        let message = match json::read(request.into_body(), LONGEST).await {
            Ok(message) => message,
            Err(why) => return text(StatusCode::BAD_REQUEST, &format!("{why}\n")),
        };
        match self.answer(message).await {
            Ok(response) => json::respond(&response),
            Err(malformed) => text(StatusCode::BAD_REQUEST, &format!("{}\n", malformed.words())),
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        use tonic::codegen::Service as _;
        let path = request.uri().path();
        if path == METHOD {
            let service = self.clone();
            return Box::pin(async move {
                let codec = ProstCodec::<RateLimitResponse, RateLimitRequest>::default();
                let mut grpc = Grpc::new(codec).max_decoding_message_size(LONGEST);
                let answering = grpc.unary(ShouldRateLimit(service), request);
                Ok(match tokio::time::timeout(CALL_TIME, answering).await {
                    Ok(response) => response,
                    Err(_) => Status::deadline_exceeded("the message did not come").into_http(),
                })
            });
        }
        if path.starts_with(HEALTH) {
            return self.0.health.clone().call(request);
        }
        if path.starts_with(REFLECTION)
            && let Some(answer) = self.0.reflection.at(path)
        {
            return answer(request);
        }
        self.plain(request)
    }
}

/// `ShouldRateLimit`.
struct ShouldRateLimit(Service);

impl UnaryService<RateLimitRequest> for ShouldRateLimit {
    type Response = RateLimitResponse;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<RateLimitResponse>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<RateLimitRequest>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            match service.answer(request.into_inner()).await {
                Ok(response) => Ok(tonic::Response::new(response)),
                Err(malformed) => Err(Status::invalid_argument(malformed.words())),
            }
        })
    }
}

fn is_grpc(request: &Request<Incoming>) -> bool {
    let media = request.headers().get(header::CONTENT_TYPE);
    media.is_some_and(|media| media.as_bytes().starts_with(b"application/grpc"))
}

pub(super) fn text(status: StatusCode, body: &str) -> Response<Body> {
    let body = Body::new(http_body_util::Full::new(bytes::Bytes::copy_from_slice(
        body.as_bytes(),
    )));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let media = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

/// Counts descriptors by name, where their file wants it.
fn named(metrics: &Metrics, message: &RateLimitRequest, ruled: &Ruled) {
    let limits = ruled.answered.policy().descriptors().limits();
    for (one, asked) in ruled.descriptors.iter().zip(&message.descriptors) {
        let Some(limit) = one.limit.and_then(|limit| limits.get(limit)) else {
            continue;
        };
        if limit.is_named() {
            let entries = asked.entries.iter();
            let entries: SmallVec<[(&str, &str); 8]> = entries
                .map(|entry| (entry.key.as_str(), entry.value.as_str()))
                .collect();
            if let Some(name) = limit.metric(&message.domain, &entries) {
                metrics.descriptor(&name, one.over);
            }
        }
    }
}
