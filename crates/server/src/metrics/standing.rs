//! Which policy is in force, and what became of the file that it was read from.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jeton::policy::{Change, Changes, RuleChange};
use schemars::JsonSchema;
use serde::Serialize;

/// What the latest reload did, rule by rule, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[non_exhaustive]
pub struct Reloaded {
    /// The number of the policy that it put into force, from 1.
    pub generation: u64,
    /// Rules that go on as they were.
    pub kept: Vec<String>,
    /// Rules that go on with their counters, under other settings.
    pub changed: Vec<String>,
    /// Rules that begin with nothing used: new ones, and those that count by something else now.
    pub anew: Vec<String>,
    /// Rules that are no more.
    pub removed: Vec<String>,
    /// The same in words, with all that differs; rules that were kept are left out.
    pub words: Vec<String>,
}

impl Reloaded {
    pub(crate) fn new(generation: u64, changes: &Changes) -> Self {
        let mut reloaded = Self {
            generation,
            ..Self::default()
        };
        changes.rules.iter().for_each(|rule| reloaded.add(rule));
        let settings = changes.adopted.iter();
        let settings = settings.map(|setting| format!("{setting}: changed"));
        reloaded.words.extend(settings);
        reloaded
    }

    fn add(&mut self, rule: &RuleChange) {
        let names = match rule.change {
            Change::Kept => &mut self.kept,
            Change::Changed(_) => &mut self.changed,
            Change::Anew { .. } | Change::Added => &mut self.anew,
            Change::Removed => &mut self.removed,
        };
        names.push(rule.rule.clone());
        if rule.change != Change::Kept {
            self.words.push(rule.to_string());
        }
    }
}

/// The state of reloading, shared by whoever does it and whoever tells of it.
#[derive(Debug)]
pub(super) struct Standing {
    generation: AtomicU64,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    refusal: Option<Arc<str>>,
    reloaded: Option<Arc<Reloaded>>,
}

impl Standing {
    pub(super) fn new(generation: u64) -> Self {
        Self {
            generation: AtomicU64::new(generation),
            told: Mutex::default(),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Another policy is in force.
    pub(super) fn swapped(&self, changes: &Changes) -> Arc<Reloaded> {
        let mut told = self.told();
        let generation = self.generation().saturating_add(1);
        let reloaded = Arc::new(Reloaded::new(generation, changes));
        self.generation.store(generation, Ordering::Release);
        told.reloaded = Some(Arc::clone(&reloaded));
        told.refusal = None;
        reloaded
    }

    pub(super) fn refused(&self, why: Arc<str>) {
        self.told().refusal = Some(why);
    }

    pub(super) fn refusal(&self) -> Option<Arc<str>> {
        self.told().refusal.clone()
    }

    pub(super) fn reloaded(&self) -> Option<Arc<Reloaded>> {
        self.told().reloaded.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
