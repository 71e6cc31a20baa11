//! What is wrong with a policy, where, and what to write instead.

mod codes;
mod conceal;
mod findings;
mod render;
mod report;
mod suggest;

use serde::Serialize;

pub(crate) use codes::code;
pub use codes::{CODES, Code};
pub(crate) use findings::Findings;
pub use render::Short;
pub use report::Report;
pub(crate) use suggest::{is_slip, nearest};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy is refused.
    Error,
    /// The policy loads; somebody should know.
    Warning,
}

impl Severity {
    /// The word that output begins with.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A finding before it has a place: what a parser of one value knows.
///
/// ```
/// let fault = jeton_policy::parse_duration("60").unwrap_err();
/// assert_eq!(fault.to_string(), "the duration \"60\" has no unit; write \"60s\"");
/// assert_eq!(format!("{fault:?}"), fault.to_string());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of finding.
    pub code: Code,
    /// The finding in one sentence, without full stop.
    pub what: String,
    /// A few words to stand under the mark; may be empty.
    pub label: String,
    /// What to write instead; may be empty.
    pub fix: String,
}

impl Fault {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            label: String::new(),
            fix: String::new(),
        }
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    /// A fix that is a value becomes the whole line.
    pub(crate) fn fix_whole_line(mut self, key: &str) -> Self {
        if self.fix.starts_with('"') {
            self.fix = format!("{key} = {}", self.fix);
        }
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if !self.fix.is_empty() {
            write!(f, "; write {}", self.fix)?;
        }
        Ok(())
    }
}

/// The text of [`Display`](std::fmt::Display): it is what `?` out of `main` prints.
impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Fault {}

/// One finding in a policy. Its [`Display`](std::fmt::Display) is the text that `jeton check`
/// prints, with the line it stands on and a caret under the word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The kind of finding, such as `E012`.
    pub code: Code,
    /// Whether the policy is refused.
    pub severity: Severity,
    /// The file, or the command-line flag.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters marked; at least 1.
    pub length: usize,
    /// The finding in one sentence.
    pub what: String,
    /// A few words that stand under the mark; may be empty.
    pub label: String,
    /// What to write instead; may be empty.
    pub fix: String,
    /// The line as it stands in the file.
    pub excerpt: String,
}
