//! Exact fractions, and the two searches the models find their answers with.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Sub};

/// An exact fraction of two 128-bit integers, always reduced, with a positive denominator.
///
/// The models' values stay below 2^78 over 2^48, so no operation on them can leave 128 bits; one
/// that did would panic rather than wrap, since this crate is always built with overflow checks.
///
/// ```
/// use jeton_testkit::exact::Ratio;
/// let third = Ratio::new(2, 6);
/// assert_eq!(third + third + third, Ratio::from(1));
/// assert_eq!(Ratio::new(-1, 2).ceil(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    num: i128,
    den: i128,
}

impl Ratio {
    /// The fraction `num / den`.
    ///
    /// # Panics
    ///
    /// If `den` is zero.
    pub fn new(num: i128, den: i128) -> Self {
        assert!(den != 0, "a fraction cannot have the denominator 0");
        if den == 1 {
            return Self { num, den };
        }
        let common = gcd(num.unsigned_abs(), den.unsigned_abs());
        let common = i128::try_from(common).expect("a divisor of an i128 that is not i128::MIN");
        let sign = den.signum();
        Self {
            num: sign * (num / common),
            den: sign * (den / common),
        }
    }

    /// The denominator in lowest terms.
    pub fn denominator(self) -> i128 {
        self.den
    }

    /// The largest integer that is not above the fraction.
    pub fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }

    /// The smallest integer that is not below the fraction.
    pub fn ceil(self) -> i128 {
        -(-self.num).div_euclid(self.den)
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        // Division of 64 bits is several times faster, and most values are that small.
        if let (Ok(small_a), Ok(small_b)) = (u64::try_from(a), u64::try_from(b)) {
            return gcd_of_small(small_a, small_b).into();
        }
        (a, b) = (b, a % b);
    }
    a.max(1)
}

fn gcd_of_small(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl<T: Into<i128>> From<T> for Ratio {
    fn from(whole: T) -> Self {
        Self {
            num: whole.into(),
            den: 1,
        }
    }
}

impl Add for Ratio {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        if self.den == other.den {
            return Self::new(self.num + other.num, self.den);
        }
        Self::new(
            self.num * other.den + other.num * self.den,
            self.den * other.den,
        )
    }
}

impl Sub for Ratio {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self {
            num: -other.num,
            den: other.den,
        }
    }
}

impl Mul for Ratio {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        // Crosswise reduction first: it keeps the products as small as the result allows.
        let left = Self::new(self.num, other.den);
        let right = Self::new(other.num, self.den);
        Self {
            num: left.num * right.num,
            den: left.den * right.den,
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.den == other.den {
            return self.num.cmp(&other.num);
        }
        (self.num * other.den).cmp(&(other.num * self.den))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

/// The smallest `wait ≥ 1` for which `holds`, or `None` when it holds for none up to 2^53.
///
/// `holds` must stay true once it is true, as "allowed after this wait" does: a rule only gets
/// freer with time.
///
/// ```
/// # use jeton_testkit::exact::earliest;
/// assert_eq!(earliest(|wait| wait * wait >= 10), Some(4));
/// assert_eq!(earliest(|_| false), None);
/// ```
pub fn earliest(holds: impl Fn(u64) -> bool) -> Option<u64> {
    let mut yes = 1u64;
    while !holds(yes) {
        yes *= 2;
        if yes > 1 << 53 {
            return None;
        }
    }
    let mut no = yes / 2;
    while yes - no > 1 {
        let middle = no + (yes - no) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}

/// The largest amount in `0..=limit` for which `holds`, or `None` when it does not hold for 0.
///
/// `holds` must stay false once it is false, as "allowed at this cost" does.
///
/// ```
/// # use jeton_testkit::exact::largest;
/// assert_eq!(largest(100, |units| units * units < 10), Some(3));
/// assert_eq!(largest(100, |_| true), Some(100));
/// ```
pub fn largest(limit: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(0) {
        return None;
    }
    let (mut yes, mut no) = (0, limit + 1);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_reduced_and_signed_by_the_numerator() {
        assert_eq!(Ratio::new(-6, -4), Ratio::new(3, 2));
        assert_eq!(Ratio::new(6, -4), Ratio::new(-3, 2));
        assert_eq!(Ratio::new(0, -7), Ratio::from(0));
        assert_eq!(Ratio::new(6, -4).to_string(), "-3/2");
    }

    #[test]
    fn rounding_goes_the_named_way_on_both_sides_of_zero() {
        for (num, floor, ceil) in [(7, 2, 3), (6, 2, 2), (-7, -3, -2), (-6, -2, -2), (0, 0, 0)] {
            assert_eq!(Ratio::new(num, 3).floor(), floor, "floor {num}/3");
            assert_eq!(Ratio::new(num, 3).ceil(), ceil, "ceil {num}/3");
        }
    }

    #[test]
    fn arithmetic_is_exact() {
        let seventh = Ratio::new(1, 7);
        let sum = (0..7).fold(Ratio::from(0), |sum, _| sum + seventh);
        assert_eq!(sum, Ratio::from(1));
        assert_eq!(Ratio::new(1, 6) - Ratio::new(1, 10), Ratio::new(1, 15));
        assert_eq!(Ratio::new(4, 9) * Ratio::new(3, 8), Ratio::new(1, 6));
        assert!(Ratio::new(333_333, 1_000_000) < Ratio::new(1, 3));
    }

    #[test]
    fn searches_find_the_edge_for_every_edge() {
        for edge in 1..300 {
            assert_eq!(earliest(|wait| wait >= edge), Some(edge));
        }
        for edge in 0..40 {
            assert_eq!(largest(30, |units| units <= edge), Some(edge.min(30)));
        }
        assert_eq!(largest(5, |_| false), None);
    }
}
