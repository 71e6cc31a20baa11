//! Which fields, under which names: a table, so that another dialect is another row.

use std::{error::Error, fmt, str::FromStr};

use super::{LimitItem, PolicyItem, list, number};

/// What the fields of one answer report. Both lists stand in the same order: first the rule that
/// matters most, for some dialects can tell no other.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// The rules that applied.
    pub policies: &'a [PolicyItem<'a>],
    /// What is left under them; empty when the store did not answer, for it is never invented.
    pub limits: &'a [LimitItem<'a>],
    /// The instant of the decision, in microseconds of the Unix epoch: some dialects tell instants.
    pub now_us: u64,
}

/// A way to write quotas into header fields.
///
/// | dialect | fields of a rule 100/min with 50 left, 30 s before its window ends |
/// |---|---|
/// | `ietf-11` | `RateLimit-Policy: "x";q=100;w=60` · `RateLimit: "x";r=50;t=30` |
/// | `ietf-next` | `RateLimit-Policy: "x";q=100;w=60` · `RateLimit: "x";a=50;w=30;c=1` |
/// | `draft-7` | `RateLimit-Policy: 100;w=60` · `RateLimit: limit=100, remaining=50, reset=30` |
/// | `draft-6` | `RateLimit-Policy: 100;w=60` · `RateLimit-Limit: 100` · `…-Remaining: 50` · `…-Reset: 30` |
/// | `legacy-epoch` | `X-RateLimit-Limit: 100` · `…-Remaining: 50` · `…-Reset: 1800000030` |
/// | `legacy-delta` | `X-RateLimit-Limit: 100` · `…-Remaining: 50` · `…-Reset: 30` |
/// | `envoy` | `X-RateLimit-Limit: 100, 100;w=60;name="x"` · `…-Remaining: 50` · `…-Reset: 30` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` and `RateLimit`.
    #[default]
    Ietf11,
    /// The editors' version of August 2026, which renames `r` and `t` and adds the cost.
    IetfNext,
    /// draft -07: `RateLimit` is a Dictionary of one rule.
    Draft7,
    /// drafts -03 to -06: a field for each number.
    Draft6,
    /// `X-RateLimit-…` as GitHub has it: the reset is an instant.
    LegacyEpoch,
    /// `X-RateLimit-…` with the seconds left until the reset.
    LegacyDelta,
    /// `X-RateLimit-…` as Envoy has it, with all policies in the limit.
    Envoy,
    /// No such fields at all; `Retry-After` is not part of a dialect and stays.
    None,
}

struct Field {
    name: &'static str,
    write: fn(&Report<'_>, &mut String),
}

impl Field {
    const fn new(name: &'static str, write: fn(&Report<'_>, &mut String)) -> Self {
        Self { name, write }
    }
}

const IETF_11: &[Field] = &[
    Field::new("ratelimit-policy", |report, out| {
        list::write_policies(report.policies, out);
    }),
    Field::new("ratelimit", |report, out| {
        list::write_limits(report.limits, out);
    }),
];

const IETF_NEXT: &[Field] = &[
    Field::new("ratelimit-policy", |report, out| {
        list::write_policies(report.policies, out);
    }),
    Field::new("ratelimit", |report, out| {
        list::write_limits_next(report.limits, out);
    }),
];

const DRAFT_7: &[Field] = &[
    Field::new("ratelimit-policy", number::write_quotas),
    Field::new("ratelimit", number::write_dictionary),
];

const DRAFT_6: &[Field] = &[
    Field::new("ratelimit-policy", number::write_quotas),
    Field::new("ratelimit-limit", number::write_limit),
    Field::new("ratelimit-remaining", number::write_remaining),
    Field::new("ratelimit-reset", number::write_reset_delta),
];

const LEGACY_EPOCH: &[Field] = &[
    Field::new("x-ratelimit-limit", number::write_limit),
    Field::new("x-ratelimit-remaining", number::write_remaining),
    Field::new("x-ratelimit-reset", number::write_reset_epoch),
];

const LEGACY_DELTA: &[Field] = &[
    Field::new("x-ratelimit-limit", number::write_limit),
    Field::new("x-ratelimit-remaining", number::write_remaining),
    Field::new("x-ratelimit-reset", number::write_reset_delta),
];

const ENVOY: &[Field] = &[
    Field::new("x-ratelimit-limit", number::write_limit_and_quotas),
    Field::new("x-ratelimit-remaining", number::write_remaining),
    Field::new("x-ratelimit-reset", number::write_reset_delta),
];

/// Every word of the setting, in the order to offer them. Of several words for one dialect the
/// first is how it is shown.
const WORDS: &[(&str, Dialect)] = &[
    ("ietf", Dialect::Ietf11),
    ("ietf-11", Dialect::Ietf11),
    ("ietf-next", Dialect::IetfNext),
    ("draft-7", Dialect::Draft7),
    ("draft-6", Dialect::Draft6),
    ("legacy-epoch", Dialect::LegacyEpoch),
    ("legacy-delta", Dialect::LegacyDelta),
    ("envoy", Dialect::Envoy),
    ("none", Dialect::None),
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
    /// let report = Report {
    ///     policies: &[policy],
    ///     limits: &[policy.limit(4, 60_000_000)],
    ///     now_us: 1_800_000_000_000_000,
    /// };
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

    /// The names of this dialect's fields, in lower case.
    pub fn field_names(self) -> impl Iterator<Item = &'static str> {
        self.fields().iter().map(|field| field.name)
    }

    /// The words that can be set, in the order to offer them.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Ietf11 => IETF_11,
            Self::IetfNext => IETF_NEXT,
            Self::Draft7 => DRAFT_7,
            Self::Draft6 => DRAFT_6,
            Self::LegacyEpoch => LEGACY_EPOCH,
            Self::LegacyDelta => LEGACY_DELTA,
            Self::Envoy => ENVOY,
            Self::None => &[],
        }
    }
}

impl FromStr for Dialect {
    type Err = DialectError;

    /// Reads a word of the setting `headers`.
    ///
    /// # Errors
    ///
    /// [`DialectError`] for a word that names no dialect.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known
            .map(|(_, dialect)| *dialect)
            .ok_or_else(|| DialectError(word.to_owned()))
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, dialect)| dialect == self);
        f.pad(word.map_or("none", |(word, _)| word))
    }
}

/// A word that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectError(String);

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no header dialect {:?}; use one of", self.0)?;
        for (index, word) in Dialect::words().enumerate() {
            write!(f, "{} \"{word}\"", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Error for DialectError {}
