//! What a rule allows: one closed set of quotas, none of which can hold nonsense.

use core::fmt;

use crate::{Rate, Span};

/// The largest limit or burst: 10^9 units.
pub const MAX_LIMIT: u32 = 1_000_000_000;
/// The largest limit of a sliding counter: 3 * 10^7 units.
pub const MAX_COUNTER_LIMIT: u32 = 30_000_000;

/// Why a quota cannot be held exactly, with the nearest one that can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaError {
    /// A limit, burst, rate or window of 0. Say `unlimited` or `deny` instead.
    Zero,
    /// A limit or burst above `max`.
    LimitTooLarge {
        /// The largest that fits.
        max: u32,
    },
    /// A window or period above `longest`.
    SpanTooLong {
        /// The longest that fits.
        longest: Span,
    },
    /// A bucket that takes over 13 years to fill.
    FillTooLong {
        /// The largest burst that fits this rate.
        max_burst: u32,
    },
    /// A rate whose lowest terms are too large; off by a few parts in 10^9, these are not.
    AwkwardRate {
        /// The nearest slower rate.
        slower: Rate,
        /// The nearest faster rate.
        faster: Rate,
    },
}

impl fmt::Display for QuotaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => write!(f, "0 is not a quota; say \"unlimited\" or \"deny\""),
            Self::LimitTooLarge { max } => write!(f, "more than {max} units do not fit"),
            Self::SpanTooLong { longest } => {
                write!(
                    f,
                    "longer than {} s (13.4 years)",
                    longest.as_micros() / 1_000_000
                )
            }
            Self::FillTooLong { max_burst } => {
                write!(
                    f,
                    "takes over 13 years to fill; the largest burst here is {max_burst}"
                )
            }
            Self::AwkwardRate { slower, faster } => write!(
                f,
                "too awkward a fraction; {} per {} us (slower) or {} per {} us (faster) fit",
                slower.units(),
                slower.per().as_micros(),
                faster.units(),
                faster.per().as_micros(),
            ),
        }
    }
}

impl core::error::Error for QuotaError {}

/// Where fixed windows begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// Windows are [kW, (k+1)W) counted from the Unix epoch; weeks start on a Thursday.
    Epoch,
    /// A window is opened by the first charge after the last one closed.
    FirstRequest,
}

/// `rate` sustained, `burst` at once: the token bucket, and GCRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    pub(crate) rate: Rate,
    pub(crate) burst: u32,
}

/// `limit` units in each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedWindow {
    pub(crate) limit: u32,
    pub(crate) window: Span,
    pub(crate) anchor: Anchor,
}

/// `limit` units in a window weighted over this and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlidingCounter {
    pub(crate) limit: u32,
    pub(crate) window: Span,
}

/// `limit` units in every window, wherever it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlidingLog {
    pub(crate) limit: u32,
    pub(crate) window: Span,
}

/// `limit` units in flight at once, each for a lease that its holder can renew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Concurrency {
    pub(crate) limit: u32,
    pub(crate) lease: Span,
}

/// The record of one reservation, which is forgotten `ttl` after it was opened or renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) ttl: Span,
}

/// What a rule allows.
///
/// ```
/// use jeton_core::{Quota, Rate, Span};
/// let quota = Quota::bucket(Rate::new(5, Span::SECOND)?, 20)?;
/// assert_eq!(quota.limit(), 20);
/// # Ok::<(), jeton_core::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quota {
    /// Token bucket and GCRA: the same state and the same decisions.
    Bucket(Bucket),
    /// Fixed window.
    FixedWindow(FixedWindow),
    /// Sliding-window counter.
    SlidingCounter(SlidingCounter),
    /// Sliding-window log.
    SlidingLog(SlidingLog),
    /// Units in flight.
    Concurrency(Concurrency),
    /// Not a limit: the record of one reservation.
    Ticket(Ticket),
}

/// Which kind of state a quota keeps. States of different kinds never meet: a rule whose kind
/// changes starts a new counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// [`Quota::Bucket`].
    Bucket = 1,
    /// [`Quota::FixedWindow`] anchored at the epoch.
    FixedEpoch = 2,
    /// [`Quota::FixedWindow`] anchored at the first request.
    FixedFirst = 3,
    /// [`Quota::SlidingCounter`].
    Counter = 4,
    /// [`Quota::SlidingLog`].
    Log = 5,
    /// [`Quota::Concurrency`].
    Concurrency = 6,
    /// [`Quota::Ticket`].
    Ticket = 7,
}

