//! The spans of time that a limit of an envoyproxy/ratelimit file, or of a request, can have.

use jeton_core::Span;

/// `unit`: the window of a limit, aligned with the Unix epoch, so that weeks begin on a Thursday. A
/// month has 30 days, a year 365.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Unit {
    /// One second.
    Second = 1,
    /// 60 seconds.
    Minute = 2,
    /// 60 minutes.
    Hour = 3,
    /// 24 hours.
    Day = 4,
    /// 30 days.
    Month = 5,
    /// 365 days.
    Year = 6,
    /// 7 days.
    Week = 7,
}

impl Unit {
    /// Every unit, by its number on the wire.
    pub const ALL: [Self; 7] = [
        Self::Second,
        Self::Minute,
        Self::Hour,
        Self::Day,
        Self::Month,
        Self::Year,
        Self::Week,
    ];

    /// Its word, in lower case.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
            Self::Week => "week",
        }
    }

    /// The unit of a word in any case.
    pub fn of_word(word: &str) -> Option<Self> {
        let is_it = |unit: &Self| unit.word().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(is_it)
    }

    /// The unit of this number (`envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit`).
    pub fn of_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| *unit as i32 == number)
    }

    /// How long it is.
    pub fn span(self) -> Span {
        const SECOND_US: u64 = 1_000_000;
        let seconds: u64 = match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
            Self::Month => 30 * 86_400,
            Self::Year => 365 * 86_400,
            Self::Week => 7 * 86_400,
        };
        Span::from_micros(seconds * SECOND_US).unwrap_or(Span::LONGEST)
    }

    /// The unit nearest to a span, as a ratio: what a limit over that time is told in where only units
    /// can be.
    ///
    /// ```
    /// use jeton_policy::Unit;
    /// use jeton_core::Span;
    /// let minutes = |n: u64| Span::from_micros(n * 60_000_000);
    /// assert_eq!(Unit::nearest(minutes(5)?), Unit::Minute);
    /// assert_eq!(Unit::nearest(minutes(10)?), Unit::Hour);
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    pub fn nearest(span: Span) -> Self {
        let us = u128::from(span.as_micros()).max(1);
        let apart = |unit: &Self| {
            let own = u128::from(unit.span().as_micros());
            own.max(us) * 1_000_000 / own.min(us)
        };
        Self::ALL
            .into_iter()
            .min_by_key(apart)
            .unwrap_or(Self::Second)
    }
}
