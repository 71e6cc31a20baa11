//! A share of a limit: what one process grants on its own while the store is away.

use std::fmt;

use jeton_core::{Anchor, Kind, Quota, QuotaError, Rate, Span};

use super::Terms;
use crate::diagnostic::{Fault, code};
use crate::units::Pace;

/// Parts of a whole.
const WHOLE: u32 = 1_000_000;
/// Digits behind the point.
const DIGITS: usize = 6;

/// A share of a limit, above 0 and at most 1, exact to a millionth.
///
/// ```
/// use jeton_core::{Quota, Rate, Span};
/// use jeton_policy::Share;
/// let half: Share = "0.5".parse()?;
/// let quota = Quota::bucket(Rate::new(5, Span::SECOND)?, 21)?;
/// let local = Quota::bucket(Rate::new(5, Span::from_micros(2_000_000)?)?, 10)?;
/// assert_eq!(half.of(&quota), local);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    millionths: u32,
}

impl Share {
    /// This share of a quota: so much of its limit or burst, rounded down, but one unit at the least;
    /// and so much of its rate, exactly, or a slower one where the fraction is too awkward to hold.
    /// A bucket that would take over 13 years to fill keeps to as much as fills in them. A ticket is
    /// no limit, and stays.
    #[must_use]
    pub fn of(self, quota: &Quota) -> Quota {
        let limit = self.of_limit(quota.limit());
        let window = quota.window().unwrap_or(Span::SECOND);
        let scaled = match quota {
            Quota::Bucket(_) => match quota.rate() {
                Some(rate) => bucket(self.of_rate(rate), limit),
                None => Err(QuotaError::Zero),
            },
            Quota::FixedWindow(_) => {
                let from_epoch = quota.kind() == Kind::FixedEpoch;
                let anchor = if from_epoch {
                    Anchor::Epoch
                } else {
                    Anchor::FirstRequest
                };
                Quota::fixed_window(limit, window, anchor)
            }
            Quota::SlidingCounter(_) => Quota::sliding_counter(limit, window),
            Quota::SlidingLog(_) => Quota::sliding_log(limit, window),
            Quota::Concurrency(_) => {
                Quota::concurrency(limit, quota.lease().unwrap_or(Span::SECOND))
            }
            Quota::Ticket(_) => Ok(*quota),
        };
        // Less than what fits, and not nothing: it fits.
        scaled.unwrap_or(*quota)
    }

    /// The same for terms as they were written.
    pub(crate) fn of_terms(self, terms: &Terms) -> Option<Terms> {
        let quota = self.of(&terms.quota().ok()?);
        let mut terms = *terms;
        match &mut terms {
            Terms::FixedWindow { limit, .. }
            | Terms::SlidingLog { limit, .. }
            | Terms::SlidingCounter { limit, .. }
            | Terms::Concurrency { limit, .. } => *limit = u64::from(quota.limit()),
            Terms::Bucket { pace, burst } => {
                *pace = self.of_pace(*pace).or(quota.rate().map(Pace::of))?;
                *burst = u64::from(quota.limit());
            }
        }
        Some(terms)
    }

    /// Whether `part` is exactly this share of `whole`.
    pub(crate) fn is_of(self, whole: u64, part: u64) -> bool {
        let scaled = |units: u64, by: u32| u128::from(units) * u128::from(by);
        scaled(whole, self.millionths) == scaled(part, WHOLE)
    }

    fn of_limit(self, limit: u32) -> u64 {
        (u64::from(limit) * u64::from(self.millionths) / u64::from(WHOLE)).max(1)
    }

    /// A pace in the period that it was written in, if that comes out even.
    fn of_pace(self, pace: Pace) -> Option<Pace> {
        let parts = pace.units.checked_mul(u64::from(self.millionths))?;
        let units = parts / u64::from(WHOLE);
        let is_even = parts.is_multiple_of(u64::from(WHOLE)) && units > 0;
        is_even.then_some(Pace { units, ..pace })
    }

    fn of_rate(self, rate: Rate) -> Result<Rate, QuotaError> {
        let (n, d) = (
            u128::from(rate.units()) * u128::from(self.millionths),
            u128::from(rate.per().as_micros()) * u128::from(WHOLE),
        );
        let common = gcd(n, d);
        let longest = u128::from(Span::LONGEST.as_micros());
        // A period that is too long for the exact fraction: what comes in the longest one instead.
        let (units, per_us) = match (n / common, d / common) {
            (n, d) if d <= longest => (n, d),
            (n, d) => ((n * longest / d).max(1), longest),
        };
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let per = Span::from_micros(u64::try_from(per_us).unwrap_or(u64::MAX))?;
        match Rate::new(units, per) {
            Err(QuotaError::AwkwardRate { slower, .. }) => Ok(slower),
            rate => rate,
        }
    }
}

fn bucket(rate: Result<Rate, QuotaError>, burst: u64) -> Result<Quota, QuotaError> {
    let rate = rate?;
    match Quota::bucket(rate, burst) {
        Err(QuotaError::FillTooLong { max_burst }) => Quota::bucket(rate, u64::from(max_burst)),
        quota => quota,
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// As policies write it: `0.5`, `1`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.millionths == WHOLE {
            return f.write_str("1");
        }
        let digits = format!("{:0DIGITS$}", self.millionths);
        write!(f, "0.{}", digits.trim_end_matches('0'))
    }
}

