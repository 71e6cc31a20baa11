//! tonic 0.14 behind the layer: a real server, a real client, HTTP/2.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::task::{Context, Poll};

use http::request::Parts;
use jeton::layer::RateLimitLayer;
use prost::Message;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Endpoint, Server as Tonic};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::Service;

use crate::support::{Server, clock, curl, gate, limiter};

#[derive(Clone, PartialEq, Message)]
struct Hello {
    #[prost(string, tag = "1")]
    name: String,
}

/// `google.rpc.Status`, its `Any` and `google.rpc.RetryInfo`, as their files have them.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<RpcAny>,
}

#[derive(Clone, PartialEq, Message)]
struct RpcAny {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<RpcDuration>,
}

#[derive(Clone, PartialEq, Message)]
struct RpcDuration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// `greet.Greeter/Say`, as `tonic-build` would write it.
#[derive(Clone)]
struct Greeter;

impl NamedService for Greeter {
    const NAME: &'static str = "greet.Greeter";
}

impl UnaryService<Hello> for Greeter {
    type Response = Hello;
    type Future = Ready<Result<Response<Hello>, Status>>;

    fn call(&mut self, request: Request<Hello>) -> Self::Future {
        let name = format!("hello {}", request.into_inner().name);
        ready(Ok(Response::new(Hello { name })))
    }
}

impl Service<http::Request<Body>> for Greeter {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let codec = ProstCodec::<Hello, Hello>::default();
            Ok(Grpc::new(codec).unary(Self, request).await)
        })
    }
}

fn serve(layer: RateLimitLayer) -> Server {
    Server::run(|listener| async move {
        Tonic::builder()
            .layer(layer)
            .add_service(Greeter)
            .serve_with_incoming(TcpIncoming::from(listener))
            .await
            .unwrap();
    })
}

fn run<T>(client: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(client)
}

async fn connect(server: &Server) -> Channel {
    let endpoint = Endpoint::from_shared(server.url()).unwrap();
    endpoint.connect().await.unwrap()
}

async fn say(channel: &Channel, key: &str) -> Result<Response<Hello>, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client
        .ready()
        .await
        .map_err(|error| Status::unknown(error.to_string()))?;
    let mut request = Request::new(Hello {
        name: key.to_owned(),
    });
    request.metadata_mut().insert("x-key", key.parse().unwrap());
    let path = http::uri::PathAndQuery::from_static("/greet.Greeter/Say");
    client
        .unary(request, path, ProstCodec::<Hello, Hello>::default())
        .await
}

fn key(head: &Parts) -> Option<http::HeaderValue> {
    head.headers.get("x-key").cloned()
}

