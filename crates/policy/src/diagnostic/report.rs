//! All findings of one policy.

use std::fmt;

use serde::Serialize;

use super::{Diagnostic, Severity};

/// All findings of one policy, in the order of the file.
///
/// As text: every finding, then the totals, which stay in view when there are many.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(crate) const fn new(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics }
    }

    /// Adds what was found in another text.
    pub(crate) fn extend(&mut self, other: Self) {
        self.diagnostics.extend(other.diagnostics);
    }

    /// The findings.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.diagnostics.iter()
    }

    /// How many findings refuse the policy.
    pub fn errors(&self) -> usize {
        self.count(Severity::Error)
    }

    /// How many findings only warn.
    pub fn warnings(&self) -> usize {
        self.count(Severity::Warning)
    }

    /// `true` if there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// The last line of output: `2 errors, 1 warning`.
    pub fn totals(&self) -> String {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let (errors, warnings) = (self.errors(), self.warnings());
        format!(
            "{errors} error{}, {warnings} warning{}",
            plural(errors),
            plural(warnings)
        )
    }

    fn count(&self, severity: Severity) -> usize {
        self.iter()
            .filter(|found| found.severity == severity)
            .count()
    }
}

impl<'a> IntoIterator for &'a Report {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in self {
            writeln!(f, "{diagnostic}")?;
        }
        f.write_str(&self.totals())
    }
}

/// The text of [`Display`](fmt::Display), on lines of its own: it is what `?` out of `main` prints.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Report {}

#[cfg(test)]
mod tests {
    use crate::Flags;

    #[test]
    fn out_of_main_a_report_prints_its_text() {
        let flags = Flags {
            listen: "127.0.0.1:8080",
            upstream: "http://127.0.0.1:3000",
            limit: "20 per minute",
            burst: None,
            strict: false,
            key: &[],
        };
        let report = crate::Policy::from_flags(&flags).unwrap_err();
        let shown = format!("{report:?}");
        assert_eq!(shown, format!("\n{report}"));
        assert!(
            shown.lines().count() < 12 && !shown.contains("# E012"),
            "{shown}"
        );
    }
}
