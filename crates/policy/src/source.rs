//! Where a word stands: byte ranges while reading, lines and columns when speaking to people.

use std::ops::Range;

/// A text with a name: a policy file, or the value of a command-line flag.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// Byte offset at which each line begins.
    lines: Vec<usize>,
}

impl Source {
    /// A text as it was read, under the name that messages give it.
    ///
    /// ```
    /// use jeton_policy::Source;
    /// let source = Source::new("jeton.toml", "[proxy]\n");
    /// assert_eq!(source.name(), "jeton.toml");
    /// ```
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            // Some editors begin a file with a byte order mark, which no column counts.
            text.remove(0);
        }
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(ends.map(|(at, _)| at + 1))
            .collect();
        Self {
            name: name.into(),
            text,
            lines,
        }
    }

    /// What messages call this text.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a mark, both counted from 1, columns in characters.
    pub(crate) fn place(&self, mark: Mark) -> Place<'_> {
        let start = mark.start.min(self.text.len());
        let line = self.lines.partition_point(|begin| *begin <= start).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or(0);
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        let rest = self.text.get(begin..end).unwrap_or("");
        let text = rest.lines().next().unwrap_or("");
        let head = text.get(..start - begin).unwrap_or(text);
        let marked = text.get(start - begin..).unwrap_or("");
        let marked = marked.get(..mark.len()).unwrap_or(marked);
        Place {
            line,
            column: head.chars().count() + 1,
            length: marked.chars().count().max(1),
            text,
        }
    }
}

/// A byte range of a [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Mark {
    pub(crate) const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }
}

impl From<Range<usize>> for Mark {
    fn from(range: Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

/// A mark in the words of an editor.
pub(crate) struct Place<'a> {
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// Characters under the mark on its first line; at least 1.
    pub(crate) length: usize,
    pub(crate) text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, range: Range<usize>) -> (usize, usize, usize) {
        let source = Source::new("t", text);
        let place = source.place(range.into());
        (place.line, place.column, place.length)
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        assert_eq!(place("abc", 0..1), (1, 1, 1));
        assert_eq!(place("a\nbc\n", 3..4), (2, 2, 1));
        assert_eq!(place("é = 1", 3..4), (1, 3, 1));
        assert_eq!(place("é = 1", 0..2), (1, 1, 1));
    }

    #[test]
    fn a_mark_over_several_lines_shows_its_first() {
        assert_eq!(place("ab\ncd\r\nef", 3..9), (2, 1, 2));
    }

    #[test]
    fn a_mark_at_or_past_the_end_still_has_a_place() {
        assert_eq!(place("", 0..0), (1, 1, 1));
        assert_eq!(place("a\n", 2..2), (2, 1, 1));
        assert_eq!(place("a", 7..9), (1, 2, 1));
        assert_eq!(place("é", 1..1), (1, 2, 1));
    }
}
