//! Which header field names the client.

use std::{error::Error, fmt, str::FromStr};

const X_FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";

/// Which header names the client: the setting `header` of `[client_ip]`.
///
/// ```
/// use jeton_wire::client_ip::Source;
///
/// assert_eq!("X-Forwarded-For".parse(), Ok(Source::XForwardedFor));
/// let source: Source = "CF-Connecting-IP".parse().unwrap();
/// assert_eq!(source.header(), "cf-connecting-ip");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Source {
    /// None: the address of the socket counts.
    #[default]
    None,
    /// `X-Forwarded-For`: a list that every proxy appends to.
    XForwardedFor,
    /// `Forwarded` (RFC 7239): the same, with names and quotes.
    Forwarded,
    /// Any other field: one address, which the proxy in front sets anew for each request.
    Field(FieldName),
}

impl Source {
    /// The name, in lower case, of the field whose lines are to be handed to
    /// [`ClientIp::find`](super::ClientIp::find). With none in use it is `x-forwarded-for`, since
    /// that one being sent is worth a warning.
    #[must_use]
    pub fn header(&self) -> &str {
        match self {
            Self::None | Self::XForwardedFor => X_FORWARDED_FOR,
            Self::Forwarded => FORWARDED,
            Self::Field(name) => name.as_str(),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    /// Reads `none` or the name of a field, in any case.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the text cannot be the name of a field.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase();
        match name.as_str() {
            "none" => Ok(Self::None),
            X_FORWARDED_FOR => Ok(Self::XForwardedFor),
            FORWARDED => Ok(Self::Forwarded),
            token if is_token(token.as_bytes()) => Ok(Self::Field(FieldName(name.into()))),
            _ => Err(SourceError(text.to_owned())),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            other => other.header(),
        })
    }
}

/// The name of a header field that is no list, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldName(Box<str>);

impl FieldName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that cannot be the name of a header field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError(String);

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not the name of a header field; use \"x-forwarded-for\", \"forwarded\", or \
             the field your proxy sets, such as \"cf-connecting-ip\"",
            self.0
        )
    }
}

impl Error for SourceError {}

/// A `token` of RFC 9110 section 5.6.2.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(fits)
}
