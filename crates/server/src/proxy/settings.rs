//! What the proxy can be told, and its defaults.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderValue, Uri};

use super::listen::Address;

/// Everything the proxy needs to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where clients connect.
    pub listen: Address,
    /// Where admitted requests go.
    pub upstream: Upstream,
    /// Bounds in bytes and counts.
    pub limits: Limits,
    /// Bounds in time.
    pub timeouts: Timeouts,
    /// The pseudonym for a `Via` field in both directions (RFC 9110, section 7.6.3); default none.
    pub via: Option<HeaderValue>,
}

impl Settings {
    /// The defaults for these two ends.
    pub fn new(listen: Address, upstream: Upstream) -> Self {
        Self {
            listen,
            upstream,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            via: None,
        }
    }
}

/// Bounds in bytes and counts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Client connections served at once; more wait in the listen queue. Default 10 000.
    pub connections: usize,
    /// Bytes of a request's or response's head, else 431 or 502. Default 32 KiB; at least 1 KiB is
    /// always granted.
    pub head_bytes: usize,
    /// Fields in a head, else 431 or 502. Default 100.
    pub head_fields: usize,
    /// Bytes of a refused upload that are read and thrown away before the connection is cut.
    /// Default 64 MiB.
    pub drain_bytes: u64,
    /// Upstream connections kept open while unused. Default 512.
    pub idle_upstreams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            head_bytes: 32 << 10,
            head_fields: 100,
            drain_bytes: 64 << 20,
            idle_upstreams: 512,
        }
    }
}

/// Bounds in time.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From the first byte of a head (or the start of a connection) to its end, else 408.
    /// Default 10 s.
    pub head: Duration,
    /// Between two requests of a connection. Default 75 s.
    pub idle: Duration,
    /// A client that takes no byte of its answer for so long is cut off. Default 60 s.
    pub write: Duration,
    /// Reading a refused upload. Default 10 s.
    pub drain: Duration,
    /// Name lookup and connection to the upstream, else 504. Default 5 s.
    pub connect: Duration,
    /// From the last byte of the request that moved to the head of the response: else 504, or 408
    /// where the client stopped sending its body. Default 60 s.
    pub response: Duration,
    /// An unused upstream connection is closed after this. Default 30 s.
    pub upstream_idle: Duration,
    /// Requests in flight when the proxy is told to stop. Default 30 s.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            write: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            connect: Duration::from_secs(5),
            response: Duration::from_secs(60),
            upstream_idle: Duration::from_secs(30),
            shutdown: Duration::from_secs(30),
        }
    }
}

/// An `http://host[:port]` server.
///
/// ```
/// use jeton_server::proxy::Upstream;
///
/// let upstream: Upstream = "http://127.0.0.1:3000".parse()?;
/// assert_eq!(upstream.to_string(), "http://127.0.0.1:3000");
/// assert!("https://127.0.0.1".parse::<Upstream>().is_err());
/// # Ok::<(), jeton_server::proxy::UpstreamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Upstream {
    pub(super) target: Target,
    /// `Host` for a client that sent none (HTTP/1.0).
    pub(super) authority: HeaderValue,
}

#[derive(Clone, Debug)]
pub(super) enum Target {
    Address(SocketAddr),
    Name(Box<str>, u16),
}

/// Why a URL cannot be an upstream; says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamError {
    url: String,
    what: &'static str,
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, what } = self;
        write!(
            f,
            "upstream \"{url}\" {what}; write it like http://127.0.0.1:3000"
        )
    }
}

impl std::error::Error for UpstreamError {}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(url: &str) -> Result<Self, UpstreamError> {
        let refuse = |what| UpstreamError {
            url: without_user_info(url),
            what,
        };
        let uri: Uri = url.parse().map_err(|_| refuse("is not a URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(refuse("uses https, and only http is served yet")),
            Some(_) => return Err(refuse("has a scheme that is not http")),
            None => return Err(refuse("has no scheme")),
        }
        let authority = uri.authority().ok_or_else(|| refuse("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("carries a user name, which would never be sent"));
        }
        if uri.path() != "/" || uri.query().is_some() || url.contains('#') {
            return Err(refuse("has a path, and requests keep their own"));
        }
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => Some(80),
            Some(port) => port.strip_prefix(':').and_then(|port| port.parse().ok()),
            None => None,
        };
        let port = port
            .filter(|&port| port != 0)
            .ok_or_else(|| refuse("has no port from 1 to 65535 behind its colon"))?;
        let host = authority.host().trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(refuse("has no host"));
        }
        let target = match host.parse::<IpAddr>() {
            Ok(ip) => Target::Address(SocketAddr::new(ip, port)),
            Err(_) => Target::Name(host.into(), port),
        };
        let authority = HeaderValue::from_str(authority.as_str())
            .map_err(|_| refuse("has a host that is not printable ASCII"))?;
        Ok(Self { target, authority })
    }
}

/// A refused URL is shown, but never a password in it.
fn without_user_info(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}***{}", &url[..scheme + 3], &url[at..])
        }
        _ => url.to_owned(),
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority.to_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_with_and_without_a_port() {
        for (url, port) in [
            ("http://127.0.0.1:3000", 3000),
            ("http://[::1]:3000/", 3000),
            ("http://backend", 80),
            ("http://10.0.0.1", 80),
        ] {
            let upstream: Upstream = url.parse().unwrap();
            let found = match upstream.target {
                Target::Address(address) => address.port(),
                Target::Name(_, port) => port,
            };
            assert_eq!(found, port, "{url}");
        }
    }

    #[test]
    fn what_could_not_be_served_is_refused_with_its_reason() {
        for (url, reason) in [
            ("https://127.0.0.1", "https"),
            ("127.0.0.1:3000", "scheme"),
            ("ftp://a", "scheme"),
            ("http://a/base", "path"),
            ("http://a/?q", "path"),
            ("http://a#x", "path"),
            ("http://a:0", "port"),
            ("http://a:", "port"),
            ("http://a:99999", "port"),
            ("http://user:secret@a", "user name"),
            ("", "URL"),
        ] {
            let error = url.parse::<Upstream>().expect_err(url).to_string();
            assert!(error.contains(reason), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
