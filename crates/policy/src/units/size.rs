//! Sizes in bytes.

use super::number::split;
use crate::diagnostic::{Fault, code};

const UNITS: [(&str, u64); 5] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Every word for a unit of size.
pub(crate) fn size_words() -> Vec<&'static str> {
    UNITS.iter().map(|(name, _)| *name).collect()
}

/// Reads a size in bytes: `B`, `KiB`, `MiB`, `GiB` or `TiB`.
///
/// ```
/// assert_eq!(jeton_policy::parse_size("256MiB")?, 256 << 20);
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
///
/// # Errors
/// A [`Fault`] that names the fix. 0 is read; what it would mean is for the setting to say.
pub fn parse_size(text: &str) -> Result<u64, Fault> {
    let (digits, word) = split(text);
    let unit = UNITS
        .iter()
        .find(|(name, _)| *name == word)
        .filter(|_| !digits.is_empty());
    let (_, bytes) = unit.ok_or_else(|| unreadable(text))?;
    let size = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(*bytes));
    size.ok_or_else(|| {
        Fault::new(code::SIZE, format!("the size {text:?} is too large"))
            .fix("\"256MiB\", or what the machine has")
    })
}

fn unreadable(text: &str) -> Fault {
    let fault = Fault::new(code::SIZE, format!("{text:?} is not a size"));
    let (digits, word) = split(text.trim());
    let letter = word
        .trim_start()
        .chars()
        .next()
        .map(|c| c.to_ascii_uppercase());
    let meant = match letter {
        None | Some('B') => "B",
        Some('K') => "KiB",
        Some('M') => "MiB",
        Some('G') => "GiB",
        Some('T') => "TiB",
        _ => {
            return fault
                .label("units are B, KiB, MiB, GiB, TiB")
                .fix("such as \"256MiB\"");
        }
    };
    if digits.is_empty() {
        return fault
            .label("a whole number and a unit")
            .fix("such as \"256MiB\"");
    }
    let size = format!("{digits}{meant}");
    fault
        .label("units are B, KiB, MiB, GiB, TiB")
        .fix(match parse_size(&size) {
            Ok(1..) => format!("{size:?}"),
            _ => "such as \"256MiB\"".to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_powers_of_two() {
        assert_eq!(parse_size("1B").unwrap(), 1);
        assert_eq!(parse_size("64KiB").unwrap(), 65_536);
        assert_eq!(parse_size("2GiB").unwrap(), 2 << 30);
        assert_eq!(parse_size("0MiB").unwrap(), 0);
    }

    #[test]
    fn a_slip_names_its_fix() {
        for (text, fix) in [
            ("256MB", "\"256MiB\""),
            ("256 MiB", "\"256MiB\""),
            ("256m", "\"256MiB\""),
            ("1gb", "\"1GiB\""),
            ("100", "\"100B\""),
            ("0", "such as \"256MiB\""),
            ("99999999999999999999", "such as \"256MiB\""),
            ("MiB", "such as \"256MiB\""),
            ("1Q", "such as \"256MiB\""),
            ("-1MiB", "such as \"256MiB\""),
            ("17592186044416TiB", "\"256MiB\", or what the machine has"),
        ] {
            assert_eq!(parse_size(text).unwrap_err().fix, fix, "{text}");
        }
    }
}
