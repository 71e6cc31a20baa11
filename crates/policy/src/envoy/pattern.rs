//! Values with wildcards: `*` anywhere, each for zero or more characters.

/// A pattern, cut at its wildcards when it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    first: Box<str>,
    middle: Box<[Box<str>]>,
    /// What comes after the last wildcard; none if there is no wildcard.
    last: Option<Box<str>>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        let mut pieces: Vec<Box<str>> = text.split('*').map(Box::from).collect();
        let last = (pieces.len() > 1).then(|| pieces.pop()).flatten();
        let first = pieces.first().cloned().unwrap_or_default();
        Self {
            first,
            middle: pieces.into_iter().skip(1).collect(),
            last,
        }
    }

    /// Whether it is all of `text`. What it takes is proportional to the text for each piece: no
    /// pattern makes it try again.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(last) = &self.last else {
            return *self.first == *text;
        };
        let Some(rest) = text.strip_prefix(&*self.first) else {
            return false;
        };
        let Some(mut rest) = rest.strip_suffix(&**last) else {
            return false;
        };
        // The leftmost place of each piece leaves most to the others.
        for piece in &self.middle {
            match rest.split_once(&**piece) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_star_is_zero_or_more_characters() {
        for (pattern, matching, other) in [
            ("abc", &["abc"][..], &["ab", "abcd", ""][..]),
            ("*", &["", "a", "*"], &[]),
            ("/api/*", &["/api/", "/api/x/y"], &["/api", "/ap", "x/api/"]),
            ("*.png", &[".png", "a.png"], &["png", "a.png "]),
            (
                "a*b*c",
                &["abc", "a-b-c", "abbc", "abcbc"],
                &["acb", "ab", "ac"],
            ),
            ("a**b", &["ab", "axb"], &["a", "b"]),
            ("aa*aa", &["aaaa", "aaxaa"], &["aaa", "aa"]),
            ("*é*", &["é", "né!"], &["e"]),
        ] {
            let pattern = Pattern::new(pattern);
            for text in matching {
                assert!(pattern.matches(text), "{pattern:?} {text:?}");
            }
            for text in other {
                assert!(!pattern.matches(text), "{pattern:?} {text:?}");
            }
        }
    }
}
