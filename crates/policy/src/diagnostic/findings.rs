//! Collects findings, so that one run shows them all.

use super::conceal::{without_secrets, without_users};
use super::{Code, Diagnostic, Fault, Report, Severity};
use crate::source::{Mark, Source};

/// Findings of one severity in one source that are kept. Whoever has more has not written the file by hand,
/// and a file must not become a report of any length.
const MOST: usize = 1000;

/// Bytes of a line that is shown; longer ones are told by their place alone.
const LONGEST_LINE: usize = 16 << 10;

/// Everything found so far in one source.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    source: &'a Source,
    list: Vec<(Mark, Diagnostic)>,
    /// Errors and warnings that were ever kept.
    kept: (usize, usize),
}

impl<'a> Findings<'a> {
    pub(crate) const fn new(source: &'a Source) -> Self {
        Self {
            source,
            list: Vec::new(),
            kept: (0, 0),
        }
    }

    /// Refuses the policy. Returns `None`, so that a check can end with it.
    pub(crate) fn error<T>(&mut self, mark: Mark, fault: Fault) -> Option<T> {
        self.push(Severity::Error, mark, fault);
        None
    }

    pub(crate) fn warning(&mut self, mark: Mark, fault: Fault) {
        self.push(Severity::Warning, mark, fault);
    }

    /// The value, or an error at `mark`.
    pub(crate) fn keep<T>(&mut self, mark: Mark, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => self.error(mark, fault),
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// How many errors there are so far.
    pub(crate) fn errors(&self) -> usize {
        let errors = self.list.iter();
        errors
            .filter(|(_, found)| found.severity == Severity::Error)
            .count()
    }

    /// Forgets findings that another one explains.
    #[cfg(feature = "toml")]
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Code, usize) -> bool) {
        self.list.retain(|(_, found)| keep(found.code, found.line));
    }

    /// The lines that have findings so far.
    #[cfg(feature = "toml")]
    pub(crate) fn lines(&self) -> Vec<usize> {
        self.list.iter().map(|(_, found)| found.line).collect()
    }

    /// All findings in the order of the file.
    pub(crate) fn into_report(mut self) -> Report {
        self.list.sort_by_key(|(mark, found)| (*mark, found.code));
        Report::new(self.list.into_iter().map(|(_, found)| found).collect())
    }

    fn push(&mut self, severity: Severity, mark: Mark, fault: Fault) {
        let kept = match severity {
            Severity::Error => &mut self.kept.0,
            Severity::Warning => &mut self.kept.1,
        };
        if *kept >= MOST {
            return;
        }
        *kept += 1;
        let place = self.source.place(mark);
        let line = Some(place.text).filter(|line| line.len() <= LONGEST_LINE);
        let diagnostic = Diagnostic {
            code: fault.code,
            severity,
            file: self.source.name().to_owned(),
            line: place.line,
            column: place.column,
            length: place.length,
            // They may quote a word that was a URL.
            what: without_users(fault.what),
            label: without_users(fault.label),
            fix: without_users(fault.fix),
            excerpt: without_secrets(line.unwrap_or_default()),
        };
        self.list.push((mark, diagnostic));
    }
}
