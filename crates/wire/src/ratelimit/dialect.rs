//! Which fields, under which names: a table, so that another dialect is another row.

use std::{error::Error, fmt, str::FromStr};

use super::{LimitItem, PolicyItem, ietf11};

/// What the fields of one answer report. Both lists stand in the same, stable order.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The rules that applied.
    pub policies: &'a [PolicyItem<'a>],
    /// What is left under them; empty when the store did not answer, for it is never invented.
    pub limits: &'a [LimitItem<'a>],
}

/// A way to write quotas into header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` and `RateLimit`.
    #[default]
    Ietf11,
    /// No such fields at all; `Retry-After` is not part of a dialect and stays.
    None,
}

struct Field {
    name: &'static str,
    write: fn(&Report<'_>, &mut String),
}

const IETF_11: &[Field] = &[
    Field {
        name: "ratelimit-policy",
        write: |report, out| ietf11::write_policies(report.policies, out),
    },
    Field {
        name: "ratelimit",
        write: |report, out| ietf11::write_limits(report.limits, out),
    },
];

/// Every word of the setting; `None` marks those that are known but cannot be written yet.
const WORDS: &[(&str, Option<Dialect>)] = &[
    ("ietf", Some(Dialect::Ietf11)),
    ("ietf-11", Some(Dialect::Ietf11)),
    ("none", Some(Dialect::None)),
    ("ietf-next", None),
    ("draft-7", None),
    ("draft-6", None),
    ("legacy-epoch", None),
    ("legacy-delta", None),
    ("envoy", None),
];

impl Dialect {
    /// Hands `each` the name (lower case) and value of every field this dialect has for `report`.
    ///
    /// `scratch` is overwritten; keep one between answers and nothing is allocated here.
    ///
    /// ```
    /// use jeton_wire::ratelimit::{Dialect, PolicyItem, Report};
    ///
    /// let policy = PolicyItem::window("login", 5, 60_000_000);
    /// let report = Report { policies: &[policy], limits: &[policy.limit(4, 60_000_000)] };
    /// let mut fields = Vec::new();
    /// Dialect::Ietf11.write_fields(&report, &mut String::new(), |name, value| {
    ///     fields.push(format!("{name}: {value}"));
    /// });
    /// assert_eq!(fields, [r#"ratelimit-policy: "login";q=5;w=60"#, r#"ratelimit: "login";r=4;t=60"#]);
    /// ```
    pub fn write_fields(
        self,
        report: &Report<'_>,
        scratch: &mut String,
        mut each: impl FnMut(&'static str, &str),
    ) {
        for field in self.fields() {
            scratch.clear();
            (field.write)(report, scratch);
            if !scratch.is_empty() {
                each(field.name, scratch);
            }
        }
    }

    /// The names of this dialect's fields, in lower case: what CORS must expose to scripts.
    pub fn field_names(self) -> impl Iterator<Item = &'static str> {
        self.fields().iter().map(|field| field.name)
    }

    /// The words that can be set today, in the order to offer them.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS
            .iter()
            .filter(|(_, dialect)| dialect.is_some())
            .map(|(word, _)| *word)
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Ietf11 => IETF_11,
            Self::None => &[],
        }
    }
}

impl FromStr for Dialect {
    type Err = DialectError;

    /// Reads the word of the setting `headers`.
    ///
    /// # Errors
    ///
    /// [`DialectError::NotYet`] for a dialect that a later release writes,
    /// [`DialectError::Unknown`] for any other word.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, Some(dialect))) => Ok(*dialect),
            Some((known, None)) => Err(DialectError::NotYet(known)),
            None => Err(DialectError::Unknown(word.to_owned())),
        }
    }
}

/// Why a word does not name a dialect that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialectError {
    /// A known dialect that this release does not write.
    NotYet(&'static str),
    /// No dialect has this name.
    Unknown(String),
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet(word) => write!(f, "header dialect \"{word}\" is not available yet")?,
            Self::Unknown(word) => write!(f, "there is no header dialect {word:?}")?,
        }
        f.write_str("; use one of")?;
        for (index, word) in Dialect::words().enumerate() {
            write!(f, "{} \"{word}\"", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Error for DialectError {}
