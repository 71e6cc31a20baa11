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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        let text = |piece: &[u8]| String::from_utf8(piece.to_vec()).expect("text");
        let left: Vec<_> = Pieces::new(value.as_bytes(), b',').map(text).collect();
        assert_eq!(left, expected);
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
}
