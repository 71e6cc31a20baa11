//! Time as the engine knows it: whole microseconds since the Unix epoch, always an argument.

use core::fmt;

/// An instant in whole microseconds since the Unix epoch, at most [`Micros::MAX`].
///
/// The ceiling keeps every stored and intermediate value below 2^52, so that a store whose
/// numbers are doubles (Redis's Lua) computes the very same thing. A later instant saturates.
///
/// ```
/// use jeton_core::{Micros, Span};
/// let now = Micros::new(1_500_000);
/// assert_eq!(now.saturating_add(Span::SECOND).get(), 2_500_000);
/// assert_eq!(Micros::new(u64::MAX), Micros::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(u64);

impl Micros {
    /// The Unix epoch; a legal instant like any other.
    pub const ZERO: Self = Self(0);
    /// The last instant that counts as "now": July 2072 (23 * 2^47 µs).
    pub const MAX: Self = Self(23 << 47);
    /// The last instant that may be stored: three of the longest spans after [`Micros::MAX`].
    pub const HORIZON: Self = Self(1 << 52);

    /// The instant `us` microseconds after the Unix epoch, saturating at [`Micros::MAX`].
    #[inline]
    pub const fn new(us: u64) -> Self {
        if us > Self::MAX.0 {
            Self::MAX
        } else {
            Self(us)
        }
    }

    /// A stored instant, which may lie past [`Micros::MAX`], saturating at [`Micros::HORIZON`].
    #[inline]
    pub const fn stored(us: u64) -> Self {
        if us > Self::HORIZON.0 {
            Self::HORIZON
        } else {
            Self(us)
        }
    }

    /// Microseconds since the Unix epoch.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is the later one.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, saturating at [`Micros::HORIZON`].
    #[inline]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self::stored(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier, saturating at the epoch.
    #[inline]
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Debug for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}us", self.0)
    }
}

/// A reading of a clock: an instant, and whether later readings can lie before it.
///
/// ```
/// use jeton_core::{Micros, Reading};
/// assert!(Reading::steady(Micros::new(5)).is_steady());
/// assert!(!Reading::from(Micros::new(5)).is_steady());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    at: Micros,
    steady: bool,
}

impl Reading {
    /// A reading of a clock that never goes back, not even between threads.
    #[inline]
    pub const fn steady(at: Micros) -> Self {
        Self { at, steady: true }
    }

    /// The instant.
    #[inline]
    pub const fn at(self) -> Micros {
        self.at
    }

    /// Whether the clock never goes back: then an earlier reading is an old one.
    #[inline]
    pub const fn is_steady(self) -> bool {
        self.steady
    }
}

/// An instant taken as it is: the clock law speaks if it lies before a state.
impl From<Micros> for Reading {
    #[inline]
    fn from(at: Micros) -> Self {
        Self { at, steady: false }
    }
}

/// A length of time in whole microseconds.
///
/// A span that a user sets is made by [`Span::from_micros`] and at most [`Span::LONGEST`]
/// (13.4 years); a wait that the engine computes may be longer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub(crate) u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// One second.
    pub const SECOND: Self = Self(1_000_000);
    /// The longest span a quota may speak of: 3 * 2^47 µs, 13.4 years.
    pub const LONGEST: Self = Self(3 << 47);

    /// A span of `us` microseconds.
    ///
    /// # Errors
    /// [`QuotaError::SpanTooLong`](crate::QuotaError::SpanTooLong) above [`Span::LONGEST`].
    pub const fn from_micros(us: u64) -> Result<Self, crate::QuotaError> {
        if us > Self::LONGEST.0 {
            return Err(crate::QuotaError::SpanTooLong {
                longest: Self::LONGEST,
            });
        }
        Ok(Self(us))
    }

    /// Microseconds.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds, rounded up.
    #[inline]
    pub const fn as_millis_ceil(self) -> u64 {
        self.0.div_ceil(1_000)
    }

    /// Whole seconds, rounded up.
    #[inline]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// `true` for no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// For whoever sleeps or sets a timer.
///
/// ```
/// use core::time::Duration;
/// use jeton_core::Span;
/// assert_eq!(Duration::from(Span::SECOND), Duration::from_secs(1));
/// ```
impl From<Span> for core::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_micros(span.0)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_plus_three_longest_spans_stays_in_the_domain() {
        let mut at = Micros::MAX;
        for _ in 0..3 {
            at = Micros::stored(at.get() + Span::LONGEST.as_micros());
        }
        assert_eq!(at, Micros::HORIZON);
        assert_eq!(Micros::HORIZON.get(), 1 << 52);
    }

    #[test]
    fn elapsed_time_below_zero_counts_as_zero() {
        assert_eq!(Micros::new(5).since(Micros::new(9)), Span::ZERO);
    }
}
