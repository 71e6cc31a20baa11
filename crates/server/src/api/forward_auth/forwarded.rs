//! The request that a gateway asks about, as it tells it.
//!
//! | gateway | tells it by |
//! |---|---|
//! | Traefik, Caddy | `X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-Host` |
//! | nginx, by the recipe | `X-Original-Method`, `X-Original-URI`, `X-Original-Host` |
//!
//! A client can send fields of these names too. A gateway overwrites those of its own family and
//! passes the others on, so a family that is begun must be whole, and where both are there they
//! must agree: then a client that adds one gets nothing but itself refused.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::HOST;
use jeton::policy::Facts;

use crate::engine::InputError;

/// The names by which one kind of gateway tells the request.
struct Family {
    method: &'static str,
    uri: &'static str,
    host: &'static str,
}

const FAMILIES: [Family; 2] = [
    Family {
        method: "x-forwarded-method",
        uri: "x-forwarded-uri",
        host: "x-forwarded-host",
    },
    Family {
        method: "x-original-method",
        uri: "x-original-uri",
        host: "x-original-host",
    },
];

/// What a gateway adds of itself: no fact about its client.
const OF_GATEWAYS: [&str; 13] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-method",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-forwarded-uri",
    "x-original-host",
    "x-original-method",
    "x-original-uri",
    "x-real-ip",
];

/// The client's request.
#[derive(Debug)]
pub(super) struct Forwarded<'a> {
    method: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    host: Option<&'a str>,
    headers: &'a HeaderMap,
    client: Option<IpAddr>,
    hidden: Vec<&'a str>,
}

impl<'a> Forwarded<'a> {
    /// The same without what only trusted peers may say.
    pub(super) fn without(self, hidden: Vec<&'a str>) -> Self {
        Self { hidden, ..self }
    }

    /// Reads it from the fields of the gateway's.
    ///
    /// # Errors
    /// Names the field that is missing, said twice, or contradicted.
    pub(super) fn read(headers: &'a HeaderMap, client: Option<IpAddr>) -> Result<Self, InputError> {
        let [forwarded, original] = FAMILIES;
        let told = match (forwarded.read(headers)?, original.read(headers)?) {
            (Some(one), Some(other)) => agreeing(&forwarded, one, &original, other)?,
            (Some(told), None) | (None, Some(told)) => told,
            (None, None) => {
                let what = "is missing; a gateway tells the request by `X-Forwarded-Method` and \
                            `X-Forwarded-Uri`, or by `X-Original-Method` and `X-Original-URI`";
                return Err(InputError::new(forwarded.uri, what));
            }
        };
        let (path, query) = split(told.uri);
        let own = || headers.get(HOST).and_then(|host| host.to_str().ok());
        Ok(Self {
            method: told.method,
            path,
            query,
            host: told.host.or_else(own),
            headers,
            client,
            hidden: Vec::new(),
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Told<'a> {
    method: &'a str,
    uri: &'a str,
    host: Option<&'a str>,
}

impl Family {
    fn read<'a>(&self, headers: &'a HeaderMap) -> Result<Option<Told<'a>>, InputError> {
        let method = single(headers, self.method)?;
        let uri = single(headers, self.uri)?;
        let (method, uri) = match (method, uri) {
            (None, None) => return Ok(None),
            (Some(method), Some(uri)) => (method, uri),
            (None, Some(_)) => return Err(alone(self.method, self.uri)),
            (Some(_), None) => return Err(alone(self.uri, self.method)),
        };
        if http::Method::from_bytes(method.as_bytes()).is_err() {
            return Err(InputError::new(self.method, "is no method"));
        }
        if uri.is_empty() {
            return Err(InputError::new(self.uri, "is empty"));
        }
        let host = single(headers, self.host)?;
        Ok(Some(Told { method, uri, host }))
    }
}

/// What both families tell.
fn agreeing<'a>(
    first: &Family,
    one: Told<'a>,
    second: &Family,
    other: Told<'a>,
) -> Result<Told<'a>, InputError> {
    let contradicted = |field: &str, other: &str| {
        let what = format!("contradicts `{other}`; one of them is not the gateway's");
        Err(InputError::new(field, what))
    };
    if one.method != other.method {
        return contradicted(first.method, second.method);
    }
    if one.uri != other.uri {
        return contradicted(first.uri, second.uri);
    }
    // Either may be the client's own, even where the other family has none.
    if one.host != other.host {
        return contradicted(first.host, second.host);
    }
    Ok(one)
}

fn alone(missing: &str, there: &str) -> InputError {
    InputError::new(missing, format!("is missing beside `{there}`"))
}

fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, InputError> {
    let mut lines = headers.get_all(name).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err(InputError::new(
            name,
            "is there twice; one of them is not the gateway's",
        ));
    }
    let text = std::str::from_utf8(line.as_bytes());
    text.map(Some)
        .map_err(|_| InputError::new(name, "is no text in UTF-8"))
}

