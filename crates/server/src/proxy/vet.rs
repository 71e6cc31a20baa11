//! Refuses requests that two servers could read in two ways, before anybody decides about them.
//!
//! hyper's parser has refused by now: differing or malformed `Content-Length`, `Transfer-Encoding`
//! that does not end in `chunked` or comes with HTTP/1.0, folded lines, control characters, space
//! before a colon. Chunks are checked as they pass. What is left is here (RFC 9112, sections 3.2,
//! 6.1 and 11.2).

use http::header;
use http::request::Parts;
use http::uri::{PathAndQuery, Uri};
use http::{HeaderValue, Method, StatusCode, Version};

use super::fields::{Survey, has_token};
use super::head_scan::Framing;

/// Why a request is not served: status and one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) detail: &'static str,
}

const fn bad(detail: &'static str) -> Refusal {
    Refusal {
        status: StatusCode::BAD_REQUEST,
        detail,
    }
}

const fn unserved(detail: &'static str) -> Refusal {
    Refusal {
        status: StatusCode::NOT_IMPLEMENTED,
        detail,
    }
}

/// Checks a head, and leaves its target in origin form.
pub(super) fn vet(parts: &mut Parts, framing: Framing, survey: Survey) -> Result<(), Refusal> {
    if framing.is_ambiguous() {
        return Err(bad(
            "The request has both Content-Length and Transfer-Encoding.",
        ));
    }
    if parts.method == Method::CONNECT {
        return Err(unserved("CONNECT is not served: this is a reverse proxy."));
    }
    if survey.codings > 0 {
        vet_coding(parts, survey)?;
    }
    vet_host(parts, survey)?;
    vet_target(parts)?;
    if survey.has_expect || survey.has_upgrade {
        vet_wishes(parts)?;
    }
    Ok(())
}

fn vet_coding(parts: &Parts, survey: Survey) -> Result<(), Refusal> {
    let coding = parts.headers.get(header::TRANSFER_ENCODING);
    let is_chunked = coding.is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if survey.codings == 1 && is_chunked {
        return Ok(());
    }
    Err(unserved(
        "The only transfer coding understood here is chunked, once.",
    ))
}

fn vet_host(parts: &Parts, survey: Survey) -> Result<(), Refusal> {
    let host = parts
        .headers
        .get(header::HOST)
        .map_or(b"".as_slice(), HeaderValue::as_bytes);
    match survey.hosts {
        0 if parts.version < Version::HTTP_11 => Ok(()),
        0 => Err(bad("The Host field is missing.")),
        1 if is_host(host) => Ok(()),
        1 => Err(bad("The Host field is not a host with an optional port.")),
        _ => Err(bad("The request has more than one Host field.")),
    }
}

/// `uri-host [ ":" port ]`, loosely: the characters RFC 3986 allows there, but none that would
/// let one server see a user, a path or a list where another sees a name.
fn is_host(host: &[u8]) -> bool {
    !host.is_empty()
        && host
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:[]%".contains(byte))
}

fn vet_target(parts: &mut Parts) -> Result<(), Refusal> {
    match (parts.uri.scheme_str(), parts.uri.authority()) {
        (None, None) => {}
        (Some("http" | "https"), Some(authority)) => {
            let host = parts.headers.get(header::HOST).map(HeaderValue::as_bytes);
            // Without Host (HTTP/1.0) the target alone says whom it is for.
            if host.is_some_and(|host| !host.eq_ignore_ascii_case(authority.as_str().as_bytes())) {
                return Err(bad("The target and the Host field name different hosts."));
            }
            if !is_host(authority.as_str().as_bytes()) {
                return Err(bad(
                    "The target does not name a host with an optional port.",
                ));
            }
            if host.is_none() {
                let host = HeaderValue::from_str(authority.as_str());
                let host = host.map_err(|_| bad("The target does not name a host."))?;
                parts.headers.insert(header::HOST, host);
            }
            parts.uri = origin_form(&parts.uri);
        }
        _ => return Err(bad("The target is neither a path nor an http URL.")),
    }
    match parts.uri.path().as_bytes() {
        [b'/', ..] => Ok(()),
        b"*" if parts.method == Method::OPTIONS => Ok(()),
        _ => Err(bad("The target is not a path.")),
    }
}

