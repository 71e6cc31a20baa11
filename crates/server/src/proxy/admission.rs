//! The seam between the proxy and whatever decides: one question per request.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, response};
use http_body_util::Full;
use jeton::door::LimitFields;

use super::fields;

/// Decides about requests. Asked once for each request that is well-formed, before anything of it
/// reaches the upstream.
pub trait Admission: Send + Sync + 'static {
    /// May this request pass?
    ///
    /// Hop-by-hop fields and every `x-jeton-…` field are already gone; `X-Forwarded-…` still
    /// stands as the peer sent it. Fields removed from `request` do not reach the upstream.
    fn admit(&self, request: &mut http::request::Parts, peer: Peer) -> Admitting;

    /// Whether decisions rest on a field that a proxy in front writes, so that no client may have
    /// it taken away by naming it in `Connection`.
    fn relies_on(&self, name: &HeaderName) -> bool {
        let _ = name;
        false
    }
}

/// The answer of [`Admission::admit`]: at once where no store has to be waited for, so that the
/// common path allocates nothing.
#[allow(clippy::large_enum_variant)] // a box would cost an allocation on the path that is taken
pub enum Admitting {
    /// Decided.
    Now(Admitted),
    /// Decided when this completes. Dropped if the client goes away first.
    Later(Pin<Box<dyn Future<Output = Admitted> + Send>>),
}

impl fmt::Debug for Admitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(admitted) => f.debug_tuple("Now").field(admitted).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
        }
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub enum Admitted {
    /// It goes to the upstream.
    Pass(Pass),
    /// It is answered here, and the upstream never sees it.
    Answer(Response<Full<Bytes>>),
}

/// How a request passes.
#[derive(Default)]
pub struct Pass {
    /// Whether the peer is a proxy whose `X-Forwarded-Proto` and `X-Forwarded-Host` are kept;
    /// those of anybody else are replaced.
    pub is_from_trusted: bool,
    /// Appended to the request. Seldom any.
    pub request_fields: Fields,
    /// Appended to the response, after whatever the upstream set itself, and to the proxy's own
    /// answer if the upstream fails.
    pub response_fields: Fields,
    /// Brought into the same heads as [`LimitFields::merge_into`] says: limits that the upstream
    /// tells of itself stay.
    pub limits: LimitFields,
    /// Whether the upstream is asked for trailers, whatever the client understands.
    pub wants_trailers: bool,
    /// Kept until the response body has ended or the client is gone.
    pub hold: Option<Box<dyn Hold>>,
}

impl Pass {
    /// Adds what it brings to the head of the upstream's response, and leaves what is kept while
    /// its body lasts.
    pub(super) fn into_head(mut self, response: &mut response::Parts) -> Option<Box<dyn Hold>> {
        if let Some(limits) = self.hold.as_mut().and_then(|hold| hold.answered(response)) {
            self.limits = limits;
        }
        fields::clean_response(&mut response.headers);
        append(self.response_fields, &mut response.headers);
        self.limits.merge_into(&mut response.headers);
        self.hold
    }

    /// Adds what it brings to an answer of the proxy's own. The upstream gave none, so what was
    /// kept goes unanswered.
    pub(super) fn into_own(self, response: &mut response::Parts) {
        append(self.response_fields, &mut response.headers);
        self.limits.merge_into(&mut response.headers);
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass")
            .field("request_fields", &self.request_fields)
            .field("response_fields", &self.response_fields)
            .field("limits", &self.limits)
            .field("hold", &self.hold.is_some())
            .finish_non_exhaustive()
    }
}

/// Something taken for the duration of a request. Dropped where the client or the upstream breaks
/// off; what that means is its own affair.
pub trait Hold: Send + 'static {
    /// The upstream has answered with this head, as it came. Gives the limits to tell if they are
    /// other ones now. The proxy's own answers are none of the upstream's.
    fn answered(&mut self, response: &response::Parts) -> Option<LimitFields> {
        let _ = response;
        None
    }

    /// The upstream's response has come to its end, with these trailers.
    fn ended(self: Box<Self>, trailers: &HeaderMap) {
        let _ = trailers;
    }
}

/// Fields of a head, which may have others of the same names.
pub type Fields = Vec<(HeaderName, HeaderValue)>;

pub(super) fn append(fields: Fields, headers: &mut HeaderMap) {
    for (name, value) in fields {
        headers.append(name, value);
    }
}

/// The other end of the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    address: Option<SocketAddr>,
}

impl Peer {
    pub(super) fn tcp(address: SocketAddr) -> Self {
        let canonical = SocketAddr::new(address.ip().to_canonical(), address.port());
        Self {
            address: Some(canonical),
        }
    }

    pub(super) const fn unix() -> Self {
        Self { address: None }
    }

    /// Address and port; none behind a Unix socket. An IPv4 client of a dual-stack listener has
    /// its IPv4 address here.
    pub fn address(self) -> Option<SocketAddr> {
        self.address
    }

    /// The address alone; none behind a Unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        self.address.map(|address| address.ip())
    }
}
