//! Fields that end at this hop (RFC 9110, section 7.6.1) and fields that are ours alone.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body::Frame;
use smallvec::SmallVec;

/// Fields with this prefix are what Jeton tells the upstream: nobody else may set them.
const OURS: &str = "x-jeton-";

type Names = SmallVec<[HeaderName; 6]>;

/// What a single look at the head of a request finds, so that nothing need be looked up that is
/// not there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    pub(super) hosts: u32,
    pub(super) codings: u32,
    pub(super) has_expect: bool,
    pub(super) has_upgrade: bool,
    has_unwanted: bool,
}

impl Survey {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, _) in headers {
            match *name {
                header::HOST => found.hosts += 1,
                header::TRANSFER_ENCODING => found.codings += 1,
                header::EXPECT => found.has_expect = true,
                header::UPGRADE => found.has_upgrade = true,
                _ => found.has_unwanted |= is_unwanted(name.as_str()),
            }
        }
        found.has_unwanted |= found.has_expect || found.has_upgrade;
        found
    }
}

/// Removes what is meant for this hop alone, and what a client may not claim.
///
/// `Transfer-Encoding` stays: it is checked to be exactly `chunked`, which is how the body goes
/// on. So does `Trailer`, `TE` as far as it asks for trailers, and what `relied_on` names, which
/// `Connection` may not take away.
pub(super) fn clean_request(
    headers: &mut HeaderMap,
    survey: Survey,
    relied_on: impl Fn(&HeaderName) -> bool,
) {
    if !survey.has_unwanted {
        return;
    }
    let wants_trailers = has_token(headers, &header::TE, "trailers");
    remove(headers, is_unwanted, relied_on);
    if wants_trailers {
        ask_for_trailers(headers);
    }
}

/// Tells the upstream that trailers are understood (RFC 9110, section 10.1.4).
pub(super) fn ask_for_trailers(headers: &mut HeaderMap) {
    headers.insert(header::TE, HeaderValue::from_static("trailers"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("te"));
}

fn is_unwanted(name: &str) -> bool {
    match name.as_bytes().first() {
        Some(b't') => name == "te",
        Some(b'e') => name == "expect",
        Some(b'x') => name.starts_with(OURS),
        _ => ends_here(name),
    }
}

/// Whether the body of a response is as its sender means it once the chunks are taken off. No `TE`
/// of ours asks for another coding (RFC 9112, section 7.4), and without the field that names it,
/// which ends at this hop, nobody could read it.
pub(super) fn is_plain(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |it: &HeaderValue| it.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    codings.next().is_none_or(is_chunked) && codings.next().is_none()
}

/// Removes what the upstream meant for its connection to us; with a coding, also a length, which
/// it overrides (RFC 9112, section 6.3).
pub(super) fn clean_response(headers: &mut HeaderMap) {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    remove(headers, ends_here, |_| false);
}

/// Trailers follow the rules of the head they belong to.
pub(super) fn clean_trailers(frame: Frame<Bytes>) -> Frame<Bytes> {
    if frame.is_data() {
        return frame;
    }
    match frame.into_trailers() {
        Ok(mut trailers) => {
            let ours = |name: &str| ends_here(name) || name.starts_with(OURS);
            remove(&mut trailers, ours, |_| false);
            Frame::trailers(trailers)
        }
        Err(other) => other,
    }
}

/// Whether a list field has `token`, on any of its lines.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .any(|line| tokens(line).any(|found| found.eq_ignore_ascii_case(token.as_bytes())))
}

fn tokens(line: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    line.as_bytes()
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
}

fn ends_here(name: &str) -> bool {
    match name.as_bytes().first() {
        Some(b'c') => name == "connection",
        Some(b'k') => name == "keep-alive",
        // `Proxy` itself becomes HTTP_PROXY in CGI programs (httpoxy, CVE-2016-5385).
        Some(b'p') => name == "proxy" || name.starts_with("proxy-"),
        Some(b't') => name == "te" || name == "transfer-encoding",
        Some(b'u') => name == "upgrade",
        _ => false,
    }
}

