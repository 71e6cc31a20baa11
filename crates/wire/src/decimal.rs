//! Integers as decimal text without the formatting machinery: fields are written per request.

const DIGITS_MAX: usize = 20;

/// Appends `value` in decimal.
pub(crate) fn push_decimal(out: &mut String, value: u64) {
    let mut digits = ['0'; DIGITS_MAX];
    let mut rest = value;
    let mut len = 0;
    for digit in &mut digits {
        // `rest % 10` is a digit, so the fallback is never taken.
        *digit = char::from_digit((rest % 10) as u32, 10).unwrap_or('0');
        rest /= 10;
        len += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend(digits.iter().take(len).rev());
}

#[cfg(test)]
mod tests {
    use super::push_decimal;

    #[test]
    fn it_writes_what_display_writes() {
        for value in [0, 1, 9, 10, 99, 100, 999_999_999_999_999, u64::MAX] {
            let mut out = String::new();
            push_decimal(&mut out, value);
            assert_eq!(out, value.to_string());
        }
    }
}
