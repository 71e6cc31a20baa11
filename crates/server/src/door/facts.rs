//! The facts of an HTTP request, borrowed from its head.

use std::net::IpAddr;

use http::header::HOST;
use http::request::Parts;
use jeton::policy::Facts;

/// What the head of a request tells.
pub(super) struct HttpFacts<'a> {
    parts: &'a Parts,
    client: Option<IpAddr>,
}

impl<'a> HttpFacts<'a> {
    pub(super) const fn new(parts: &'a Parts, client: Option<IpAddr>) -> Self {
        Self { parts, client }
    }
}

impl Facts for HttpFacts<'_> {
    fn client_ip(&self) -> Option<IpAddr> {
        self.client
    }

    fn method(&self) -> Option<&str> {
        Some(self.parts.method.as_str())
    }

    /// A host in the request's target is the one that counts (RFC 9112, section 3.2.2).
    fn host(&self) -> Option<&str> {
        let target = self.parts.uri.authority().map(http::uri::Authority::as_str);
        target.or_else(|| self.parts.headers.get(HOST)?.to_str().ok())
    }

    fn path(&self) -> Option<&str> {
        Some(self.parts.uri.path())
    }

    fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        self.parts
            .headers
            .get_all(name)
            .iter()
            .for_each(|line| each(line.as_bytes()));
    }
}
