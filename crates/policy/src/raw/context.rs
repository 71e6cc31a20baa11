//! What every check needs at hand.

use std::path::PathBuf;

use super::{Resolve, Unresolved};
use crate::diagnostic::{Fault, Findings};
use crate::source::{Mark, Source};

/// Collects findings and reads references, through one pass over a file.
pub(crate) struct Context<'a> {
    pub(crate) findings: Findings<'a>,
    pub(super) resolver: &'a dyn Resolve,
}

impl<'a> Context<'a> {
    pub(crate) fn new(source: &'a Source, resolver: &'a dyn Resolve) -> Self {
        Self {
            findings: Findings::new(source),
            resolver,
        }
    }

    /// Where a path points that stands in the file.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        self.resolver.path(written)
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
