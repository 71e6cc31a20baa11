//! A request that may not pass, in the words of HTTP.

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ORIGIN, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use jeton_core::{Fit, Span};
use jeton_wire::cors::Cors;
use jeton_wire::problem::{Format, Problem};
use jeton_wire::ratelimit::Dialects;
use smallvec::SmallVec;

use super::fields::{LimitFields, Told, limit_fields};
use crate::{Answered, Disposition};

/// Why a request may not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grounds {
    /// There is no room now. Waiting this long suffices if nobody else competes.
    Denied {
        /// `None` if no wait is known.
        retry_after: Option<Span>,
    },
    /// An operator has blocked this client.
    Blocked {
        /// When that ends by itself.
        retry_after: Option<Span>,
    },
    /// The request costs more than a limit can ever hold.
    Impossible,
    /// On a list, under a word that denies, or without what a rule asks for: waiting is no help.
    Forbidden,
    /// The field that tells what the request costs says no number.
    BadCost,
    /// More rules apply than can be decided together, and none may be left out.
    TooManyRules,
    /// A rule limits what is in flight, and this door does not see when requests are over.
    NeedsHold,
    /// The store gave no decision, and a rule that applies says `on_failure = "deny"`.
    NoStore,
}

/// When to ask again for a decision that the store did not give.
const STORE_MAY_BE_BACK: Span = Span::SECOND;

/// The answer to a request that may not pass: made from an [`Answered`] by [`Answered::refusal`].
///
/// ```
/// use jeton::door::{Refusal, Told};
/// use jeton::wire::{problem::Format, ratelimit::Dialects};
/// use jeton::Limiter;
///
/// let limiter = Limiter::bucket("5/s", 1)?;
/// limiter.take("alice");
/// let decision = limiter.take("alice");
/// let told = Told { name: "api", quota: limiter.quota(), decision: &decision };
/// let refusal = Refusal::of(&told, Dialects::default()).expect("one unit was all there was");
/// let response = refusal.response(Format::Text);
/// assert_eq!(response.status(), 429);
/// assert_eq!(response.headers()["retry-after"], "1");
/// # Ok::<(), jeton::LimiterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Refusal<'a> {
    grounds: Grounds,
    violated: SmallVec<[&'a str; 3]>,
    limit_fields: LimitFields,
    cors: Option<(&'a Cors, Dialects)>,
    cors_fields: Vec<(HeaderName, HeaderValue)>,
}

impl Answered {
    /// The refusal of a request that may not pass; none for one that may.
    pub fn refusal(&self) -> Option<Refusal<'_>> {
        if self.allowed() {
            return None;
        }
        let grounds = match self.disposition() {
            Disposition::Blocked | Disposition::Refused { .. } => Grounds::Forbidden,
            Disposition::BlockedUntil { .. } => Grounds::Blocked {
                retry_after: self.retry_after(),
            },
            Disposition::TooManyRules => Grounds::TooManyRules,
            Disposition::BadCost { .. } => Grounds::BadCost,
            Disposition::NeedsHold { .. } => Grounds::NeedsHold,
            Disposition::Degraded { .. } => Grounds::NoStore,
            _ if self.impossible() => Grounds::Impossible,
            _ => {
                let retry_after = self.retry_after();
                Grounds::Denied { retry_after }
            }
        };
        let answer = &self.policy().settings().answer;
        let cors = answer.cors.as_ref();
        Some(Refusal {
            grounds,
            violated: self.violated().collect(),
            limit_fields: self.limit_fields(),
            cors: cors.map(|cors| (cors.get(), answer.headers)),
            cors_fields: Vec::new(),
        })
    }
}

impl<'a> Refusal<'a> {
    /// The refusal that one counter decided, if it did refuse.
    pub fn of(told: &Told<'a>, dialects: Dialects) -> Option<Self> {
        let grounds = match told.decision.fit {
            fit if fit.passes() => return None,
            Fit::Impossible => Grounds::Impossible,
            fit => {
                let retry_after = fit.retry_after();
                Grounds::Denied { retry_after }
            }
        };
        Some(Self {
            grounds,
            violated: SmallVec::from_slice(&[told.name]),
            limit_fields: limit_fields(dialects, std::slice::from_ref(told)),
            cors: None,
            cors_fields: Vec::new(),
        })
    }

