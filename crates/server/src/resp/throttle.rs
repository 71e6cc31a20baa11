//! `CL.THROTTLE` (redis-cell) and `THROTTLE` (throttlecrab): look-alikes whose callers bring the quota.
//!
//! Both take `key max_burst count period [quantity]`; of redis-cell's, one unit more than `max_burst` can be
//! had at once.

use std::fmt;

use jeton::{Cost, Quota, QuotaError, Rate, Span};

use super::protocol::{natural, whole};

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// redis-cell 0.5.
    Cell,
    /// throttlecrab-server 0.4.
    Crab,
}

/// Why the arguments are no quota.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// An argument is no number that it may be.
    Number { what: &'static str, least: i64 },
    /// No quota can hold these numbers.
    Quota(QuotaError),
    /// A period that is too long to be counted.
    Period,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { what, least } => {
                write!(f, "{what} must be a whole number from {least} up")
            }
            Self::Quota(error) => error.fmt(f),
            Self::Period => f.write_str("period is in seconds, and no more than 13 years"),
        }
    }
}

/// The quota that was made last: most callers bring the same one again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest(Option<((i64, i64, i64), Quota)>);

/// Reads `max_burst count period` as a quota.
pub(super) fn quota(
    dialect: Dialect,
    [max_burst, count, period]: [&[u8]; 3],
    latest: &mut Latest,
) -> Result<Quota, Refused> {
    let least = match dialect {
        Dialect::Cell => 0,
        Dialect::Crab => 1,
    };
    let burst = at_least("max_burst", max_burst, least)?;
    let count = at_least("count", count, 1)?;
    let period = at_least("period", period, 1)?;
    let burst = match dialect {
        Dialect::Cell => burst.saturating_add(1),
        Dialect::Crab => burst,
    };
    let numbers = (burst, count, period);
    match latest.0 {
        Some((before, quota)) if before == numbers => Ok(quota),
        _ => {
            let quota = made(numbers)?;
            latest.0 = Some((numbers, quota));
            Ok(quota)
        }
    }
}

/// A quota that stands for all of them: their states are of one kind.
pub(super) fn any() -> Result<Quota, Refused> {
    quota(Dialect::Crab, [b"1"; 3], &mut Latest::default())
}

/// Units asked for; without a word, one. 0 looks.
pub(super) fn quantity(text: Option<&[u8]>) -> Result<Cost, Refused> {
    let (what, least) = ("quantity", 0);
    let units = text.map_or(Some(1), natural);
    units.map(Cost::new).ok_or(Refused::Number { what, least })
}

fn at_least(what: &'static str, text: &[u8], least: i64) -> Result<i64, Refused> {
    let number = whole(text).filter(|number| *number >= least);
    number.ok_or(Refused::Number { what, least })
}

#[cold]
fn made((burst, count, period): (i64, i64, i64)) -> Result<Quota, Refused> {
    let number = i64::unsigned_abs;
    let us = number(period)
        .checked_mul(1_000_000)
        .ok_or(Refused::Period)?;
    let per = Span::from_micros(us).map_err(|_| Refused::Period)?;
    let rate = Rate::new(number(count), per).map_err(Refused::Quota)?;
    Quota::bucket(rate, number(burst)).map_err(Refused::Quota)
}
