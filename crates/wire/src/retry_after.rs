//! Waits in microseconds, told to clients in the whole seconds that `Retry-After` can say.

const MICROS_PER_SECOND: u64 = 1_000_000;

/// A span in whole seconds, rounded up; zero stays zero.
///
/// ```
/// # use jeton_wire::retry_after::ceil_s;
/// assert_eq!([ceil_s(0), ceil_s(1), ceil_s(1_000_000), ceil_s(1_000_001)], [0, 1, 1, 2]);
/// ```
#[must_use]
pub const fn ceil_s(span_us: u64) -> u64 {
    span_us.div_ceil(MICROS_PER_SECOND)
}

/// The `delay-seconds` of `Retry-After` (RFC 9110 section 10.2.3) for a wait in microseconds.
///
/// The field knows no fraction, and a 0 would invite the client to hammer: so it is rounded up and
/// at least 1. It is never earlier than the `t` of [`ratelimit`](crate::ratelimit) for that span.
///
/// ```
/// # use jeton_wire::retry_after::retry_after_s;
/// assert_eq!(retry_after_s(150_000), 1);
/// assert_eq!(retry_after_s(59_000_001), 60);
/// ```
#[must_use]
pub const fn retry_after_s(wait_us: u64) -> u64 {
    let whole_s = ceil_s(wait_us);
    if whole_s == 0 { 1 } else { whole_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_does_not_overflow() {
        assert_eq!(retry_after_s(u64::MAX), 18_446_744_073_710);
    }

    #[test]
    fn no_wait_at_all_still_says_one() {
        assert_eq!(retry_after_s(0), 1);
    }
}
