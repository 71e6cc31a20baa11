//! Numbers for people.

/// A number in groups of three digits: `1 090`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_stand_in_threes() {
        let shown = [0, 999, 1_000, 12_345, 1_234_567].map(super::grouped);
        assert_eq!(shown, ["0", "999", "1 000", "12 345", "1 234 567"]);
    }
}