/// Path and query of a request target (RFC 9112, section 3.2), which may be absolute.
fn split(target: &str) -> (&str, Option<&str>) {
    let local = match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => rest
            .find(['/', '?'])
            .map_or("/", |at| rest.get(at..).unwrap_or("/")),
        _ => target,
    };
    match local.split_once('?') {
        Some(("", query)) => ("/", Some(query)),
        Some((path, query)) => (path, Some(query)),
        None => (local, None),
    }
}

impl Facts for Forwarded<'_> {
    fn client_ip(&self) -> Option<IpAddr> {
        self.client
    }

    fn method(&self) -> Option<&str> {
        Some(self.method)
    }

    fn host(&self) -> Option<&str> {
        self.host
    }

    fn path(&self) -> Option<&str> {
        Some(self.path)
    }

    fn query(&self) -> Option<&str> {
        self.query
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        if is_of_gateways(name) || self.hidden.contains(&name) {
            return;
        }
        if name == HOST.as_str() {
            if let Some(host) = self.host {
                each(host.as_bytes());
            }
            return;
        }
        let lines = self.headers.get_all(name).iter();
        lines.for_each(|line| each(line.as_bytes()));
    }
}

fn is_of_gateways(name: &str) -> bool {
    OF_GATEWAYS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn fields(list: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        list.iter().map(field).collect()
    }

    #[test]
    fn the_request_is_told_by_either_family() {
        assert!(OF_GATEWAYS.is_sorted());
        for (list, expected) in [
            (
                &[
                    ("x-forwarded-method", "POST"),
                    ("x-forwarded-uri", "/a/b?c=d"),
                    ("x-forwarded-host", "api.example"),
                    ("host", "127.0.0.1:7070"),
                ][..],
                ("POST", "/a/b", Some("c=d"), Some("api.example")),
            ),
            (
                &[
                    ("x-original-method", "GET"),
                    ("x-original-uri", "/"),
                    ("host", "h"),
                ],
                ("GET", "/", None, Some("h")),
            ),
            (
                &[
                    ("x-original-method", "GET"),
                    ("x-original-uri", "http://other/x?y"),
                ],
                ("GET", "/x", Some("y"), None),
            ),
            (
                &[
                    ("x-original-method", "GET"),
                    ("x-original-uri", "http://other?y"),
                ],
                ("GET", "/", Some("y"), None),
            ),
            // A host of the other family alone is the client's.
            (
                &[
                    ("x-original-method", "GET"),
                    ("x-original-uri", "/"),
                    ("host", "h"),
                    ("x-forwarded-host", "evil"),
                ],
                ("GET", "/", None, Some("h")),
            ),
        ] {
            let headers = fields(list);
            let told = Forwarded::read(&headers, None).unwrap();
            assert_eq!(
                (told.method, told.path, told.query, told.host),
                expected,
                "{list:?}"
            );
        }
    }

    #[test]
    fn what_is_missing_or_contradicted_is_named() {
        let whole = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/")];
        for (list, field) in [
            (&[][..], "x-forwarded-uri"),
            (&[("x-forwarded-uri", "/")], "x-forwarded-method"),
            (&[("x-original-method", "GET")], "x-original-uri"),
            (
                &[("x-forwarded-method", "GET"), ("x-forwarded-uri", "")],
                "x-forwarded-uri",
            ),
            (
                &[("x-forwarded-method", "G T"), ("x-forwarded-uri", "/")],
                "x-forwarded-method",
            ),
            (
                &[whole[0], whole[1], ("x-forwarded-uri", "/")],
                "x-forwarded-uri",
            ),
            (
                &[whole[0], whole[1], ("x-original-uri", "/")],
                "x-original-method",
            ),
            (
                &[
                    whole[0],
                    whole[1],
                    ("x-original-uri", "/b"),
                    ("x-original-method", "GET"),
                ],
                "x-forwarded-uri",
            ),
            (
                &[
                    whole[0],
                    whole[1],
                    ("x-original-uri", "/"),
                    ("x-original-method", "POST"),
                ],
                "x-forwarded-method",
            ),
            (
                &[
                    whole[0],
                    whole[1],
                    ("x-original-uri", "/"),
                    ("x-original-method", "GET"),
                    ("x-forwarded-host", "evil"),
                ],
                "x-forwarded-host",
            ),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in list {
                headers.append(*name, HeaderValue::from_static(value));
            }
            let error = Forwarded::read(&headers, None).unwrap_err();
            assert_eq!(error.field, field, "{list:?}: {error}");
        }
    }

    #[test]
    fn the_gateways_own_fields_are_no_facts() {
        let headers = fields(&[
            ("x-forwarded-method", "GET"),
            ("x-forwarded-uri", "/"),
            ("x-real-ip", "10.0.0.1"),
            ("x-api-key", "k"),
            ("x-forwarded-host", "api.example"),
            ("host", "inner"),
        ]);
        let told = Forwarded::read(&headers, None).unwrap();
        let of = |name: &str| {
            let mut lines = Vec::new();
            told.header(name, &mut |line| lines.push(line.to_vec()));
            lines
        };
        assert_eq!(of("x-api-key"), [b"k"]);
        assert_eq!(of("host"), [b"api.example"]);
        for name in OF_GATEWAYS {
            assert!(of(name).is_empty(), "{name}");
        }
    }
}
