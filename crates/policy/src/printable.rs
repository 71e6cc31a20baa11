//! Text from clients and files, made fit for one line of a terminal or a log.

/// The most characters of a value that are shown.
const LONGEST: usize = 256;

/// The text with everything escaped that could move the cursor, end the line or turn the reading
/// direction (Unicode technical report 36, section 2.10), and cut when it is very long.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (count, letter) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        if letter.is_control() || is_invisible(letter) {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    out
}

/// As [`printable`]; what is not UTF-8 stands as the replacement character.
pub(crate) fn printable_bytes(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes))
}

/// Line and paragraph separators, marks of direction, and letters without a shape.
const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_is_left() {
        assert_eq!(printable("héllo wörld"), "héllo wörld");
        assert_eq!(printable("a\u{1b}[2J\r\n"), "a\\u{1b}[2J\\u{d}\\u{a}");
        assert_eq!(printable("a\u{202e}b\u{85}"), "a\\u{202e}b\\u{85}");
        assert_eq!(printable_bytes(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn a_very_long_value_is_cut() {
        let shown = printable(&"é".repeat(1_000));
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert!(shown.ends_with('…'));
    }
}
