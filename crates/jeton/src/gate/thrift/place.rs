//! What tells one cell from every other.

use std::hash::{BuildHasher, RandomState};

use jeton_core::{Kind, Op, RuleId};

/// A rule, a kind of state, and the hash of a key, as in the in-process table: under a secret of this
/// process, so that no client can look for a key that meets another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    rule: RuleId,
    kind: Kind,
    pub(super) hash: u64,
}

/// The secret.
#[derive(Debug, Default)]
pub(super) struct Places(RandomState);

impl Places {
    pub(super) fn of(&self, op: &Op<'_>) -> Place {
        let (rule, kind, key) = op.place();
        let hash = self.0.hash_one((rule, kind, key));
        Place { rule, kind, hash }
    }
}
