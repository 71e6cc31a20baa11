//! Answers that are not the upstream's, as a problem document (RFC 9457) or as a line of text.
//!
//! A [`Problem`] says what is wrong; [`Format`] is what the client can read; together they make a
//! body. Status line, `Retry-After` and `Cache-Control` are the door's, from the same values. A
//! `HEAD` has no body, but the length and type that `GET` would have had.

mod accept;
mod phrase;
mod render;

use std::borrow::Cow;

pub use accept::Format;

use crate::retry_after::retry_after_s;

/// What went wrong with a request, in the client's words.
///
/// ```
/// use jeton_wire::problem::{Format, Problem};
///
/// let problem = Problem::quota_exceeded(&["login"], Some(11_500_000));
/// assert_eq!((problem.status(), problem.retry_after_s()), (429, Some(12)));
/// assert_eq!(
///     problem.body(Format::Text),
///     "429 Too Many Requests. More was asked for than the limit allows. Try again in 12 seconds.\n",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem<'a> {
    kind: Kind,
    status: u16,
    detail: Cow<'a, str>,
    violated: &'a [&'a str],
    field: Option<Cow<'a, str>>,
    retry_after_s: Option<u64>,
}

/// The problem's type: one that the draft registers, or none beyond its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `about:blank`: the status says it all (RFC 9457 section 4.2.1).
    Status,
    /// draft-ietf-httpapi-ratelimit-headers-11, section 5.1.
    QuotaExceeded,
    /// The same, section 5.2.
    TemporaryReducedCapacity,
}

impl<'a> Problem<'a> {
    /// A problem that its status explains, with what it means here; for all that has no constructor
    /// of its own. `detail` is one or more whole sentences.
    #[must_use]
    pub fn new(status: u16, detail: impl Into<Cow<'a, str>>) -> Self {
        Self {
            kind: Kind::Status,
            status,
            detail: detail.into(),
            violated: &[],
            field: None,
            retry_after_s: None,
        }
    }

    /// 429: the rules named have no room now; `retry_after_us` is the wait until they would have.
    #[must_use]
    pub fn quota_exceeded(violated: &'a [&'a str], retry_after_us: Option<u64>) -> Self {
        Self {
            kind: Kind::QuotaExceeded,
            violated,
            retry_after_s: retry_after_us.map(retry_after_s),
            ..Self::new(429, "More was asked for than the limit allows.")
        }
    }

    /// 429: somebody who runs the service has blocked this client, for `retry_after_us` or until it
    /// is lifted. No quota has to do with it, so the problem has no type beyond its status.
    #[must_use]
    pub fn blocked(violated: &'a [&'a str], retry_after_us: Option<u64>) -> Self {
        Self {
            violated,
            retry_after_s: retry_after_us.map(retry_after_s),
            ..Self::new(429, "This client is blocked.")
        }
    }

    /// 429 without a wait: the request costs more than the rules named can ever hold.
    #[must_use]
    pub fn cost_impossible(violated: &'a [&'a str]) -> Self {
        Self {
            kind: Kind::QuotaExceeded,
            violated,
            ..Self::new(429, "This request costs more than the limit can ever hold.")
        }
    }

    /// 503: the service, or the store its limits live in, cannot take more for a while.
    #[must_use]
    pub fn reduced_capacity(violated: &'a [&'a str], retry_after_us: Option<u64>) -> Self {
        Self {
            kind: Kind::TemporaryReducedCapacity,
            violated,
            retry_after_s: retry_after_us.map(retry_after_s),
            ..Self::new(503, "The service has less capacity than usual.")
        }
    }

    /// 403: on a list, under a plan that denies, or without what a rule asks for. Waiting is no help.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::new(403, "This client may not do this.")
    }

    /// 400: not a request that can be answered.
    #[must_use]
    pub fn bad_request(detail: impl Into<Cow<'a, str>>) -> Self {
        Self::new(400, detail)
    }

    /// 400 for a member of a JSON body, named in `field`.
    #[must_use]
    pub fn invalid_field(field: impl Into<Cow<'a, str>>, detail: impl Into<Cow<'a, str>>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(400, detail)
        }
    }

    /// 400: lengths that contradict each other (RFC 9112 section 6.3).
    #[must_use]
    pub fn conflicting_length() -> Self {
        Self::new(
            400,
            "The request states its length in two ways that differ.",
        )
    }

    /// 411: a length is needed and missing.
    #[must_use]
    pub fn length_required() -> Self {
        Self::new(411, "The request must state its length.")
    }

    /// 413: a body of more than `limit_bytes`.
    #[must_use]
    pub fn content_too_large(limit_bytes: u64) -> Self {
        Self::new(413, format!("The body is longer than {limit_bytes} bytes."))
    }

    /// 501: a transfer coding that is not known here (RFC 9112 section 6.1).
    #[must_use]
    pub fn unknown_transfer_coding() -> Self {
        Self::new(501, "Only the transfer coding \"chunked\" is known here.")
    }

    /// 408: the request did not arrive in time.
    #[must_use]
    pub fn request_timeout() -> Self {
        Self::new(408, "The request did not arrive in time.")
    }

    /// 431: header fields beyond the bounds.
    #[must_use]
    pub fn header_too_large() -> Self {
        Self::new(431, "The header fields are too many or too long.")
    }

    /// 502: the upstream cannot be reached, or answered with something that is not HTTP.
    #[must_use]
    pub fn bad_gateway() -> Self {
        Self::new(502, "The service behind this proxy gave no valid answer.")
    }

    /// 504: the upstream took too long.
    #[must_use]
    pub fn gateway_timeout() -> Self {
        Self::new(504, "The service behind this proxy did not answer in time.")
    }

    /// The same problem with another explanation.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<Cow<'a, str>>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }

    /// The same problem, of this member of a JSON body.
    ///
    /// ```
    /// # use jeton_wire::problem::{Format, Problem};
    /// let problem = Problem::new(404, "It is over.").with_field("handle");
    /// assert!(problem.body(Format::Json).contains(r#""field":"handle""#));
    /// ```
    #[must_use]
    pub fn with_field(self, field: impl Into<Cow<'a, str>>) -> Self {
        Self {
            field: Some(field.into()),
            ..self
        }
    }

    /// The status to answer with.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The value of `Retry-After`, in seconds, where waiting helps.
    #[must_use]
    pub const fn retry_after_s(&self) -> Option<u64> {
        self.retry_after_s
    }
}