impl Kind {
    /// Whether its states have a tail of entries: logs and concurrency.
    #[inline]
    pub const fn has_tail(self) -> bool {
        matches!(self, Self::Log | Self::Concurrency)
    }

    /// Whether its units belong to whoever opened the state, who comes back for them: they are held,
    /// never taken, and no estimate can stand for them.
    #[inline]
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Concurrency | Self::Ticket)
    }
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Bucket,
        Self::FixedEpoch,
        Self::FixedFirst,
        Self::Counter,
        Self::Log,
        Self::Concurrency,
        Self::Ticket,
    ];

    /// The kind of this number, as states and receipts are written.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

impl Quota {
    /// A bucket of `burst` units that fills at `rate`.
    ///
    /// # Errors
    /// [`QuotaError`] if it is zero, too large, or fills too slowly.
    pub fn bucket(rate: Rate, burst: u64) -> Result<Self, QuotaError> {
        let burst = limit_within(burst, MAX_LIMIT)?;
        let (n, d) = (u128::from(rate.units()), u128::from(rate.per().as_micros()));
        let by_fill = u128::from(Span::LONGEST.as_micros()) * n / d;
        // 2·B·r ≤ 2^52 keeps the n-ths of a full debt in the domain.
        let by_parts = (1_u128 << 51).checked_div(d % n).unwrap_or(u128::MAX);
        let most = by_fill.min(by_parts);
        if u128::from(burst) > most {
            let max_burst = u32::try_from(most).unwrap_or(MAX_LIMIT);
            return Err(QuotaError::FillTooLong { max_burst });
        }
        Ok(Self::Bucket(Bucket { rate, burst }))
    }

    /// `limit` units in each `window`.
    ///
    /// # Errors
    /// [`QuotaError`] if it is zero, too large or too long.
    pub const fn fixed_window(
        limit: u64,
        window: Span,
        anchor: Anchor,
    ) -> Result<Self, QuotaError> {
        match (limit_within(limit, MAX_LIMIT), window_within(window)) {
            (Err(error), _) | (_, Err(error)) => Err(error),
            (Ok(limit), Ok(window)) => Ok(Self::FixedWindow(FixedWindow {
                limit,
                window,
                anchor,
            })),
        }
    }

    /// `limit` units by the weighted count of two windows.
    ///
    /// # Errors
    /// [`QuotaError`] if it is zero, too large or too long.
    pub fn sliding_counter(limit: u64, window: Span) -> Result<Self, QuotaError> {
        let limit = limit_within(limit, MAX_COUNTER_LIMIT)?;
        Ok(Self::SlidingCounter(SlidingCounter {
            limit,
            window: window_within(window)?,
        }))
    }

    /// `limit` units in every `window`.
    ///
    /// # Errors
    /// [`QuotaError`] if it is zero, too large or too long.
    pub fn sliding_log(limit: u64, window: Span) -> Result<Self, QuotaError> {
        let limit = limit_within(limit, MAX_LIMIT)?;
        Ok(Self::SlidingLog(SlidingLog {
            limit,
            window: window_within(window)?,
        }))
    }

    /// `limit` units in flight at once. What a holder neither gives back nor renews comes back
    /// after `lease`. A decision looks at every holder.
    ///
    /// ```
    /// use jeton_core::{Act, Cost, Fit, Micros, Quota, Span, View};
    /// let quota = Quota::concurrency(2, Span::SECOND)?;
    /// let hold = Act::Hold { cost: Cost::ONE };
    /// let held = quota.decide(View::ABSENT, &hold, Micros::new(0)).decision;
    /// assert_eq!((held.fit, held.remaining), (Fit::Allowed, 1));
    /// // `held.receipt` names the holder: to renew it, or to settle it at 0.
    /// let take = Act::Take { cost: Cost::ONE };
    /// assert_eq!(quota.decide(View::ABSENT, &take, Micros::new(0)).decision.fit, Fit::Impossible);
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    ///
    /// # Errors
    /// [`QuotaError`] if it is zero or too large.
    pub fn concurrency(limit: u64, lease: Span) -> Result<Self, QuotaError> {
        let limit = limit_within(limit, MAX_LIMIT)?;
        Ok(Self::Concurrency(Concurrency {
            limit,
            lease: window_within(lease)?,
        }))
    }

