//! A limiter whose key a closure reads from the request.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use http::request::Parts;
use jeton_core::Decision;
use jeton_policy::Missing;
use jeton_wire::ratelimit::{Dialects, MAX_NAME_LEN, is_policy_name};

use super::RateLimitLayer;
use super::decider::{Decider, Pass, Ruling};
use crate::Limiter;
use crate::door::{Refusal, Told, limit_fields};

/// One limiter, one key per request: what [`RateLimitLayer::by`] makes, with more to say.
///
/// ```
/// use jeton::policy::Missing;
/// use jeton::{Limiter, layer::ByKey};
///
/// let limiter = Limiter::bucket("5/s", 20)?;
/// let layer = ByKey::new(limiter, |head| head.headers.get("x-api-key").cloned())
///     .named("api")?            // RateLimit-Policy: "api";q=20;w=4
///     .missing(Missing::Deny)   // no key: 403
///     .layer();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ByKey {
    limiter: Limiter,
    take: Take,
    name: Arc<str>,
    dialects: Dialects,
    missing: Missing,
}

/// Charges the key of a request; none if it has none. The type of the key ends here.
type Take = Box<dyn Fn(&Limiter, &Parts) -> Option<Decision> + Send + Sync>;

impl ByKey {
    /// `limiter`, by what `key` reads from the head of a request.
    ///
    /// The counter of `Some(key)` is the one that `limiter.take(&key)` charges, so it can be
    /// looked at and reset from outside.
    pub fn new<K: Hash>(
        limiter: Limiter,
        key: impl Fn(&Parts) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        Self {
            limiter,
            take: Box::new(move |limiter, head| Some(limiter.take(&key(head)?))),
            name: Arc::from("default"),
            dialects: Dialects::default(),
            missing: Missing::default(),
        }
    }

    /// The name by which clients are told of the limit. Without it, `default`.
    ///
    /// # Errors
    /// [`NameError`] if the fields cannot carry it.
    pub fn named(mut self, name: &str) -> Result<Self, NameError> {
        if !is_policy_name(name) {
            return Err(NameError(name.to_owned()));
        }
        self.name = Arc::from(name);
        Ok(self)
    }

    /// The fields that tell clients of the limit. Without it, those of the current IETF draft.
    pub fn headers(mut self, dialects: impl Into<Dialects>) -> Self {
        self.dialects = dialects.into();
        self
    }

    /// What becomes of requests that have no key. Without it they share one counter.
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// The layer.
    pub fn layer(self) -> RateLimitLayer {
        RateLimitLayer::of(Decider::Keyed(self))
    }

    /// Decides about the request with this head, and hands the ruling to `then`.
    pub(super) fn ask<T>(&self, head: &Parts, then: impl FnOnce(Ruling<'_>, &Parts) -> T) -> T {
        let decision = match ((self.take)(&self.limiter, head), self.missing) {
            (Some(decision), _) => decision,
            (None, Missing::Share) => self.limiter.take(&NoKey),
            (None, Missing::Skip) => return then(Ruling::Pass(Pass::default()), head),
            (None, Missing::Deny) => return then(Ruling::Refuse(Refusal::forbidden()), head),
        };
        let told = Told {
            name: &self.name,
            quota: self.limiter.quota(),
            decision: &decision,
        };
        let ruling = match Refusal::of(&told, self.dialects) {
            Some(refusal) => Ruling::Refuse(refusal),
            None => Ruling::Pass(Pass::Fields(limit_fields(self.dialects, &[told]))),
        };
        then(ruling, head)
    }
}

impl fmt::Debug for ByKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByKey")
            .field("limiter", &self.limiter)
            .field("name", &self.name)
            .field("missing", &self.missing)
            .finish_non_exhaustive()
    }
}

/// The key of all that have none. No text hashes to this: texts end with a byte that no text holds.
struct NoKey;

impl Hash for NoKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(b"jeton: requests without a key");
    }
}

/// A name that the limit fields cannot carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError(String);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} cannot name a limit; use 1 to {MAX_NAME_LEN} printable ASCII characters \
             without '\"' and '\\'",
            self.0
        )
    }
}

impl std::error::Error for NameError {}
