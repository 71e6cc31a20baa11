//! Who may talk to an API that is open to this machine: its own programs, and no page of a foreign
//! site that a browser on it happens to show.
//!
//! Such a page can send requests here in two ways. Its name can be made to point to this machine
//! (DNS rebinding): then `Host` is that name, and is refused. Or it sends a form or script request
//! across origins: then `Origin` is foreign and is refused, and a body that is not
//! `application/json` is refused too, since browsers send that type only after asking. They also
//! ask before every method but GET, HEAD and POST, and are given no leave.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode};

use super::answer::problem_of;
use super::forward_auth::FORWARD_AUTH;

/// Refuses what a browser may have been tricked into sending.
pub(super) async fn guard(
    State(loopback_only): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    match refusal(loopback_only, &request) {
        Some((status, detail)) => problem_of(status, detail),
        None => next.run(request).await,
    }
}

fn refusal(loopback_only: bool, request: &Request) -> Option<(StatusCode, &'static str)> {
    // What a gateway passes on has the client's fields. It tells gateways by their address.
    if request.uri().path() == FORWARD_AUTH {
        return None;
    }
    let headers = request.headers();
    let host = text(headers, HOST.as_str());
    if loopback_only {
        let target = request.uri().host();
        let local = host.is_some_and(is_loopback) && target.is_none_or(is_loopback);
        if !local {
            let detail = "Only this machine is answered here: `Host` must be localhost or a \
                          loopback address.";
            return Some((StatusCode::FORBIDDEN, detail));
        }
    }
    let is_write = !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if is_write && headers.contains_key(ORIGIN) && !is_own_origin(headers, host) {
        return Some((
            StatusCode::FORBIDDEN,
            "A page of another origin may not write here.",
        ));
    }
    None
}

/// Refuses a body that is not said to be JSON.
pub(super) async fn wants_json(request: Request, next: Next) -> Response {
    if is_json(request.headers()) {
        return next.run(request).await;
    }
    let detail = "The body must be JSON: send `Content-Type: application/json`.";
    problem_of(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut lines = headers.get_all(name).iter();
    let first = lines.next()?.to_str().ok()?;
    // Two of them are one too many to believe either.
    lines.next().is_none().then_some(first)
}

/// Whether a `Host`, with or without port, means this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some((inner, port)) if port.is_empty() || is_port(port) => inner,
            _ => return false,
        },
        None => match host.rfind(':') {
            Some(colon) if is_port(&host[colon..]) => &host[..colon],
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|digits| digits.parse::<u16>().is_ok())
}

/// Whether the page that sends this was served from here.
fn is_own_origin(headers: &HeaderMap, host: Option<&str>) -> bool {
    let origin = text(headers, ORIGIN.as_str());
    let site = origin.and_then(|origin| origin.strip_prefix("http://"));
    matches!((site, host), (Some(site), Some(host)) if site.eq_ignore_ascii_case(host))
}

fn is_json(headers: &HeaderMap) -> bool {
    text(headers, CONTENT_TYPE.as_str()).is_some_and(|content_type| {
        let media_type = content_type.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case("application/json")
    })
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn loopback_is_told_from_names_that_look_like_it() {
        for host in [
            "localhost",
            "LocalHost:7070",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]",
            "[::1]:7070",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:80:80",
            "localhost:",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "[::1]x",
            "::1",
            "0.0.0.0",
            "localhost@evil.example",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
