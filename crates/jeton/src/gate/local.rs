//! What a process grants by itself while the store is away.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

use jeton_core::{Answers, Micros, Op, Plan, Reading, Span};
use jeton_memory::{Overflow, Settings, Stats, Table};
use jeton_policy::{Overflow as Word, Store};

/// A table of this process's own, made when it is first needed. It outlives the outage: whoever has
/// used up its share finds that so when the store goes away again, until all shares would be full.
#[derive(Debug)]
pub(super) struct Local {
    settings: Settings,
    table: RwLock<Option<Table>>,
    /// When nothing in the table counts any more, at the latest.
    over_us: AtomicU64,
}

impl Local {
    pub(super) const fn new(settings: Settings) -> Self {
        Self {
            settings,
            table: RwLock::new(None),
            over_us: AtomicU64::new(0),
        }
    }

    /// Decides plans; gives no answers if there can be no table with such settings.
    pub(super) fn decide(&self, plans: &[Plan<'_>], reading: Reading, answers: &mut Answers) {
        answers.clear();
        let ops = plans.iter().flat_map(Plan::ops);
        let life_us = ops.map(life_us).max().unwrap_or_default();
        let over_us = reading.at().get().saturating_add(life_us);
        // Before there is a table for certain, so that nobody takes it away meanwhile.
        self.over_us.fetch_max(over_us, Relaxed);
        self.make();
        // No decision leaves a table that others could not go on with.
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let Some(table) = &*table else { return };
        for plan in plans {
            table.decide(*plan, reading, &mut (), answers);
        }
    }

    fn make(&self) {
        let is_there = |table: &Option<Table>| table.is_some();
        if is_there(&self.table.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if !is_there(&table) {
            *table = Table::new(&self.settings).ok();
        }
    }

    /// Gives the memory back once nothing in it counts any more.
    pub(super) fn tidy(&self, now: Micros) {
        let is_over = || self.over_us.load(Relaxed) < now.get();
        if !is_over() {
            return;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if is_over() {
            *table = None;
        }
    }

    /// What the table holds, if there is one.
    pub(super) fn stats(&self) -> Option<Stats> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.as_ref().map(Table::stats)
    }
}

/// No state outlives its last write by more: a counter counts for two windows, and a debt for one
/// more.
fn life_us(op: &Op<'_>) -> u64 {
    let window = op.quota.window().map_or(0, Span::as_micros);
    let lease = op.quota.lease().map_or(0, Span::as_micros);
    window.saturating_mul(3).max(lease)
}

/// The settings of a table as a policy's `[store]` asks for: hard caps, and what becomes of keys that
/// find no room.
///
/// ```
/// use jeton::policy::Store;
/// assert_eq!(jeton::table_settings(&Store::default()).max_keys, 1_000_000);
/// ```
pub fn table_settings(store: &Store) -> Settings {
    Settings {
        max_keys: store.max_keys,
        max_memory_bytes: store.max_memory,
        overflow: match store.overflow {
            Word::Share => Overflow::Share,
            Word::Deny => Overflow::Deny,
            Word::Allow => Overflow::Allow,
        },
        seed: None,
    }
}
