//! Numbers as arguments have them.

/// A whole number in 64 bits: digits, perhaps behind a minus.
///
/// ```
/// use jeton_server::resp::protocol::whole;
/// assert_eq!([whole(b"-5"), whole(b"007")], [Some(-5), Some(7)]);
/// assert_eq!([whole(b""), whole(b"1.5"), whole(b"9223372036854775808")], [None; 3]);
/// ```
#[inline]
pub fn whole(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(number(digits)?),
        digits => i64::try_from(number(digits)?).ok(),
    }
}

/// Digits and nothing else; what does not fit in 64 bits is as large as fits.
///
/// ```
/// use jeton_server::resp::protocol::natural;
/// assert_eq!([natural(b"42"), natural(&[b'9'; 99])], [Some(42), Some(u64::MAX)]);
/// assert_eq!([natural(b""), natural(b"-1"), natural(b"1e3")], [None; 3]);
/// ```
#[inline]
pub fn natural(text: &[u8]) -> Option<u64> {
    let is_digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_digits.then(|| number(text).unwrap_or(u64::MAX))
}

#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