fn origin_form(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
}

fn vet_wishes(parts: &Parts) -> Result<(), Refusal> {
    let headers = &parts.headers;
    if headers.contains_key(header::UPGRADE) && has_token(headers, &header::UPGRADE, "websocket") {
        return Err(unserved("WebSocket is not served yet."));
    }
    let mut expectations = headers.get_all(header::EXPECT).iter();
    let is_met = expectations.all(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if is_met {
        return Ok(());
    }
    Err(Refusal {
        status: StatusCode::EXPECTATION_FAILED,
        detail: "The only expectation met here is 100-continue.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn vetted(request: http::request::Builder) -> Result<Parts, Refusal> {
        let (mut parts, ()) = request.body(()).expect("a request").into_parts();
        let survey = Survey::of(&parts.headers);
        vet(&mut parts, Framing::default(), survey).map(|()| parts)
    }

    fn get(target: &str) -> http::request::Builder {
        Request::builder().uri(target)
    }

    #[test]
    fn targets_come_out_in_origin_form() {
        for (target, origin) in [
            ("/a?b", "/a?b"),
            ("http://a/b?c", "/b?c"),
            ("http://A", "/"),
            ("https://a", "/"),
        ] {
            let parts = vetted(get(target).header("host", "a")).expect(target);
            assert_eq!(parts.uri.to_string(), origin, "{target}");
        }
        let options = get("*").method("OPTIONS").header("host", "a");
        assert_eq!(vetted(options).expect("asterisk").uri, "*");
    }

    #[test]
    fn http_1_0_may_leave_the_host_out() {
        let old = |target| get(target).version(Version::HTTP_10);
        assert!(vetted(old("/")).expect("no host").headers.is_empty());
        assert_eq!(
            vetted(old("http://a/")).expect("absolute").headers["host"],
            "a"
        );
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_bad() {
        let bad_hosts = [
            "", "a,b", "a b", "u@a", "a/b", "a?b", "a#b", "a\\b", "\"a\"", "a\u{e9}",
        ];
        for host in bad_hosts {
            let refused = vetted(get("/").header("host", host)).expect_err(host);
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{host}");
        }
        for (target, host) in [
            ("http://b/", "a"),
            ("ftp://a/", "a"),
            ("a:80", "a"),
            ("http://u@a/", "u@a"),
        ] {
            let refused = vetted(get(target).header("host", host)).expect_err(target);
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{target}");
        }
        assert!(vetted(get("*").header("host", "a")).is_err());
        assert!(vetted(get("/")).is_err());
        assert!(vetted(get("/").header("host", "a").header("host", "a")).is_err());
    }

    #[test]
    fn what_is_not_served_says_so() {
        let host = || get("/").header("host", "a");
        for request in [
            host().header("transfer-encoding", "gzip, chunked"),
            host()
                .header("transfer-encoding", "chunked")
                .header("transfer-encoding", "chunked"),
            host().header("upgrade", "h2c, WebSocket"),
            get("a:1").method("CONNECT").header("host", "a:1"),
        ] {
            let refused = vetted(request).expect_err("unserved");
            assert_eq!(refused.status, StatusCode::NOT_IMPLEMENTED);
        }
        assert!(
            vetted(host().header("upgrade", "h2c")).is_ok(),
            "an offer may be ignored"
        );
        let refused = vetted(host().header("expect", "miracles")).expect_err("expectation");
        assert_eq!(refused.status, StatusCode::EXPECTATION_FAILED);
        assert!(vetted(host().header("expect", "100-Continue")).is_ok());
    }
}