/// `Connection` may not take away what frames the message or says whom it is for and from: that
/// would let a client undo what the proxies before us vouch for.
fn is_protected(name: &HeaderName) -> bool {
    *name == header::HOST
        || *name == header::CONTENT_LENGTH
        || *name == header::TRANSFER_ENCODING
        || *name == header::FORWARDED
        || name.as_str().starts_with("x-forwarded-")
}

fn remove(
    headers: &mut HeaderMap,
    unwanted: impl Fn(&str) -> bool,
    relied_on: impl Fn(&HeaderName) -> bool,
) {
    let mut names: Names = headers
        .keys()
        .filter(|name| unwanted(name.as_str()))
        .cloned()
        .collect();
    if names.contains(&header::CONNECTION) {
        let lines = headers.get_all(header::CONNECTION).iter();
        let options = lines
            .flat_map(tokens)
            .filter_map(|it| HeaderName::from_bytes(it).ok());
        names.extend(options.filter(|name| !is_protected(name) && !relied_on(name)));
    }
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |&(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields.iter().map(field) {
            headers.append(name, value);
        }
        headers
    }

    fn left(headers: &HeaderMap) -> Vec<String> {
        let mut left: Vec<_> = headers.keys().map(ToString::to_string).collect();
        left.sort();
        left
    }

    #[test]
    fn a_request_loses_what_is_for_this_hop_and_what_it_may_not_claim() {
        let mut headers = map(&[
            ("connection", "close, X-Private"),
            ("connection", "host , x-forwarded-for,, content-length"),
            ("x-private", "1"),
            ("host", "a"),
            ("x-forwarded-for", "192.0.2.1"),
            ("content-length", "3"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("proxy", "http://evil"),
            ("te", "gzip"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
            ("x-jeton-limited", "no"),
            ("trailer", "x-sum"),
            ("accept", "*/*"),
        ]);
        let survey = Survey::of(&headers);
        clean_request(&mut headers, survey, |_| false);
        let kept = [
            "accept",
            "content-length",
            "host",
            "trailer",
            "x-forwarded-for",
        ];
        assert_eq!(left(&headers), kept);
    }

    #[test]
    fn a_wish_for_trailers_goes_on() {
        let mut headers = map(&[("te", "deflate, Trailers;q=1"), ("te", "trailers")]);
        let survey = Survey::of(&headers);
        clean_request(&mut headers, survey, |_| false);
        assert_eq!(headers, map(&[("te", "trailers"), ("connection", "te")]));
    }

    #[test]
    fn a_coding_overrides_a_length() {
        let mut headers = map(&[("transfer-encoding", "chunked"), ("content-length", "1")]);
        clean_response(&mut headers);
        assert!(headers.is_empty(), "{headers:?}");
    }

    #[test]
    fn chunked_alone_is_a_coding_to_take_off() {
        assert!(is_plain(&map(&[])));
        assert!(is_plain(&map(&[("transfer-encoding", "Chunked ")])));
        for coding in [
            "gzip",
            "gzip, chunked",
            "identity",
            "",
            "chunked,",
            "chunked;q=1",
            "xchunked",
        ] {
            assert!(
                !is_plain(&map(&[("transfer-encoding", coding)])),
                "{coding}"
            );
        }
        for second in ["gzip", "chunked"] {
            let lines = [
                ("transfer-encoding", "chunked"),
                ("transfer-encoding", second),
            ];
            assert!(!is_plain(&map(&lines)), "{second}");
        }
    }

    #[test]
    fn a_response_keeps_what_is_for_the_client() {
        let mut headers = map(&[
            ("connection", "keep-alive"),
            ("proxy-authenticate", "Basic"),
            ("content-length", "1"),
            ("ratelimit", "\"a\";r=1;t=1"),
        ]);
        clean_response(&mut headers);
        assert_eq!(left(&headers), ["content-length", "ratelimit"]);
    }

    #[test]
    fn trailers_are_cleaned_too() {
        let frame = Frame::trailers(map(&[("x-jeton-limited", "no"), ("x-sum", "1")]));
        let trailers = clean_trailers(frame).into_trailers().expect("trailers");
        assert_eq!(left(&trailers), ["x-sum"]);
    }
}
