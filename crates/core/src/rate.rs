//! A rate as a reduced fraction, and its nearest neighbours where it is too awkward to hold.

use crate::{QuotaError, Span};

/// `units` per `per`, reduced to lowest terms: n units per d microseconds.
///
/// One unit takes d/n µs, kept as the whole part `q` and the remainder `r` (in n-ths), so that
/// no product or sum in a decision leaves 2^52.
///
/// ```
/// use jeton_core::{Rate, Span};
/// let rate = Rate::new(700, Span::from_micros(60_000_000)?)?;
/// assert_eq!((rate.units(), rate.per().as_micros()), (7, 600_000));
/// # Ok::<(), jeton_core::QuotaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    n: u32,
    r: u32,
    q: u64,
}

/// The largest numerator of a reduced rate.
const MAX_UNITS: u64 = 1 << 22;

impl Rate {
    /// `units` every `per`.
    ///
    /// # Errors
    /// [`QuotaError::Zero`] for no units or no time, [`QuotaError::AwkwardRate`] with the two
    /// nearest rates that fit if the reduced numerator exceeds 2^22.
    pub fn new(units: u64, per: Span) -> Result<Self, QuotaError> {
        let d = per.as_micros();
        if units == 0 || d == 0 {
            return Err(QuotaError::Zero);
        }
        let g = gcd(units, d);
        let (n, d) = (units / g, d / g);
        if n > MAX_UNITS {
            let (slower, faster) = neighbours(n, d);
            return Err(QuotaError::AwkwardRate { slower, faster });
        }
        Ok(Self::reduced(n, d))
    }

    #[allow(clippy::cast_possible_truncation)] // n ≤ 2^22, and r < n
    const fn reduced(n: u64, d: u64) -> Self {
        Self {
            n: n as u32,
            r: (d % n) as u32,
            q: d / n,
        }
    }

    /// The numerator n of the reduced rate: units.
    #[inline]
    pub const fn units(self) -> u32 {
        self.n
    }

    /// The denominator d of the reduced rate: the time in which [`Rate::units`] come.
    #[inline]
    pub const fn per(self) -> Span {
        Span(self.q * self.n as u64 + self.r as u64)
    }

    /// The time of `k` units that starts `f` n-ths after a whole microsecond, as
    /// (whole microseconds, n-ths). Saturates where units owed under one quota are read under one
    /// that would take longer than all time to bring them back.
    #[inline]
    pub(crate) const fn span_of(self, k: u32, f: u32) -> (u64, u32) {
        let parts = k as u64 * self.r as u64 + f as u64; // < 2^32 * 2^22
        let n = self.n as u64;
        // Most spans are of one unit, or of whole microseconds: then nothing need be divided.
        let (whole, part) = if parts < n {
            (0, parts)
        } else {
            self.whole(parts)
        };
        #[allow(clippy::cast_possible_truncation)] // a remainder of a u32
        (
            (k as u64).saturating_mul(self.q).saturating_add(whole),
            part as u32,
        )
    }

    /// Whole microseconds in so many n-ths of one, and what is left; apart, so that what need not
    /// divide stays short.
    #[inline(never)]
    const fn whole(self, parts: u64) -> (u64, u64) {
        let n = self.n as u64;
        if parts < 2 * n {
            (1, parts - n)
        } else {
            (parts / n, parts % n)
        }
    }

    /// How many whole units come in `elapsed` microseconds less `f` n-ths of one.
    #[inline]
    pub(crate) fn units_in(self, elapsed: u64, f: u32) -> u64 {
        // Busy keys come again before a unit is back: then nothing need be divided.
        if elapsed < self.q {
            return 0;
        }
        self.units_back(elapsed, f)
    }

    #[inline(never)]
    fn units_back(self, elapsed: u64, f: u32) -> u64 {
        let (n, d) = (u64::from(self.n), self.per().as_micros());
        if elapsed < 1 << 41 {
            return (elapsed * n).saturating_sub(u64::from(f)) / d;
        }
        let parts = (u128::from(elapsed) * u128::from(n)).saturating_sub(u128::from(f));
        u64::try_from(parts / u128::from(d)).unwrap_or(u64::MAX)
    }

