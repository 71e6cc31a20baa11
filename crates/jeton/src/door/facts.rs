//! The facts of an HTTP request, borrowed from its head.

use std::net::IpAddr;

use http::HeaderValue;
use http::header::HOST;
use http::request::Parts;
use jeton_policy::{Facts, Policy};
use jeton_wire::client_ip::Client;

/// What the head of a request tells, with the client's address as its door found it.
///
/// ```
/// use jeton::door::HttpFacts;
/// use jeton::policy::Facts;
///
/// let request = http::Request::get("http://api.example/users?page=2").body(())?;
/// let (parts, ()) = request.into_parts();
/// let facts = HttpFacts::new(&parts, None);
/// assert_eq!((facts.host(), facts.path()), (Some("api.example"), Some("/users")));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HttpFacts<'a> {
    parts: &'a Parts,
    client: Option<IpAddr>,
}

impl<'a> HttpFacts<'a> {
    /// The facts of the request with this head, sent by `client` as `[client_ip]` has it.
    pub const fn new(parts: &'a Parts, client: Option<IpAddr>) -> Self {
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

/// Who sent the request with this head to a socket whose other end is `peer`, by the section
/// `[client_ip]` of `policy`.
///
/// ```
/// use jeton::door::client_of;
/// use jeton::policy::{NoReferences, Policy, Source};
///
/// let file = "client_ip = { header = 'x-forwarded-for', hops = 1 }";
/// let policy = Policy::load(&Source::new("jeton.toml", file), &NoReferences)?.policy;
/// let request = http::Request::get("/").header("x-forwarded-for", "6.6.6.6, 192.0.2.7");
/// let (head, ()) = request.body(())?.into_parts();
/// let client = client_of(&policy, &head, "10.0.0.1".parse().ok());
/// assert_eq!(client.address, "192.0.2.7".parse().ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_of(policy: &Policy, head: &Parts, peer: Option<IpAddr>) -> Client {
    let finder = &policy.settings().client_ip.finder;
    let lines = head.headers.get_all(finder.source.header()).iter();
    finder.find(peer, lines.map(HeaderValue::as_bytes))
}
