//! The CORS fields of an answer that is not the upstream's (Fetch standard, section 3.3).
//!
//! Without them a script in a browser sees neither the status of a denial nor when to come back:
//! for it, a 429 is a network failure.

use std::{error::Error, fmt};

use crate::ratelimit::Dialects;

/// Which scripts may read our own answers: the setting `cors` of `[answer]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    origins: Origins,
    credentials: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Origins {
    Any,
    Listed(Box<[Box<str>]>),
}

impl Cors {
    /// Answers for scripts of these origins (`https://app.example`), or of any (`*` alone); with
    /// `credentials`, also to requests with cookies or the like.
    ///
    /// # Errors
    ///
    /// [`CorsError`] for what no browser would send as an origin, for none at all, and for `*`
    /// beside others or with credentials.
    pub fn new<T: AsRef<str>>(origins: &[T], credentials: bool) -> Result<Self, CorsError> {
        let listed = origins.iter().map(AsRef::as_ref);
        let origins = match origins {
            [] => return Err(CorsError::Empty),
            [any] if any.as_ref() == "*" && credentials => {
                return Err(CorsError::AnyWithCredentials);
            }
            [any] if any.as_ref() == "*" => Origins::Any,
            _ => Origins::Listed(listed.map(checked).collect::<Result<_, _>>()?),
        };
        Ok(Self {
            origins,
            credentials,
        })
    }

    /// Hands `each` the name (lower case) and value of the fields to add to an answer of ours;
    /// `vary` is to be added to what is there. `origin` gives the lines of the request's `Origin`.
    ///
    /// `scratch` is overwritten.
    ///
    /// ```
    /// use jeton_wire::{cors::Cors, ratelimit::Dialects};
    ///
    /// let cors = Cors::new(&["https://app.example"], false).unwrap();
    /// let origin = [b"https://app.example".as_slice()];
    /// let mut fields = Vec::new();
    /// cors.write_fields(origin, Dialects::default(), &mut String::new(), |name, value| {
    ///     fields.push(format!("{name}: {value}"));
    /// });
    /// assert_eq!(fields, [
    ///     "access-control-allow-origin: https://app.example",
    ///     "access-control-expose-headers: retry-after, ratelimit-policy, ratelimit",
    ///     "vary: Origin",
    /// ]);
    /// ```
    pub fn write_fields<'a>(
        &self,
        origin: impl IntoIterator<Item = &'a [u8]>,
        dialects: Dialects,
        scratch: &mut String,
        mut each: impl FnMut(&'static str, &str),
    ) {
        if let Some(allowed) = self.allowed(origin) {
            each("access-control-allow-origin", allowed);
            if self.credentials {
                each("access-control-allow-credentials", "true");
            }
            scratch.clear();
            scratch.push_str("retry-after");
            for name in dialects.field_names() {
                scratch.push_str(", ");
                scratch.push_str(name);
            }
            each("access-control-expose-headers", scratch);
        }
        if matches!(self.origins, Origins::Listed(_)) {
            // Also where the origin is not allowed: a cache must not show that answer to others.
            each("vary", "Origin");
        }
    }

    fn allowed<'a>(&self, origin: impl IntoIterator<Item = &'a [u8]>) -> Option<&str> {
        let Origins::Listed(listed) = &self.origins else {
            return Some("*");
        };
        let mut lines = origin.into_iter();
        let (Some(origin), None) = (lines.next(), lines.next()) else {
            return None;
        };
        let known = listed.iter().find(|known| known.as_bytes() == origin);
        known.map(AsRef::as_ref)
    }
}

/// An origin as browsers serialise it: a scheme, a host, a port unless it is the scheme's own, in
/// lower case.
fn checked(origin: &str) -> Result<Box<str>, CorsError> {
    match origin {
        "*" => return Err(CorsError::AnyAmongOthers),
        _ if !origin.is_ascii() => return Err(CorsError::NotAnOrigin(origin.to_owned(), None)),
        _ => {}
    }
    match serialised(origin) {
        Some(good) if good == origin => Ok(good.into()),
        instead => Err(CorsError::NotAnOrigin(origin.to_owned(), instead)),
    }
}

/// What a browser would send for a page of this address.
fn serialised(address: &str) -> Option<String> {
    let lower = address.to_ascii_lowercase();
    let (scheme, rest) = lower.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"@,\"\\*".contains(&byte);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_authority = !authority.is_empty() && !authority.starts_with(':');
    (is_scheme && is_authority && authority.bytes().all(fits))
        .then(|| format!("{scheme}://{authority}"))
}

/// Why a setting of origins cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CorsError {
    /// No origin at all.
    Empty,
    /// `*` beside other origins, which it includes.
    AnyAmongOthers,
    /// `*` with credentials: browsers refuse it, and any site could act as its visitors.
    AnyWithCredentials,
    /// Not how a browser writes an origin; and how it would write it, if that can be told.
    NotAnOrigin(String, Option<String>),
}

impl fmt::Display for CorsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no origin may read the answers; list some, or use \"*\""),
            Self::AnyAmongOthers => {
                f.write_str("\"*\" includes all other origins; keep only it, or leave it out")
            }
            Self::AnyWithCredentials => f.write_str(
                "\"*\" cannot be combined with credentials; list the origins that may send them",
            ),
            Self::NotAnOrigin(origin, None) => write!(
                f,
                "{origin:?} is not an origin; use one such as \"https://app.example\""
            ),
            Self::NotAnOrigin(origin, Some(instead)) => {
                write!(f, "no browser sends the origin {origin:?}; use {instead:?}")
            }
        }
    }
}

impl Error for CorsError {}
