//! The peer of the comparison in `benches/rls.sh`: a bare tonic server that answers OK to every
//! request of a rate limit service, as a service that decided nothing could. `bare_rls ADDRESS`.

#![allow(clippy::print_stderr, reason = "an example's own words")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use jeton_server::rls::messages::{Code, DescriptorStatus, RateLimitRequest, RateLimitResponse};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// The service, as tonic's generator would write it.
#[derive(Clone)]
struct AlwaysOk;

impl NamedService for AlwaysOk {
    const NAME: &'static str = "envoy.service.ratelimit.v3.RateLimitService";
}

impl tower_service::Service<http::Request<Body>> for AlwaysOk {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let codec = ProstCodec::<RateLimitResponse, RateLimitRequest>::default();
            Ok(Grpc::new(codec).unary(AlwaysOk, request).await)
        })
    }
}

impl UnaryService<RateLimitRequest> for AlwaysOk {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: Request<RateLimitRequest>) -> Self::Future {
        let code = Code::Ok as i32;
        let status = |_| DescriptorStatus {
            code,
            ..DescriptorStatus::default()
        };
        ready(Ok(Response::new(RateLimitResponse {
            overall_code: code,
            statuses: request.get_ref().descriptors.iter().map(status).collect(),
            ..RateLimitResponse::default()
        })))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_default().parse()?;
    eprintln!("bare_rls listens on {address}");
    tonic::transport::Server::builder()
        .tcp_nodelay(true)
        .add_service(AlwaysOk)
        .serve(address)
        .await?;
    Ok(())
}
