//! The number in front of a unit.

/// Digits and what follows them. No sign, no fraction, no exponent, no separators.
pub(super) fn split(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Thousands set apart by spaces: `1 000 000`.
pub(crate) fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0_u64), "0");
        assert_eq!(grouped(999_u64), "999");
        assert_eq!(grouped(1_300_u64), "1 300");
        assert_eq!(grouped(1_000_000_u64), "1 000 000");
    }

    #[test]
    fn digits_end_where_anything_else_begins() {
        assert_eq!(split("1500ms"), ("1500", "ms"));
        assert_eq!(split("-1s"), ("", "-1s"));
        assert_eq!(split("1.5s"), ("1", ".5s"));
        assert_eq!(split("٣s"), ("", "٣s"));
    }
}