/// Reads a decimal fraction above 0 and at most 1, with at most 6 digits behind the point.
impl std::str::FromStr for Share {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_decimal =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_decimal(whole) || !is_decimal(part) {
            return Err(unfit("is no decimal fraction"));
        }
        let part = part.trim_end_matches('0');
        if part.len() > DIGITS {
            return Err(unfit("has more than 6 digits behind the point"));
        }
        let whole = whole.trim_start_matches('0');
        match format!("{whole}{part:0<DIGITS$}").parse::<u32>() {
            Ok(0) => Err(Fault::new(
                code::ZERO,
                "a share of 0 would let nothing pass without a store",
            )
            .label("there is a word for that")
            .fix("on_failure = \"deny\"")),
            Ok(millionths @ ..=WHOLE) => Ok(Self { millionths }),
            _ => Err(unfit("is above 1, the whole limit")),
        }
    }
}

/// Why a number is no share.
pub(crate) fn unfit(why: &str) -> Fault {
    Fault::new(code::NUMBER, format!("the share {why}"))
        .fix("local = 0.5, or another number above 0 and at most 1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(text: &str) -> Share {
        text.parse().unwrap()
    }

    fn span(us: u64) -> Span {
        Span::from_micros(us).unwrap()
    }

    #[test]
    fn shares_read_back() {
        for (text, shown) in [
            ("0.5", "0.5"),
            ("1", "1"),
            ("1.0", "1"),
            ("0.000001", "0.000001"),
            ("0.3333330", "0.333333"),
            ("00.25", "0.25"),
        ] {
            assert_eq!(share(text).to_string(), shown);
            assert_eq!(share(shown), share(text));
        }
        for text in [
            "",
            ".",
            ".5",
            "1.",
            "0",
            "0.0",
            "1.000001",
            "2",
            "-0.5",
            "+0.5",
            "5e-1",
            "0.1234567",
            "nan",
            "inf",
            "0.5 ",
            "99999999999",
            "0_0.5",
        ] {
            assert!(text.parse::<Share>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_share_of_each_quota() {
        let (half, tiny) = (share("0.5"), share("0.000001"));
        let window = span(60_000_000);
        let fixed = |limit| Quota::fixed_window(limit, window, Anchor::FirstRequest).unwrap();
        assert_eq!(half.of(&fixed(7)), fixed(3));
        assert_eq!(tiny.of(&fixed(7)), fixed(1));
        let log = |limit| Quota::sliding_log(limit, window).unwrap();
        assert_eq!(half.of(&log(1)), log(1));
        let counter = |limit| Quota::sliding_counter(limit, window).unwrap();
        assert_eq!(share("1").of(&counter(30)), counter(30));
        let flight = |limit| Quota::concurrency(limit, window).unwrap();
        assert_eq!(share("0.999999").of(&flight(4)), flight(3));
        let ticket = Quota::ticket(window).unwrap();
        assert_eq!(half.of(&ticket), ticket);
        let slow = Quota::bucket(Rate::new(1, span(315_360_000_000_000)).unwrap(), 1).unwrap();
        let slowest = Quota::bucket(Rate::new(1, Span::LONGEST).unwrap(), 1).unwrap();
        assert_eq!(half.of(&slow), slowest);
    }

    #[test]
    fn written_terms_keep_their_period_where_that_comes_out_even() {
        let bucket = |units, per, burst| Terms::Bucket {
            pace: Pace { units, per },
            burst,
        };
        let half = share("0.5");
        let written = bucket(20, Span::SECOND, 100);
        assert_eq!(half.of_terms(&written), Some(bucket(10, Span::SECOND, 50)));
        let odd = bucket(5, Span::SECOND, 20);
        assert_eq!(half.of_terms(&odd), Some(bucket(1, span(400_000), 10)));
    }

    proptest! {
        /// The slower rate is the safe one, and no further off than its own coarseness.
        #[test]
        fn a_share_is_never_more_than_it_says(
            millionths in 1..=WHOLE,
            units in 1..=1_000_000_u64,
            per_us in 1..=315_360_000_000_000_u64,
            burst in 1..=1_000_000_000_u64,
        ) {
            let Ok(quota) = Rate::new(units, span(per_us)).and_then(|r| Quota::bucket(r, burst))
            else {
                return Ok(());
            };
            let share = Share { millionths };
            let scaled = share.of(&quota);
            let (rate, whole) = (scaled.rate().unwrap(), quota.rate().unwrap());
            let n = |rate: Rate| u128::from(rate.units());
            let d = |rate: Rate| u128::from(rate.per().as_micros());
            let exact = (
                n(whole) * u128::from(millionths),
                d(whole) * u128::from(WHOLE),
            );
            let is_slowest = n(rate) == 1 && rate.per() == Span::LONGEST;
            prop_assert!(is_slowest || n(rate) * exact.1 <= exact.0 * d(rate));
            prop_assert!(u64::from(scaled.limit()) <= share.of_limit(quota.limit()));
            prop_assert!(scaled.limit() >= 1);
            // With room for as many units in the longest period, it is as good as exact.
            if exact.0 * u128::from(Span::LONGEST.as_micros()) / exact.1 > 1_000_000 {
                prop_assert!(n(rate) * exact.1 * 1_000_001 >= exact.0 * d(rate) * 1_000_000);
            }
        }
    }
}
