//! The PROXY protocol, versions 1 and 2: the addresses of a connection that a load balancer passes
//! on, sent before its first byte (`doc/proxy-protocol.txt` of `HAProxy`, text of April 2026).
//!
//! Nothing here guesses: a listener is told to expect the header, accepts it from trusted peers
//! only, and closes what does not begin with one. [`parse`] is asked again as bytes arrive:
//!
//! - `Ok(None)`: so far it may become a header; read on, for at least 3 s in all.
//! - `Ok(Some(header))`: the first [`Header::len`] bytes were the header, the rest is the stream.
//! - `Err(error)`: it can never become one, whatever follows.

mod v1;
mod v2;

use std::{error::Error, fmt, net::SocketAddr};

/// The longest header read, in bytes: what a buffer must hold. The addresses alone take 232; the
/// rest is for what some senders add, such as certificates.
pub const MAX_LEN: usize = 16 * 1024;

/// A whole header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Its length in bytes, additions included.
    pub len: usize,
    /// The connection it speaks for.
    pub origin: Origin,
}

/// Whose connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The sender's own (a health check), or of a kind it does not know: the socket's addresses
    /// count.
    Socket,
    /// A client's.
    Client {
        /// Where the client connects from.
        source: SocketAddr,
        /// Where it connected to.
        destination: SocketAddr,
    },
    /// A client's, that connected by a Unix socket: it has no address.
    Unix,
}

/// Why something is not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// It begins neither with `PROXY ` nor with the signature of version 2.
    Missing,
    /// No line of version 1, or one of more than 107 bytes.
    Line,
    /// Its version is neither 1 nor 2.
    Version,
    /// Its command is neither LOCAL nor PROXY.
    Command,
    /// Its family or protocol is none of those that are defined.
    Family,
    /// Its length does not hold its addresses.
    Length,
    /// It is longer than [`MAX_LEN`].
    TooLong,
    /// Its additions (TLVs) do not end where it does.
    Additions,
    /// Its checksum (CRC-32C) is wrong.
    Checksum,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the connection does not begin with a PROXY header",
            Self::Line => "the PROXY header is not a line of version 1",
            Self::Version => "the PROXY header has an unknown version",
            Self::Command => "the PROXY header has an unknown command",
            Self::Family => "the PROXY header has an unknown address family or protocol",
            Self::Length => "the PROXY header is too short for its addresses",
            Self::TooLong => "the PROXY header is longer than 16 KiB",
            Self::Additions => "the PROXY header has additions that are cut off",
            Self::Checksum => "the PROXY header does not match its checksum",
        })
    }
}

impl Error for HeaderError {}

/// Reads a header from the first bytes of a connection.
///
/// # Errors
///
/// [`HeaderError`] as soon as the bytes cannot become a header.
///
/// ```
/// use jeton_wire::proxy_protocol::{Origin, parse};
///
/// let bytes = b"PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\nGET / HTTP/1.1\r\n";
/// assert_eq!(parse(&bytes[..20]), Ok(None));
/// let header = parse(bytes).unwrap().unwrap();
/// assert_eq!(header.len, 44);
/// let Origin::Client { source, .. } = header.origin else { panic!() };
/// assert_eq!(source.to_string(), "203.0.113.9:56324");
/// assert!(parse(b"GET / HTTP/1.1\r\n").is_err());
/// ```
pub fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
    match bytes.first() {
        None => Ok(None),
        Some(b'P') => v1::parse(bytes),
        Some(b'\r') => v2::parse(bytes),
        Some(_) => Err(HeaderError::Missing),
    }
}

/// Whether `bytes` is all of `prefix`, the beginning of it, or neither.
fn begins(bytes: &[u8], prefix: &[u8]) -> Result<bool, HeaderError> {
    let seen = bytes.len().min(prefix.len());
    if bytes.get(..seen) == prefix.get(..seen) {
        Ok(bytes.len() >= prefix.len())
    } else {
        Err(HeaderError::Missing)
    }
}
