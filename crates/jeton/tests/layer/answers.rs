//! F5 and F52: what a client who is refused is told.

use jeton::layer::{ByKey, RateLimitLayer};
use jeton::policy::Missing;
use jeton::wire::ratelimit::{Dialect, Dialects};
use tower::{Layer, ServiceExt};

use crate::support::{Got, Server, clock, curl, limiter, pass};

const H2: &str = "--http2-prior-knowledge";

/// A server whose only unit is used, with the next one 11.5 s away.
fn used_up() -> Server {
    let layer = RateLimitLayer::by(limiter(1, 11_500_000, &clock()), |_| Some(()));
    let (server, _) = Server::axum(&layer);
    assert_eq!(curl(&[&server.url()]).statuses(), [200]);
    server
}

fn common(got: &Got) {
    assert_eq!(got.statuses(), [429], "{}", got.0);
    assert_eq!(got.field("retry-after"), Some("12"));
    assert_eq!(got.field("cache-control"), Some("no-store"));
    assert_eq!(got.field("ratelimit-policy"), Some(r#""default";q=1;w=12"#));
    assert_eq!(got.field("ratelimit"), Some(r#""default";r=0;t=12"#));
}

#[test]
fn f52_the_body_is_by_accept() {
    let server = used_up();
    for version in ["--http1.1", H2] {
        let json = curl(&[version, "-H", "accept: application/json", &server.url()]);
        common(&json);
        assert_eq!(json.field("content-type"), Some("application/problem+json"));
        for member in [
            r#""title":"#,
            r#""status":429"#,
            r#""violated-policies":["default"]"#,
            "12",
        ] {
            assert!(json.body().contains(member), "{member} in {}", json.0);
        }
        for accept in ["accept: text/html", "accept: text/plain"] {
            let text = curl(&[version, "-H", accept, &server.url()]);
            common(&text);
            assert_eq!(
                text.field("content-type"),
                Some("text/plain; charset=utf-8")
            );
            assert!(text.body().starts_with("429 "), "{}", text.0);
            let length = text.body().len().to_string();
            assert_eq!(text.field("content-length"), Some(length.as_str()));
        }
    }
}

#[test]
fn f52_head_has_the_head_alone_with_the_right_length() {
    let server = used_up();
    for version in ["--http1.1", H2] {
        let whole = curl(&[version, &server.url()]);
        let head = curl(&[version, "--head", &server.url()]);
        common(&head);
        assert_eq!(
            head.field("content-length"),
            Some(whole.body().len().to_string().as_str())
        );
        assert_eq!(head.body(), "");
    }
}

#[test]
fn f52_head_has_no_body_whatever_the_server_does() {
    let limiter = limiter(1, 1_000_000, &clock());
    limiter.take(&());
    let service = RateLimitLayer::by(limiter, |_| Some(())).layer(Hello);
    let head = http::Request::head("/").body(()).unwrap();
    let response = block_on(service.oneshot(head)).unwrap();
    assert!(http_body::Body::is_end_stream(response.body()));
    assert_ne!(response.headers()["content-length"], "0");
}

/// F5: GCRA(1, 5/s): A, then D 50 ms later says 1; a thousand sub-second waits are digits only.
#[test]
fn f5_waits_below_a_second_are_told_as_one() {
    let clock = clock();
    let service = RateLimitLayer::by(limiter(1, 200_000, &clock), |_| Some(())).layer(Hello);
    let ask = || {
        let request = http::Request::get("/").body(()).unwrap();
        block_on(service.clone().oneshot(request)).unwrap()
    };
    assert_eq!(ask().status(), 200);
    pass(&clock, 50_000);
    assert_eq!(ask().headers()["retry-after"], "1");
    let mut seed = 0x9e37_79b9_u64;
    for _ in 0..1000 {
        pass(&clock, 10_000_000);
        assert_eq!(ask().status(), 200);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        pass(&clock, (seed >> 33) % 200_000);
        let response = ask();
        assert_eq!(
            (
                response.status().as_u16(),
                &response.headers()["retry-after"]
            ),
            (429, &"1".parse().unwrap())
        );
    }
}

#[test]
fn a_request_without_a_key_can_be_refused_or_let_through() {
    for (missing, statuses) in [
        (Missing::Share, [200, 429]),
        (Missing::Skip, [200, 200]),
        (Missing::Deny, [403, 403]),
    ] {
        let layer = ByKey::new(limiter(1, 1_000_000, &clock()), |_| None::<()>)
            .missing(missing)
            .layer();
        let service = layer.layer(Hello);
        let ask = || {
            block_on(
                service
                    .clone()
                    .oneshot(http::Request::get("/").body(()).unwrap()),
            )
        };
        let got = [(); 2].map(|()| ask().unwrap());
        assert_eq!(
            got.each_ref().map(|r| r.status().as_u16()),
            statuses,
            "{missing:?}"
        );
        let told = missing == Missing::Share;
        assert!(
            got.iter()
                .all(|r| r.headers().contains_key("ratelimit") == told)
        );
    }
}

#[test]
fn name_and_dialects_are_the_callers() {
    let both = Dialects::new(&[Dialect::Draft7, Dialect::LegacyDelta]).unwrap();
    let layer = ByKey::new(limiter(1, 1_000_000, &clock()), |_| Some(()));
    let service = layer
        .named("api")
        .unwrap()
        .headers(both)
        .layer()
        .layer(Hello);
    let response = block_on(service.oneshot(http::Request::get("/").body(()).unwrap())).unwrap();
    let fields = response.headers();
    assert_eq!(fields["ratelimit"], "limit=1, remaining=0, reset=1");
    assert_eq!(fields["x-ratelimit-limit"], "1");
    let none = ByKey::new(limiter(1, 1_000_000, &clock()), |_| Some(())).headers(Dialect::None);
    let asked = none
        .layer()
        .layer(Hello)
        .oneshot(http::Request::get("/").body(()).unwrap());
    assert!(block_on(asked).unwrap().headers().is_empty());

    let refused = ByKey::new(limiter(1, 1_000_000, &clock()), |_| Some(())).named("a\"b");
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("1 to 64 printable ASCII"), "{said}");
}

/// Says hello, whatever it is asked.
#[derive(Clone)]
struct Hello;

impl tower::Service<http::Request<()>> for Hello {
    type Response = http::Response<http_body_util::Full<bytes::Bytes>>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<()>) -> Self::Future {
        std::future::ready(Ok(http::Response::new(http_body_util::Full::from("hello"))))
    }
}

use futures_executor::block_on;