    /// How many units, the last begun one included, come in `elapsed` microseconds and `f` n-ths.
    pub(crate) fn units_begun_in(self, elapsed: u64, f: u32) -> u64 {
        let parts = u128::from(elapsed) * u128::from(self.n) + u128::from(f);
        u64::try_from(parts.div_ceil(u128::from(self.per().as_micros()))).unwrap_or(u64::MAX)
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The nearest fractions below and above n/d whose numerators fit: a walk down the Stern–Brocot
/// tree that takes each run of equal turns in one stride.
fn neighbours(n: u64, d: u64) -> (Rate, Rate) {
    let (n, d, max) = (u128::from(n), u128::from(d), u128::from(MAX_UNITS));
    let (mut low, mut high) = ((0_u128, 1_u128), (1_u128, 0_u128));
    loop {
        // Raise the lower bound towards n/d as long as it stays below and its numerator fits.
        let gap = high.0 * d - n * high.1;
        let stride = ((n * low.1 - low.0 * d) / gap).min((max - low.0) / high.0);
        low = (low.0 + stride * high.0, low.1 + stride * high.1);
        let gap = n * low.1 - low.0 * d;
        let room = (max - high.0).checked_div(low.0).unwrap_or(u128::MAX);
        let back = ((high.0 * d - n * high.1) / gap).min(room);
        high = (high.0 + back * low.0, high.1 + back * low.1);
        if stride == 0 && back == 0 {
            return (fraction(low), fraction(high));
        }
    }
}

/// Both parts are below those of a rate that fit u64.
fn fraction((n, d): (u128, u128)) -> Rate {
    let narrow = |v: u128| u64::try_from(v).unwrap_or(u64::MAX).max(1);
    Rate::reduced(narrow(n), narrow(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(us: u64) -> Span {
        Span::from_micros(us).unwrap()
    }

    #[test]
    fn the_rates_that_must_fit_do() {
        let day = 86_400_000_000;
        for (units, per) in [
            (999_983, day),
            (1_000_000, 1_000_000),
            (1_000_000, day),
            (1, 315_360_000_000_000),
            (7, 11),
            (1, 1_500_000),
        ] {
            let rate = Rate::new(units, span(per)).unwrap();
            let g = gcd(units, per);
            assert_eq!(u64::from(rate.units()), units / g);
            assert_eq!(rate.per().as_micros(), per / g);
        }
    }

    #[test]
    fn a_unit_takes_its_exact_time() {
        let rate = Rate::new(3, span(10)).unwrap();
        assert_eq!(rate.span_of(1, 0), (3, 1));
        assert_eq!(rate.span_of(2, 2), (7, 1));
        assert_eq!(rate.units_in(9, 0), 2);
        assert_eq!(rate.units_in(10, 0), 3);
        assert_eq!(rate.units_in(10, 1), 2);
        assert_eq!(rate.units_begun_in(3, 1), 1);
        assert_eq!(rate.units_begun_in(3, 2), 2);
    }

    #[test]
    fn an_awkward_rate_names_its_neighbours() {
        let (n, d) = (999_999_937_u64, 86_400_000_000_u64);
        let Err(QuotaError::AwkwardRate { slower, faster }) = Rate::new(n, span(d)) else {
            panic!("a numerator of 30 bits cannot be held");
        };
        let below = |a: Rate, n: u64, d: u64| {
            u128::from(a.units()) * u128::from(d) < u128::from(n) * u128::from(a.per().as_micros())
        };
        assert!(below(slower, n, d));
        assert!(!below(faster, n, d));
        // Neighbours in a Stern–Brocot sense: nothing with a smaller numerator lies between.
        let cross = u128::from(faster.units()) * u128::from(slower.per().as_micros())
            - u128::from(slower.units()) * u128::from(faster.per().as_micros());
        assert_eq!(cross, 1);
        assert!(u64::from(slower.units().max(faster.units())) <= MAX_UNITS);
    }
}
