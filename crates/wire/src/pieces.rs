//! Lists in field values: what stands between separators, where quoted strings hide them.

/// The pieces of a value from left to right, cut at separators that stand outside quoted strings
/// (RFC 9110 section 5.6.4). A string that is never closed reaches to the end of the value.
pub(crate) struct Pieces<'a> {
    rest: Option<&'a [u8]>,
    at: u8,
}

impl<'a> Pieces<'a> {
    pub(crate) const fn new(value: &'a [u8], at: u8) -> Self {
        Self {
            rest: Some(value),
            at,
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let end = separator(rest, self.at).unwrap_or(rest.len());
        self.rest = rest.get(end + 1..);
        rest.get(..end)
    }
}

fn separator(bytes: &[u8], at: u8) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    bytes.iter().position(|&byte| {
        let found = byte == at && !quoted;
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        found
    })
}

/// The same from right to left, each string looked for from its closing quote.
///
/// Whatever stands to the left of a well-formed piece, an unclosed string included, cannot change
/// how that piece is cut: what a trusted writer appended is read as it was written.
pub(crate) struct PiecesFromRight<'a> {
    rest: Option<&'a [u8]>,
    at: u8,
}

impl<'a> PiecesFromRight<'a> {
    pub(crate) const fn new(value: &'a [u8], at: u8) -> Self {
        Self {
            rest: Some(value),
            at,
        }
    }
}

impl<'a> Iterator for PiecesFromRight<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let Some(cut) = last_separator(rest, self.at) else {
            return Some(rest);
        };
        self.rest = rest.get(..cut);
        rest.get(cut + 1..)
    }
}

fn last_separator(bytes: &[u8], at: u8) -> Option<usize> {
    let mut quoted = false;
    let mut rest = bytes;
    while let Some((&last, before)) = rest.split_last() {
        if last == at && !quoted {
            return Some(before.len());
        }
        if last == b'"' {
            let backslashes = before.rsplit(|byte| *byte != b'\\').next();
            let is_escaped = backslashes.is_some_and(|run| run.len() % 2 == 1);
            quoted = !quoted || is_escaped;
        }
        rest = before;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        let text = |piece: &[u8]| String::from_utf8(piece.to_vec()).expect("text");
        let left: Vec<_> = Pieces::new(value.as_bytes(), b',').map(text).collect();
        assert_eq!(left, expected, "from the left");
        let mut right: Vec<_> = PiecesFromRight::new(value.as_bytes(), b',')
            .map(text)
            .collect();
        right.reverse();
        assert_eq!(right, expected, "from the right");
    }

    #[test]
    fn separators_in_strings_do_not_cut() {
        check("", &[""]);
        check(",", &["", ""]);
        check("a, b", &["a", " b"]);
        check(r#"a="x,y",b"#, &[r#"a="x,y""#, "b"]);
        check(r#"a="x\",y",b"#, &[r#"a="x\",y""#, "b"]);
        check(r#"a="x\\",b="\\\",""#, &[r#"a="x\\""#, r#"b="\\\",""#]);
        check(r#""","""#, &[r#""""#, r#""""#]);
    }

    #[test]
    fn what_stands_left_of_a_piece_does_not_change_its_right_end() {
        for forged in ["\"", "x=\"", "\\", "\"\\", "a,\"b\",\"", ";,;\"\""] {
            let value = format!("{forged}, for=192.0.2.1;host=\"a,\\\"b\"");
            let last = PiecesFromRight::new(value.as_bytes(), b',').next();
            assert_eq!(last, Some(br#" for=192.0.2.1;host="a,\"b""#.as_slice()));
        }
    }
}
