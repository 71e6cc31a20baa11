//! gRPC as it is on the wire: frames of HTTP/2, messages by hand, health and reflection.

use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jeton_server::rls::messages::{
    Code, Entry, RateLimitDescriptor, RateLimitOverride, RateLimitRequest, RateLimitResponse,
};
use prost::Message;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1 as reflection;

use super::serve;
use crate::support::binary::Running;

/// One call of one message: what is answered, and the status in the trailers.
pub(super) fn call(jeton: &Running, path: &str, message: &[u8]) -> (Vec<Vec<u8>>, String) {
    let mut body = vec![0];
    body.extend_from_slice(&u32::try_from(message.len()).expect("short").to_be_bytes());
    body.extend_from_slice(message);
    call_frame(jeton, path, &body)
}

/// The same of a whole body.
pub(super) fn call_frame(jeton: &Running, path: &str, body: &[u8]) -> (Vec<Vec<u8>>, String) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let stream = tokio::net::TcpStream::connect(jeton.rls_address())
            .await
            .expect("a door");
        let io = TokioIo::new(stream);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                .await
                .expect("HTTP/2");
        tokio::spawn(connection);
        let request = Request::post(format!("http://door{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(bytes::Bytes::copy_from_slice(body)))
            .expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let of_head = response.headers().get("grpc-status").cloned();
        let body = response.into_body().collect().await.expect("a body");
        let status = body
            .trailers()
            .and_then(|it| it.get("grpc-status").cloned());
        let status = status.or(of_head).expect("a status");
        let bytes = body.to_bytes();
        let mut messages = Vec::new();
        let mut rest = &bytes[..];
        while let [0, a, b, c, d, behind @ ..] = rest {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            messages.push(behind[..length].to_vec());
            rest = &behind[length..];
        }
        (messages, status.to_str().expect("a number").to_owned())
    })
}

pub(super) const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

pub(super) fn should_rate_limit(jeton: &Running, request: &RateLimitRequest) -> RateLimitResponse {
    let (messages, status) = call(jeton, METHOD, &request.encode_to_vec());
    assert_eq!(status, "0");
    RateLimitResponse::decode(&messages[0][..]).expect("a message")
}

pub(super) fn descriptor(key: &str) -> RateLimitDescriptor {
    RateLimitDescriptor {
        entries: vec![Entry {
            key: key.to_owned(),
            value: "x".to_owned(),
        }],
        ..RateLimitDescriptor::default()
    }
}

const LIMITS: &str = "domain: d
descriptors:
  - { key: a, rate_limit: { unit: week, requests_per_unit: 10, name: ten } }
  - { key: b, rate_limit: { unit: year, requests_per_unit: 4 } }
";

#[test]
fn the_bytes_of_a_request_are_those_of_the_protocol() {
    // domain "d", one descriptor: entry a=x, a limit of 7 an hour, hits_addend 0, negative; hits 3.
    let bytes = b"\x0a\x01d\x12\x12\x0a\x06\x0a\x01a\x12\x01x\x12\x04\x08\x07\x10\x03\x1a\x00\x20\x01\x18\x03";
    let request = RateLimitRequest::decode(&bytes[..]).expect("a message");
    let one = RateLimitDescriptor {
        limit: Some(RateLimitOverride {
            requests_per_unit: 7,
            unit: 3,
        }),
        hits_addend: Some(0),
        is_negative_hits: true,
        ..descriptor("a")
    };
    let wanted = RateLimitRequest {
        domain: "d".to_owned(),
        descriptors: vec![one],
        hits_addend: 3,
    };
    assert_eq!(request, wanted);
    assert_eq!(request.encode_to_vec(), bytes);
}

