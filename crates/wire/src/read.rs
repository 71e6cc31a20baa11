//! Limits as an answer's fields tell them, whatever dialect its server speaks.
//!
//! Every dialect of [`ratelimit`](crate::ratelimit) is read, and all of them in one answer. What is
//! malformed is passed over alone: one bad item does not take the rest of its list with it. Numbers
//! beyond reason are cut to [`MAX_SPAN_S`](crate::ratelimit::MAX_SPAN_S) and
//! [`MAX_INTEGER`](crate::ratelimit::MAX_INTEGER).
//!
//! | field | read as |
//! |---|---|
//! | `RateLimit` with `key=…` members | the Dictionary of draft -07; looked for before a list |
//! | `RateLimit` with items | drafts -08 and later: what is left is `a`, else `r`; the effective window `w`, else `t` |
//! | `RateLimit-Policy` with names | their quotas and windows, joined by name and partition key |
//! | `RateLimit-Policy` with numbers | the quotas of drafts -03 to -07, joined by limit |
//! | `RateLimit-Limit`, `-Remaining`, `-Reset` | draft -06 |
//! | `X-RateLimit-…`, `X-Rate-Limit-…` | legacy; a list with `w` in the limit is Envoy's |
//!
//! A reset above [`MAX_SPAN_S`](crate::ratelimit::MAX_SPAN_S) is an instant in seconds of the Unix
//! epoch, above 10^12 in milliseconds; anything else is seconds from now, decimals included. Where
//! two limiters wrote one number field, the tighter number counts.

mod list;
mod number;

use std::borrow::Cow;

use crate::ratelimit::{Dialect, Unit};

/// Items looked at in one field, all its lines together; what stands behind them is passed over.
pub const MAX_ITEMS: usize = 64;

/// One policy as the fields of an answer tell it. What they do not tell is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading<'a> {
    /// How it was told.
    pub dialect: Dialect,
    /// The policy's name.
    pub name: Option<Cow<'a, str>>,
    /// Units allotted per window.
    pub limit: Option<u64>,
    /// The window in whole seconds.
    pub window_s: Option<u64>,
    /// What is counted; `None` for a unit that is not known here.
    pub unit: Option<Unit>,
    /// Units that can still be used.
    pub remaining: Option<u64>,
    /// Microseconds from now within which no more than those can be used.
    pub effective_window_us: Option<u64>,
    /// Units that this request cost.
    pub cost: Option<u64>,
    /// The partition that was counted (`pk`), in base64.
    pub partition_key: Option<&'a str>,
}

impl Reading<'_> {
    const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            name: None,
            limit: None,
            window_s: None,
            unit: Some(Unit::Requests),
            remaining: None,
            effective_window_us: None,
            cost: None,
            partition_key: None,
        }
    }
}

/// Reads all policies that an answer tells, in the order of the table above and, within a field, of
/// its items. Policies about which nothing but their quota is told stand last in their dialect.
///
/// `lines` gives the lines of the field of a name (lower case), in order; `now_us` is when the
/// answer was made, in microseconds of the Unix epoch, and is used for resets that are instants.
///
/// ```
/// use jeton_wire::ratelimit::Dialect;
/// use jeton_wire::read::read;
///
/// let answer = [
///     ("ratelimit-policy", r#""burst";q=100;w=60,"daily";q=1000;w=86400"#),
///     ("ratelimit", r#""daily";r=12;t=3600"#),
/// ];
/// let readings = read(0, |name| {
///     let lines = answer.iter().filter(move |field| field.0 == name);
///     lines.map(|field| field.1.as_bytes())
/// });
/// assert_eq!(readings[0].name.as_deref(), Some("daily"));
/// assert_eq!((readings[0].limit, readings[0].remaining), (Some(1000), Some(12)));
/// assert_eq!(readings[0].effective_window_us, Some(3_600_000_000));
/// assert_eq!((readings[1].limit, readings[1].remaining), (Some(100), None));
/// assert_eq!(readings[0].dialect, Dialect::Ietf11);
/// ```
#[must_use]
pub fn read<'a, I>(now_us: u64, lines: impl Fn(&'static str) -> I) -> Vec<Reading<'a>>
where
    I: Iterator<Item = &'a [u8]>,
{
    let mut readings = Vec::new();
    let policies = list::Policies::read(lines("ratelimit-policy"));
    list::read_limits(lines("ratelimit"), policies.named, &mut readings);
    let from = readings.len();
    readings.extend(number::read_dictionary(now_us, lines("ratelimit")));
    readings.extend(number::read_draft_6(now_us, &lines));
    number::join_quotas(policies.quotas, from, &mut readings);
    number::read_legacy(now_us, &lines, &mut readings);
    readings
}

/// The items of a field, over all its lines. Each line is cut for itself: an unclosed string ends
/// with its line.
fn items<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    lines
        .flat_map(|line| crate::pieces::Pieces::new(line, b','))
        .take(MAX_ITEMS)
}
