//! The fields that tell a client its quota, in every dialect in use: by default those of
//! draft-ietf-httpapi-ratelimit-headers-11, `RateLimit-Policy` (what the rules are) and `RateLimit`
//! (what is left of them).
//!
//! A rule becomes a [`PolicyItem`]; a decision under it becomes a [`LimitItem`]; a [`Dialect`]
//! writes both. Several rules stand in one list, in the order given, so that no rule's numbers
//! overwrite another's. Dialects of single numbers tell the first rule only, once.

mod dialect;
mod dialects;
mod list;
mod measure;
mod number;

pub use dialect::{Dialect, DialectError, Report};
pub use dialects::{ClashError, Dialects};
pub use list::{write_limits, write_policies};
pub use measure::{MAX_INTEGER, MAX_SPAN_S};

use crate::retry_after::ceil_s;

/// Longest policy name the fields carry, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// Whether `name` can stand in the fields as it is: 1 to 64 printable ASCII characters, without
/// `"` and `\`. To be asked when a policy is loaded.
#[must_use]
pub fn is_policy_name(name: &str) -> bool {
    let plain = |byte: u8| matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\';
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(plain)
}

/// What a quota counts (draft -11, section 3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Requests, or whatever the rule's cost makes of them. The default, and not written.
    #[default]
    Requests,
    /// Bytes of content.
    ContentBytes,
    /// Requests running at one time.
    ConcurrentRequests,
}

impl Unit {
    const fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::ContentBytes => "content-bytes",
            Self::ConcurrentRequests => "concurrent-requests",
        }
    }

    /// The table that registers the units spells the first one without its `s`.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "requests" | "request" => Some(Self::Requests),
            "content-bytes" => Some(Self::ContentBytes),
            "concurrent-requests" => Some(Self::ConcurrentRequests),
            _ => None,
        }
    }
}

/// One rule as clients see it: so much in so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyItem<'a> {
    /// The rule's name; see [`is_policy_name`].
    pub name: &'a str,
    /// Units allotted per window (`q`).
    pub quota: u64,
    /// The window in whole seconds (`w`); `None` where time plays no part.
    pub window_s: Option<u64>,
    /// What the quota counts (`qu`).
    pub unit: Unit,
}

impl<'a> PolicyItem<'a> {
    /// A bucket that refills `units` per `per_us` and holds `burst`.
    ///
    /// The draft knows only windows of whole seconds, so the window told is the time the bucket
    /// takes to fill (rounded up, at least 1 s), and the quota what flows in meanwhile (rounded
    /// down, at least 1).
    ///
    /// ```
    /// # use jeton_wire::ratelimit::PolicyItem;
    /// let slow = PolicyItem::bucket("everyone", 20, 1_000_000, 100);
    /// assert_eq!((slow.quota, slow.window_s), (100, Some(5)));
    /// let quick = PolicyItem::bucket("user", 5, 1_000_000, 1);
    /// assert_eq!((quick.quota, quick.window_s), (5, Some(1)));
    /// ```
    #[must_use]
    pub fn bucket(name: &'a str, units: u64, per_us: u64, burst: u64) -> Self {
        let (quota, window_s) = measure::bucket(units, per_us, burst);
        Self {
            name,
            quota,
            window_s: Some(window_s),
            unit: Unit::Requests,
        }
    }

    /// A window (fixed, sliding log or sliding counter) of `window_us` with `limit` units.
    ///
    /// Windows below a second are told as one second: the draft has no finer grain.
    #[must_use]
    pub fn window(name: &'a str, limit: u64, window_us: u64) -> Self {
        let whole_s = ceil_s(window_us).max(1);
        Self {
            name,
            quota: limit,
            window_s: Some(whole_s),
            unit: Unit::Requests,
        }
    }

    /// So many at one time, however long each takes: no window.
    ///
    /// ```
    /// # use jeton_wire::ratelimit::{PolicyItem, write_policies};
    /// let mut out = String::new();
    /// write_policies(&[PolicyItem::concurrent("slots", 10)], &mut out);
    /// assert_eq!(out, r#""slots";q=10;qu="concurrent-requests""#);
    /// ```
    #[must_use]
    pub const fn concurrent(name: &'a str, limit: u64) -> Self {
        Self {
            name,
            quota: limit,
            window_s: None,
            unit: Unit::ConcurrentRequests,
        }
    }

    /// What a decision left of this policy: never more than the quota; the span in which no more
    /// than that can be used, unless time plays no part.
    ///
    /// For buckets hand in the time to the next unit: the time to a full bucket would push
    /// `Retry-After`, which must not be earlier, out far too long.
    ///
    /// ```
    /// # use jeton_wire::ratelimit::PolicyItem;
    /// let policy = PolicyItem::window("day", 1000, 86_400_000_000);
    /// let limit = policy.limit(1200, 1_500_000);
    /// assert_eq!((limit.remaining, limit.effective_window_s()), (1000, Some(2)));
    /// ```
    #[must_use]
    pub fn limit(&self, remaining: u64, effective_window_us: u64) -> LimitItem<'a> {
        LimitItem {
            name: self.name,
            remaining: remaining.min(self.quota),
            effective_window_us: self.window_s.map(|_| effective_window_us),
            cost: None,
        }
    }
}

/// What is left under one rule after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitItem<'a> {
    /// The rule's name, as in its [`PolicyItem`].
    pub name: &'a str,
    /// Units that can still be used (`r`, or `a` in the next draft).
    pub remaining: u64,
    /// Microseconds within which no more than those can be used (`t`, or `w` in the next draft).
    /// Told in whole seconds, rounded up.
    pub effective_window_us: Option<u64>,
    /// Units that this request cost (`c`, in the next draft alone).
    pub cost: Option<u64>,
}

impl LimitItem<'_> {
    /// The effective window as it is told: whole seconds, rounded up.
    #[must_use]
    pub fn effective_window_s(&self) -> Option<u64> {
        self.effective_window_us.map(ceil_s)
    }

    /// The same limit, with what this request cost.
    #[must_use]
    pub const fn with_cost(self, cost: u64) -> Self {
        Self {
            cost: Some(cost),
            ..self
        }
    }
}
