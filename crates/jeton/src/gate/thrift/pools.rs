//! All units of one cell that were taken ahead: of several charges, when the next ones have come before
//! the last ones were spent.

use jeton_core::{Micros, Quota, Receipt};

use super::pool::{Pool, Unspent};

/// Oldest first.
#[derive(Debug, Default)]
pub(super) struct Pools(Vec<Pool>);

impl Pools {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, pool: Pool) {
        self.0.push(pool);
    }

    /// Units that can be spent now.
    pub(super) fn left(&self, now: Micros) -> u32 {
        let left = self.0.iter().map(|pool| pool.left(now));
        left.fold(0, u32::saturating_add)
    }

    /// Whether one charge pays for `cost` as a whole: a receipt names one charge.
    pub(super) fn pay(&self, cost: u32, now: Micros) -> bool {
        self.paying(cost, now).is_some()
    }

    fn paying(&self, cost: u32, now: Micros) -> Option<usize> {
        let pays = |pool: &Pool| pool.left(now) >= cost.max(1);
        self.0.iter().position(pays)
    }

    /// Spends `cost` units, if one charge pays for them.
    pub(super) fn spend(&mut self, cost: u32, now: Micros) -> Option<Receipt> {
        let paying = self.paying(cost, now)?;
        let pool = self.0.get_mut(paying)?;
        let receipt = pool.spend(cost);
        if pool.left(now) == 0 {
            self.0.remove(paying);
        }
        Some(receipt)
    }

    /// Whether no more than `low` are left within half of their time.
    pub(super) fn run_low(&self, low: u32, now: Micros) -> bool {
        self.left(now) <= low && self.0.first().is_some_and(|pool| pool.is_young(now))
    }

    /// All that are left, to be given back.
    pub(super) fn unspent(&mut self) -> impl Iterator<Item = Unspent> {
        self.0.drain(..).filter_map(Pool::unspent)
    }

    /// The same when another quota has come into force.
    pub(super) fn unspent_under(
        &mut self,
        quota: &Quota,
        now: Micros,
    ) -> impl Iterator<Item = Unspent> {
        let all = self.0.drain(..);
        all.filter_map(move |pool| pool.unspent_under(quota, now))
    }

    /// The same of those that are too old to be spent.
    pub(super) fn unspent_old(&mut self, now: Micros) -> impl Iterator<Item = Unspent> {
        let old = self.0.extract_if(.., move |pool| pool.left(now) == 0);
        old.filter_map(Pool::unspent)
    }
}
