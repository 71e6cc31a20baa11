//! A gRPC service with a limit for each user, and a client that reads how long to wait.
//!
//! ```text
//! cargo run -p jeton-examples --bin tonic                                        # the server
//! cargo run -p jeton-examples --bin tonic -- call http://127.0.0.1:50051 alice   # three times
//! ```
//!
//! The messages are written by hand, so that no `protoc` is needed; with `tonic-build` the service
//! is generated, and the `layer` line is the same.
#![allow(clippy::print_stdout)] // it says where it listens, and what it was told

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use jeton::Limiter;
use jeton::layer::RateLimitLayer;
use prost::Message;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

/// `message Hello { string name = 1; }`, both ways.
#[derive(Clone, PartialEq, Message)]
struct Hello {
    #[prost(string, tag = "1")]
    name: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["call", server, user] => call(server, user).await,
        [] => serve("127.0.0.1:50051").await,
        [address] => serve(address).await,
        _ => Err("use: tonic [ADDRESS], or: tonic call URL USER".into()),
    }
}

async fn serve(address: &str) -> Result<(), Box<dyn Error>> {
    let limiter = Limiter::bucket("1/s", 2)?; // two at once, then one a second
    let by_user = RateLimitLayer::by(limiter, |head| head.headers.get("x-user").cloned());

    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Server::builder()
        .layer(by_user)
        .add_service(Greeter)
        .serve_with_incoming(TcpIncoming::from(listener))
        .await?;
    Ok(())
}

async fn call(server: &str, user: &str) -> Result<(), Box<dyn Error>> {
    let channel = Endpoint::from_shared(server.to_owned())?.connect().await?;
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await?;
    let mut request = Request::new(Hello {
        name: user.to_owned(),
    });
    request.metadata_mut().insert("x-user", user.parse()?);
    let path = http::uri::PathAndQuery::from_static("/greet.Greeter/Say");
    match client
        .unary(request, path, ProstCodec::<Hello, Hello>::default())
        .await
    {
        Ok(response) => println!("{}", response.get_ref().name),
        Err(status) => {
            let wait = status.metadata().get("grpc-retry-pushback-ms");
            let wait = wait.and_then(|ms| ms.to_str().ok()).unwrap_or("-1");
            println!(
                "{:?}: {} (retry after {wait} ms)",
                status.code(),
                status.message()
            );
        }
    }
    Ok(())
}

/// `service Greeter { rpc Say(Hello) returns (Hello); }` of `package greet`.
#[derive(Clone)]
struct Greeter;

impl UnaryService<Hello> for Greeter {
    type Response = Hello;
    type Future = std::future::Ready<Result<Response<Hello>, Status>>;

    fn call(&mut self, request: Request<Hello>) -> Self::Future {
        let name = format!("hello {}", request.into_inner().name);
        std::future::ready(Ok(Response::new(Hello { name })))
    }
}

impl NamedService for Greeter {
    const NAME: &'static str = "greet.Greeter";
}

/// What `tonic-build` writes for a service of one method.
impl Service<http::Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/greet.Greeter/Say" => {
                    let codec = ProstCodec::<Hello, Hello>::default();
                    Grpc::new(codec).unary(Self, request).await
                }
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}
