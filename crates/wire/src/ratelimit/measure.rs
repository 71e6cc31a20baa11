//! Quotas of any algorithm as the `q` and `w` of the fields, in exact integers.

/// The largest Integer of structured fields: 15 digits (RFC 9651 section 3.3.1).
pub const MAX_INTEGER: u64 = 999_999_999_999_999;

/// The longest span a field of single numbers tells or is believed to tell, in seconds: about 31
/// years. Above it, such a number is an instant.
pub const MAX_SPAN_S: u64 = 1_000_000_000;

/// The latest instant told, in seconds of the Unix epoch: above it, readers take milliseconds.
pub(super) const MAX_EPOCH_S: u64 = 99_999_999_999;

const MICROS_PER_SECOND: u128 = 1_000_000;

/// `(quota, window_s)` of a bucket: w = max(1, ceil(seconds to fill)), q = max(1, floor(rate × w)).
///
/// A zero rate or period cannot be loaded; here it counts as 1, so that nothing divides by it.
/// Saturation is harmless: what saturates is far above [`MAX_INTEGER`] and ends there either way.
pub(super) fn bucket(units: u64, per_us: u64, burst: u64) -> (u64, u64) {
    let (units, per_us) = (u128::from(units.max(1)), u128::from(per_us.max(1)));
    let fill_s = (u128::from(burst) * per_us).div_ceil(units * MICROS_PER_SECOND);
    let window_s = clamp(fill_s);
    let quota = units
        .saturating_mul(u128::from(window_s))
        .saturating_mul(MICROS_PER_SECOND)
        / per_us;
    (clamp(quota), window_s)
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value)
        .unwrap_or(MAX_INTEGER)
        .clamp(1, MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::{MAX_INTEGER, bucket};

    #[test]
    fn buckets_are_told_in_whole_seconds() {
        let second = 1_000_000;
        for (units, per_us, burst, expected) in [
            (20, second, 100, (100, 5)),
            (1, second, 1, (1, 1)),
            (5, second, 1, (5, 1)),
            (1000, second, 100, (1000, 1)),
            (100, 60 * second, 100, (100, 60)),
            // 1.5 s to fill: in 2 s there come 1.33 units.
            (2, 3 * second, 1, (1, 2)),
            // One per 1.5 s, ten held: 15 s.
            (1, 1_500_000, 10, (10, 15)),
            // Ten years for one unit.
            (1, 315_360_000 * second, 1, (1, 315_360_000)),
            (7, 11, 1, (636_363, 1)),
        ] {
            assert_eq!(
                bucket(units, per_us, burst),
                expected,
                "{units}/{per_us} burst {burst}"
            );
        }
    }

    #[test]
    fn no_number_overflows_or_leaves_the_domain() {
        let edges = [0, 1, 2, 999_983, 1 << 32, u64::MAX - 1, u64::MAX];
        for units in edges {
            for per_us in edges {
                for burst in edges {
                    let (quota, window_s) = bucket(units, per_us, burst);
                    assert!((1..=MAX_INTEGER).contains(&quota));
                    assert!((1..=MAX_INTEGER).contains(&window_s));
                }
            }
        }
    }
}