    /// The refusal of a client for whom waiting is no help: 403.
    pub fn forbidden() -> Self {
        Self {
            grounds: Grounds::Forbidden,
            violated: SmallVec::new(),
            limit_fields: LimitFields::default(),
            cors: None,
            cors_fields: Vec::new(),
        }
    }

    /// Lets a script of this `Origin` read the refusal, if `[answer] cors` does. Without those
    /// fields it sees neither the status nor when to come back.
    pub fn readable_by(mut self, origin: Option<&HeaderValue>) -> Self {
        if let Some((cors, dialects)) = self.cors {
            let origin = origin.map(HeaderValue::as_bytes);
            let fields = &mut self.cors_fields;
            fields.clear();
            cors.write_fields(origin, dialects, &mut String::new(), |name, value| {
                // Names and values are printable ASCII by construction.
                if let Ok(value) = HeaderValue::from_str(value) {
                    fields.push((HeaderName::from_static(name), value));
                }
            });
        }
        self
    }

    /// Why.
    pub const fn grounds(&self) -> Grounds {
        self.grounds
    }

    /// The rules whose vote denied.
    pub fn violated(&self) -> &[&'a str] {
        &self.violated
    }

    /// The limit fields alone.
    pub const fn limit_fields(&self) -> &LimitFields {
        &self.limit_fields
    }

    /// Adds the fields that a refusal carries, whatever its body: `Retry-After` where waiting
    /// helps, the limit fields, those of CORS, `Cache-Control: no-store`.
    pub fn write_fields(self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.problem().retry_after_s() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers.extend(self.limit_fields);
        for (name, value) in self.cors_fields {
            headers.append(name, value);
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }

    /// The whole answer, with a body in `format`.
    pub fn response(self, format: Format) -> Response<String> {
        let problem = self.problem();
        let mut response = Response::new(problem.body(format));
        // Every problem has a status of RFC 9110 or 6585.
        *response.status_mut() = StatusCode::from_u16(problem.status()).unwrap_or_default();
        let content_type = HeaderValue::from_static(format.content_type());
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        self.write_fields(response.headers_mut());
        response
    }

    /// When to ask again, if that helps.
    pub const fn retry_after(&self) -> Option<Span> {
        match self.grounds {
            Grounds::Denied { retry_after } | Grounds::Blocked { retry_after } => retry_after,
            Grounds::NoStore => Some(STORE_MAY_BE_BACK),
            _ => None,
        }
    }

    fn problem(&self) -> Problem<'_> {
        match self.grounds {
            Grounds::BadCost => {
                let detail = "The field that tells what this request costs says no whole number.";
                Problem::new(400, detail)
            }
            Grounds::NeedsHold => {
                let detail = "A limit of what is in flight cannot be kept where this was asked.";
                Problem::new(503, detail)
            }
            Grounds::NoStore => {
                let wait = STORE_MAY_BE_BACK.as_micros();
                Problem::reduced_capacity(&[], Some(wait))
            }
            Grounds::Forbidden => Problem::forbidden(),
            Grounds::TooManyRules => {
                let detail = "More rules apply to this request than can be decided together.";
                Problem::new(503, detail)
            }
            Grounds::Blocked { retry_after } => {
                Problem::blocked(&self.violated, retry_after.map(Span::as_micros))
            }
            Grounds::Impossible => Problem::cost_impossible(&self.violated),
            Grounds::Denied { retry_after } => {
                Problem::quota_exceeded(&self.violated, retry_after.map(Span::as_micros))
            }
        }
    }
}

/// How the sender of the request with this head wants to be told, by its `Accept`.
pub fn format_of(request: &Parts) -> Format {
    let lines = request.headers.get_all(ACCEPT).iter();
    Format::from_accept(lines.map(HeaderValue::as_bytes))
}

/// The origin of the script that sent the request with this head; none if it names several.
pub fn origin_of(request: &Parts) -> Option<&HeaderValue> {
    let mut lines = request.headers.get_all(ORIGIN).iter();
    let origin = lines.next();
    origin.filter(|_| lines.next().is_none())
}
