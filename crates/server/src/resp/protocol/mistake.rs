//! What breaks the protocol. After it, nobody knows where the next command begins.

use std::fmt;

use super::{MAX_ARGUMENTS, MAX_COMMAND};

/// What breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mistake {
    /// A command that is longer than [`MAX_COMMAND`], or claims to be.
    TooLong,
    /// More arguments than [`MAX_ARGUMENTS`].
    TooMany,
    /// A length that is no number.
    Length,
    /// An argument that is no bulk string, but begins with this byte.
    NoBulk(u8),
    /// A bulk string that does not end where it said.
    NoEnd,
    /// Quotes in an inline command that are not closed, or hold more than plain text.
    Quotes,
    /// The head of an HTTP request: somebody's browser was made to send it here.
    Http,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            Self::TooLong => write!(
                f,
                "invalid bulk length, a command has at most {MAX_COMMAND} bytes"
            ),
            Self::TooMany => write!(
                f,
                "invalid multibulk length, a command has at most {MAX_ARGUMENTS} arguments"
            ),
            Self::Length => f.write_str("a length is a whole number and CR LF"),
            Self::NoBulk(byte) => write!(f, "expected '$', got '{}'", byte.escape_ascii()),
            Self::NoEnd => f.write_str("a bulk string ends with CR LF"),
            Self::Quotes => f.write_str(
                "unbalanced quotes in request, or an escape in them: send an array of bulk strings",
            ),
            Self::Http => f.write_str("this is no HTTP server; the decision API is [api]"),
        }
    }
}

impl std::error::Error for Mistake {}
