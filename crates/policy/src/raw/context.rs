//! What every check needs at hand.

use std::path::PathBuf;

use super::{Resolve, Unresolved};
use crate::diagnostic::{Fault, Findings, Report};
use crate::source::{Mark, Source};

/// Collects findings and reads references, through one pass over a file.
pub(crate) struct Context<'a> {
    pub(crate) findings: Findings<'a>,
    /// What was found in other files.
    pub(crate) beside: Report,
    pub(super) resolver: &'a dyn Resolve,
}

impl<'a> Context<'a> {
    pub(crate) fn new(source: &'a Source, resolver: &'a dyn Resolve) -> Self {
        Self {
            findings: Findings::new(source),
            beside: Report::default(),
            resolver,
        }
    }

    /// Where a path points that stands in the file.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        self.resolver.path(written)
    }

    /// The text of a file that is part of the policy.
    #[cfg(feature = "toml")]
    pub(crate) fn text(&self, path: &str) -> Result<String, Unresolved> {
        self.resolver.text(path)
    }

    /// The files of a folder.
    #[cfg(feature = "toml")]
    pub(crate) fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        self.resolver.folder(path)
    }

    /// What messages call a file.
    #[cfg(feature = "toml")]
    pub(crate) fn shown(&self, path: &str) -> String {
        self.path(path).display().to_string()
    }

    /// Whether a path that stands in the file is that of no file. One that cannot be read is there.
    pub(crate) fn is_no_file(&self, written: &str) -> bool {
        let read = self.resolver.file(written);
        matches!(read, Err(Unresolved::Absent | Unresolved::NotAFile))
    }

    /// Refuses the policy. Returns `None`, so that a check can end with it.
    pub(crate) fn error<T>(&mut self, mark: Mark, fault: Fault) -> Option<T> {
        self.findings.error(mark, fault)
    }
}