#[test]
fn a_refused_call_says_how_long_to_wait_in_every_way_clients_read() {
    let server = serve(RateLimitLayer::by(limiter(1, 1_234_567, &clock()), key));
    let (passed, refused, other) = run(async {
        let channel = connect(&server).await;
        let passed = say(&channel, "a").await.unwrap();
        let refused = say(&channel, "a").await.unwrap_err();
        (passed, refused, say(&channel, "b").await.unwrap())
    });
    assert_eq!(passed.get_ref().name, "hello a");
    assert_eq!(other.get_ref().name, "hello b");
    let told = passed.metadata().get("ratelimit").unwrap();
    assert_eq!(told, r#""default";r=0;t=2"#);

    assert_eq!(refused.code(), Code::ResourceExhausted);
    let text = r#"limit "default" has no room now; try again in 1235 ms"#;
    assert_eq!(refused.message(), text);
    let metadata = refused.metadata();
    assert_eq!(metadata.get("grpc-retry-pushback-ms").unwrap(), "1235");
    assert_eq!(metadata.get("ratelimit").unwrap(), r#""default";r=0;t=2"#);

    let status = RpcStatus::decode(refused.details()).unwrap();
    assert_eq!((status.code, status.message.as_str()), (8, text));
    let [detail] = status.details.as_slice() else {
        panic!("{status:?}");
    };
    assert_eq!(detail.type_url, "type.googleapis.com/google.rpc.RetryInfo");
    let info = RetryInfo::decode(detail.value.as_slice()).unwrap();
    let delay = RpcDuration {
        seconds: 1,
        nanos: 234_567_000,
    };
    assert_eq!(info.retry_delay, Some(delay));
}

#[test]
fn f26_streams_and_connections_share_one_state() {
    let server = serve(RateLimitLayer::by(limiter(3, 60_000_000, &clock()), key));
    // Streams of one connection at the same time, and another connection beside it.
    let calls: [_; 5] = run(async {
        let (one, two) = (connect(&server).await, connect(&server).await);
        let by = |channel| say(channel, "a");
        tokio::join!(by(&one), by(&one), by(&two), by(&two), by(&one)).into()
    });
    assert_eq!(calls.iter().filter(|call| call.is_ok()).count(), 3);
    let codes = calls
        .iter()
        .filter_map(|call| call.as_ref().err())
        .map(Status::code);
    assert_eq!(codes.collect::<Vec<_>>(), [Code::ResourceExhausted; 2]);
}

#[test]
fn every_limit_that_refused_is_named() {
    let file = r#"rule = [
        { name = "day", key = "global", algorithm = "fixed-window", limit = 1, window = "1d" },
        { name = "hour", key = "global", algorithm = "gcra", rate = "1/h" },
    ]"#;
    let server = serve(RateLimitLayer::policy(gate(file), |_| None));
    let refused = run(async {
        let channel = connect(&server).await;
        say(&channel, "a").await.unwrap();
        say(&channel, "a").await.unwrap_err()
    });
    let said = refused.message();
    assert!(
        said.starts_with(r#"limits "day", "hour" have no room now; "#),
        "{said}"
    );
    // The longest wait counts: that until the day is over.
    let day_left_ms = 86_400_000 - 1_800_000_000_000_u64 % 86_400_000;
    let wait = refused.metadata().get("grpc-retry-pushback-ms").unwrap();
    assert_eq!(wait, day_left_ms.to_string().as_str());
}

#[test]
fn more_rules_than_one_step_can_hold_are_nothing_to_retry() {
    let rule = |n| {
        format!(
            "[[rule]]\nname = \"r{n}\"\nkey = \"global\"\nalgorithm = \"gcra\"\nrate = \"9/s\"\nmatch = {{ path = \"/{{x..}}\" }}\n"
        )
    };
    let file: String = (0..40).map(rule).collect();
    let server = serve(RateLimitLayer::policy(gate(&file), |_| None));
    let refused = run(async { say(&connect(&server).await, "a").await.unwrap_err() });
    assert_eq!(refused.code(), Code::Unavailable);
    assert_eq!(
        refused.metadata().get("grpc-retry-pushback-ms").unwrap(),
        "-1"
    );
}

const POLICY: &str = r#"
    lists = { block = ["127.0.0.0/8"] }
    rule = [{ name = "all", key = "client-ip", algorithm = "gcra", rate = "1/h" }]
"#;

#[test]
fn who_is_forbidden_is_told_not_to_retry() {
    let peer = |head: &Parts| -> Option<IpAddr> {
        Some(head.extensions.get::<TcpConnectInfo>()?.remote_addr()?.ip())
    };
    let server = serve(RateLimitLayer::policy(gate(POLICY), peer));
    let refused = run(async { say(&connect(&server).await, "a").await.unwrap_err() });
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(
        refused.metadata().get("grpc-retry-pushback-ms").unwrap(),
        "-1"
    );
    assert!(refused.details().is_empty());
}

/// As any gRPC library sees it: HTTP 200, everything in one head, no body.
#[test]
fn a_refusal_is_trailers_only_on_the_wire() {
    let server = serve(RateLimitLayer::by(limiter(1, 60_000_000, &clock()), |_| {
        Some(())
    }));
    let url = format!("{}greet.Greeter/Say", server.url());
    let call = |content_type: &str| {
        let field = format!("content-type: {content_type}");
        curl(&[
            "--http2-prior-knowledge",
            "-H",
            &field,
            "-H",
            "te: trailers",
            "-d",
            "",
            &url,
        ])
    };
    call("application/grpc");
    for content_type in [
        "application/grpc",
        "application/grpc+proto",
        "application/grpc-web+proto",
    ] {
        let got = call(content_type);
        assert_eq!(got.statuses(), [200]);
        assert_eq!(got.field("grpc-status"), Some("8"));
        assert_eq!(got.field("grpc-retry-pushback-ms"), Some("60000"));
        assert_eq!(got.field("content-type"), Some(content_type));
        assert_eq!((got.field("retry-after"), got.body()), (None, ""));
    }
    // What only begins alike is not gRPC.
    assert_eq!(call("application/grpcish").statuses(), [429]);
}