#[test]
fn every_field_of_a_request_is_heeded_and_every_status_stands_in_its_place() {
    let jeton = serve("", LIMITS);
    let asked = |descriptors: Vec<RateLimitDescriptor>, hits_addend| {
        let domain = "d".to_owned();
        should_rate_limit(
            &jeton,
            &RateLimitRequest {
                domain,
                descriptors,
                hits_addend,
            },
        )
    };
    let with = |key, hits: u64| RateLimitDescriptor {
        hits_addend: Some(hits),
        ..descriptor(key)
    };
    let back = |key, hits: u64| RateLimitDescriptor {
        is_negative_hits: true,
        ..with(key, hits)
    };

    let answer = asked(vec![descriptor("a"), with("b", 1), descriptor("other")], 3);
    assert_eq!(answer.overall_code, Code::Ok as i32);
    let [a, b, other] = &answer.statuses[..] else {
        panic!("{answer:?}")
    };
    let limit = a.current_limit.as_ref().expect("a limit");
    assert_eq!(
        (limit.requests_per_unit, limit.unit, &*limit.name),
        (10, 7, "ten")
    );
    assert_eq!((a.limit_remaining, b.limit_remaining), (7, 3));
    assert_eq!(b.current_limit.as_ref().map(|limit| limit.unit), Some(6));
    let until = a.duration_until_reset.as_ref().expect("a time");
    assert!((1..=7 * 86_400).contains(&until.seconds) && until.nanos == 0);
    assert!(other.current_limit.is_none() && other.code == Code::Ok as i32);

    let left = |answer: &RateLimitResponse, at: usize| answer.statuses[at].limit_remaining;
    // 0 looks, and the request's own 0 is 1.
    assert_eq!(left(&asked(vec![with("a", 0)], 5), 0), 7);
    assert_eq!(left(&asked(vec![descriptor("a")], 0), 0), 6);
    let answer = asked(vec![with("a", 7), descriptor("b")], 0);
    assert_eq!(answer.overall_code, Code::OverLimit as i32);
    let codes: Vec<i32> = answer.statuses.iter().map(|one| one.code).collect();
    assert_eq!(codes, [2, 1]);
    assert_eq!((left(&answer, 0), left(&answer, 1)), (6, 3));
    assert_eq!(left(&asked(vec![back("a", 3)], 0), 0), 9);
    let own = RateLimitDescriptor {
        limit: Some(RateLimitOverride {
            requests_per_unit: 1,
            unit: 1,
        }),
        ..descriptor("own")
    };
    let answer = asked(vec![own.clone(), own], 0);
    assert_eq!(answer.overall_code, Code::OverLimit as i32);
}

#[test]
fn what_is_no_request_is_an_error_of_grpc() {
    let jeton = serve("", LIMITS);
    let empty = RateLimitRequest::default().encode_to_vec();
    assert_eq!(call(&jeton, METHOD, &empty).1, "3");
    let domain = RateLimitRequest {
        domain: "d".to_owned(),
        ..RateLimitRequest::default()
    };
    assert_eq!(call(&jeton, METHOD, &domain.encode_to_vec()).1, "3");
    assert_eq!(call(&jeton, METHOD, b"\xff\xff").1, "13");
    assert_ne!(call(&jeton, METHOD, &vec![b'\n'; 300 << 10]).1, "0");
    let (messages, status) = call(
        &jeton,
        "/envoy.service.ratelimit.v3.RateLimitService/Other",
        b"",
    );
    assert_eq!((messages.len(), &*status), (0, "12"));
}

#[test]
fn health_is_told_as_grpc_has_it() {
    let jeton = serve("", LIMITS);
    let check = |service: &str| {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        call(
            &jeton,
            "/grpc.health.v1.Health/Check",
            &request.encode_to_vec(),
        )
    };
    for service in ["", "envoy.service.ratelimit.v3.RateLimitService"] {
        let (messages, status) = check(service);
        let answer = HealthCheckResponse::decode(&messages[0][..]).expect("a message");
        assert_eq!((answer.status, &*status), (1, "0"));
    }
    assert_eq!(check("other").1, "5");
}

#[test]
fn tools_that_ask_are_told_what_there_is() {
    use reflection::server_reflection_request::MessageRequest;
    use reflection::server_reflection_response::MessageResponse;
    let jeton = serve("", LIMITS);
    let ask = |package: &str, question| {
        let request = reflection::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(question),
        };
        let path = format!("/grpc.reflection.{package}.ServerReflection/ServerReflectionInfo");
        let (messages, status) = call(&jeton, &path, &request.encode_to_vec());
        assert_eq!(status, "0");
        let answer = reflection::ServerReflectionResponse::decode(&messages[0][..]);
        answer
            .expect("a message")
            .message_response
            .expect("an answer")
    };
    for package in ["v1", "v1alpha"] {
        let listed = ask(package, MessageRequest::ListServices(String::new()));
        let MessageResponse::ListServicesResponse(listed) = listed else {
            panic!("{listed:?}")
        };
        let names: Vec<&str> = listed.service.iter().map(|one| one.name.as_str()).collect();
        assert!(
            names.contains(&"envoy.service.ratelimit.v3.RateLimitService"),
            "{names:?}"
        );
        assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
        for symbol in [
            "envoy.service.ratelimit.v3.RateLimitResponse",
            "envoy.extensions.common.ratelimit.v3.RateLimitDescriptor",
            "google.protobuf.Struct",
        ] {
            let found = ask(
                package,
                MessageRequest::FileContainingSymbol(symbol.to_owned()),
            );
            assert!(
                matches!(found, MessageResponse::FileDescriptorResponse(_)),
                "{found:?}"
            );
        }
    }
}
