//! The policy language as data: its sections, their settings, and what each takes.
//!
//! One table, read twice: the checker refuses what is not in it, and [`schema`](crate::schema())
//! tells editors what is.

mod form;

pub(crate) use form::Form;

use crate::raw::Later;

/// The words that a section knows.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// As messages call it: `[proxy]`.
    pub(crate) section: &'static str,
    /// How it is written.
    pub(crate) example: &'static str,
    /// What it is for, in one sentence.
    pub(crate) about: &'static str,
    pub(crate) known: &'static [Word],
    /// Words without which it says nothing.
    pub(crate) required: &'static [&'static str],
    pub(crate) later: &'static [Later],
}

/// What the vocabulary of the whole file is called: its words are sections.
pub(crate) const ROOT: &str = "the file";

/// One setting, or one section of the file.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// What it says, in one sentence, with its default.
    pub(crate) about: &'static str,
}

/// What can stand on the right of an equals sign.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A table, or a section.
    Table(&'static Vocabulary),
    /// `[[…]]`: any number of tables.
    Tables(&'static Vocabulary),
    /// A text, or a reference to one.
    Text(Form),
    /// The same, one or a list of several.
    Texts(Form),
    /// A text that is shown, so that it cannot stand elsewhere.
    Shown(Form),
    /// The same, one or a list of several.
    ManyShown(Form),
    /// One of a few words.
    Words(&'static [&'static str]),
    /// The same, or a list of several.
    ManyWords(&'static [&'static str]),
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A whole number, or one of a few words.
    CountOrWord(u64, u64, &'static [&'static str]),
    /// A number above 0 and at most 1.
    Share,
    /// `true` or `false`.
    Flag,
    /// A table of header fields and their values.
    Fields,
    /// One of several shapes.
    OneOf(&'static [Shape]),
    /// One of the shape, or a list of several.
    Many(&'static Shape),
    /// A table of names that the policy chooses, each with a value of the shape.
    Named(Form, &'static Shape),
}

impl Shape {
    /// Whether this shape, or one that may stand in its place, is such a one.
    pub(crate) fn any(self, such: &impl Fn(Self) -> bool) -> bool {
        match self {
            Self::OneOf(shapes) => shapes.iter().any(|shape| shape.any(such)),
            Self::Many(shape) => shape.any(such),
            one => such(one),
        }
    }

    /// The range of the whole numbers that it takes.
    pub(crate) fn range(self) -> Option<(u64, u64)> {
        match self {
            Self::Count(low, high) | Self::CountOrWord(low, high, _) => Some((low, high)),
            Self::OneOf(shapes) => shapes.iter().find_map(|shape| shape.range()),
            Self::Many(shape) => shape.range(),
            _ => None,
        }
    }
}

impl Vocabulary {
    pub(crate) fn word(&self, name: &str) -> Option<&Word> {
        self.known.iter().find(|word| word.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().map(|word| word.name)
    }

    /// A word as it stands in a file.
    pub(crate) fn shown(&self, word: &str) -> String {
        match (self.section, word) {
            (ROOT, "rule") => "[[rule]]".to_owned(),
            (ROOT, _) => format!("[{word}]"),
            _ => word.to_owned(),
        }
    }
}

/// A row of a vocabulary.
pub(crate) const fn word(name: &'static str, shape: Shape, about: &'static str) -> Word {
    Word { name, shape, about }
}

/// The words of a table of words and their meanings.
pub(crate) const fn names<T: Copy, const N: usize>(
    words: &[(&'static str, T); N],
) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = words[at].0;
        at += 1;
    }
    names
}
