//! One call of a batch, and the counters that it is about.

use std::ops::Range;

use jeton_core::{Act, OnDeny, Op};
use jeton_policy::Charge;

use super::super::Live;
use super::super::asked::Seed;
use crate::answered::Disposition;
use crate::verb::Verb;

/// One call.
pub(super) struct Call {
    /// Its counters among those of the batch.
    pub(super) counted: Range<usize>,
    /// Its number among the plans that were brought before the store.
    pub(super) plan: Option<usize>,
    /// What becomes of it without asking any counter.
    pub(super) refused: Option<Disposition>,
    pub(super) verb: Verb,
}

/// An act on one counter.
pub(super) struct Counted {
    pub(super) seed: Seed,
    /// Its key among those of the batch.
    pub(super) key: Range<usize>,
    pub(super) act: Act,
    pub(super) on_deny: OnDeny,
}

impl Counted {
    pub(super) fn of(live: &Live, charge: &Charge<'_>, key: Range<usize>, act: Act) -> Self {
        Self {
            seed: Seed::of(live, charge),
            key,
            act,
            on_deny: charge.on_deny,
        }
    }

    pub(super) fn op<'a>(&'a self, keys: &'a [u8]) -> Op<'a> {
        let key = keys.get(self.key.clone()).unwrap_or_default();
        Op {
            mode: self.seed.mode.into(),
            on_deny: self.on_deny,
            ..Op::new(self.seed.id, key, &self.seed.quota, self.act)
        }
    }
}