    /// The record of a reservation, kept for `ttl` from when it was opened or last renewed. Its key
    /// is the reservation's id; a hold opens it, whatever the cost.
    ///
    /// ```
    /// use jeton_core::{Act, Cost, Fit, Micros, Quota, Span, View};
    /// let ticket = Quota::ticket(Span::SECOND)?;
    /// let ask = |act| ticket.decide(View::ABSENT, &act, Micros::new(0)).decision.fit;
    /// assert_eq!(ask(Act::Hold { cost: Cost::ONE }), Fit::Allowed);
    /// assert_eq!(ask(Act::Peek { cost: Cost::ONE }), Fit::Unknown);
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    ///
    /// # Errors
    /// [`QuotaError::Zero`] if that is no time at all.
    pub fn ticket(ttl: Span) -> Result<Self, QuotaError> {
        Ok(Self::Ticket(Ticket {
            ttl: window_within(ttl)?,
        }))
    }

    /// The most units that can ever be allowed at once: limit or burst; 1 for a ticket, which can
    /// be opened once.
    pub const fn limit(&self) -> u32 {
        match self {
            Self::Bucket(b) => b.burst,
            Self::FixedWindow(w) => w.limit,
            Self::SlidingCounter(w) => w.limit,
            Self::SlidingLog(w) => w.limit,
            Self::Concurrency(c) => c.limit,
            Self::Ticket(_) => 1,
        }
    }

    /// The window, or the time in which a bucket fills (rounded up); none for what is held and given
    /// back.
    pub fn window(&self) -> Option<Span> {
        match self {
            Self::Bucket(b) => {
                let (us, part) = b.rate.span_of(b.burst, 0);
                Some(Span(us + u64::from(part > 0)))
            }
            Self::FixedWindow(w) => Some(w.window),
            Self::SlidingCounter(w) => Some(w.window),
            Self::SlidingLog(w) => Some(w.window),
            Self::Concurrency(_) | Self::Ticket(_) => None,
        }
    }

    /// For how long a holder or a ticket is kept if it is not renewed.
    pub const fn lease(&self) -> Option<Span> {
        match self {
            Self::Concurrency(c) => Some(c.lease),
            Self::Ticket(t) => Some(t.ttl),
            _ => None,
        }
    }

    /// The rate of a bucket.
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Self::Bucket(b) => Some(b.rate),
            _ => None,
        }
    }

    /// The kind of state this quota keeps.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Bucket(_) => Kind::Bucket,
            Self::FixedWindow(FixedWindow {
                anchor: Anchor::Epoch,
                ..
            }) => Kind::FixedEpoch,
            Self::FixedWindow(_) => Kind::FixedFirst,
            Self::SlidingCounter(_) => Kind::Counter,
            Self::SlidingLog(_) => Kind::Log,
            Self::Concurrency(_) => Kind::Concurrency,
            Self::Ticket(_) => Kind::Ticket,
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // guarded by the comparison
const fn limit_within(limit: u64, max: u32) -> Result<u32, QuotaError> {
    match limit {
        0 => Err(QuotaError::Zero),
        limit if limit <= max as u64 => Ok(limit as u32),
        _ => Err(QuotaError::LimitTooLarge { max }),
    }
}

const fn window_within(window: Span) -> Result<Span, QuotaError> {
    if window.is_zero() {
        Err(QuotaError::Zero)
    } else {
        Ok(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(units: u64, us: u64) -> Rate {
        Rate::new(units, Span::from_micros(us).unwrap()).unwrap()
    }

    #[test]
    fn a_bucket_that_fills_too_slowly_names_the_burst_that_fits() {
        let yearly = rate(1, 31_536_000_000_000);
        assert_eq!(
            Quota::bucket(yearly, 14),
            Err(QuotaError::FillTooLong { max_burst: 13 })
        );
        assert!(Quota::bucket(yearly, 13).is_ok());
    }

    #[test]
    fn the_named_quotas_fit() {
        let day = 86_400_000_000;
        assert!(Quota::bucket(rate(999_983, day), 999_983).is_ok());
        assert!(Quota::bucket(rate(1_000_000, 1_000_000), 1_000_000).is_ok());
        assert!(Quota::bucket(rate(1_000_000, day), 1_000_000).is_ok());
        assert!(Quota::bucket(rate(1, 315_360_000_000_000), 1).is_ok());
        assert!(Quota::bucket(rate(1_000_000, 1_000_000), 1_000_000_000).is_ok());
    }

    #[test]
    fn f4_f20_zero_is_refused_and_names_the_words() {
        let second = Span::SECOND;
        assert_eq!(Rate::new(0, second), Err(QuotaError::Zero));
        assert_eq!(Quota::sliding_log(0, second), Err(QuotaError::Zero));
        assert_eq!(
            Quota::fixed_window(1, Span::ZERO, Anchor::Epoch),
            Err(QuotaError::Zero)
        );
        let text = std::format!("{}", QuotaError::Zero);
        assert!(text.contains("unlimited") && text.contains("deny"));
    }
}
