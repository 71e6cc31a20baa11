//! Which states have changed since the last batch: what the table's journal notes.
//!
//! Time is cut into *epochs*; a batch is what one epoch changed, and is on disk whole or not at all.
//! While batch E is gathered, decisions go on in epoch E + 1. Two marks on a state tell where it
//! stands: changed in an even epoch, or in an odd one, and not gathered yet. A state that carries the
//! mark of the epoch before is copied before it changes again, so that batch E holds the states as
//! they were when E ended. Thus a decision costs a comparison, unless it is the first of its epoch
//! to change that state.
//!
//! A plan of several charges holds the epoch open until it is through; a plan of one has one change,
//! which falls into one epoch anyhow.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use jeton_core::{Micros, codec};
use jeton_memory::{Journal, Place, Standing};

use crate::batch::{Batch, Key};

/// A power of two.
const SHARDS: usize = 64;
/// What is noted of one shard before anything is taken out.
const LEAST_NOTED: usize = 1024;

/// Which states have changed.
#[derive(Debug)]
pub(crate) struct Changes {
    epoch: AtomicU64,
    /// Whether anything has changed in this epoch.
    stirred: AtomicBool,
    plans: RwLock<()>,
    shards: Box<[Shard]>,
}

/// The changes of some places, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    epoch: u64,
    /// What this epoch has changed. A state that dies and comes back is noted again.
    changed: Vec<Key>,
    /// So long it may grow before what is noted again is taken out.
    most: usize,
    /// The instant of the latest of these changes.
    latest: Micros,
    /// What stood at the end of the epoch before, where this one has written since.
    before: Batch,
}

/// An epoch that is over.
pub(crate) struct Ended {
    pub(crate) epoch: u64,
    /// The instant of its latest change.
    pub(crate) latest: Option<Micros>,
    changed: Vec<Vec<Key>>,
}

const FIRST_EPOCH: u64 = 1;

/// 1 or 2: 0 is for states that are on disk.
const fn mark_of(epoch: u64) -> u8 {
    1 + (epoch & 1) as u8
}

impl Changes {
    pub(crate) fn new() -> Self {
        let noted = || Noted {
            epoch: FIRST_EPOCH,
            ..Noted::default()
        };
        Self {
            epoch: AtomicU64::new(FIRST_EPOCH),
            stirred: AtomicBool::new(false),
            plans: RwLock::new(()),
            shards: (0..SHARDS).map(|_| Shard(Mutex::new(noted()))).collect(),
        }
    }

    /// The journal for plans of at most `ops` ops, decided at `now`. `stir` is called at the first
    /// change of an epoch.
    #[inline]
    pub(crate) fn journal<F: Fn()>(&self, ops: usize, now: Micros, stir: F) -> Noting<'_, F> {
        let whole = || self.plans.read().unwrap_or_else(PoisonError::into_inner);
        Noting {
            changes: self,
            _whole: (ops > 1).then(whole),
            now,
            epoch: 0,
            stir,
        }
    }

    /// The present epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    /// Ends the epoch. The one before must have been gathered.
    pub(crate) fn turn(&self) -> Ended {
        let plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        let epoch = self.epoch.fetch_add(1, Release);
        // Who changes something from here on stirs again: perhaps for nothing, never too seldom.
        self.stirred.store(false, Release);
        let mut ended = Ended {
            epoch,
            latest: None,
            changed: Vec::with_capacity(SHARDS),
        };
        for shard in &self.shards {
            let mut noted = shard.lock();
            noted.epoch = epoch + 1;
            if !noted.changed.is_empty() {
                ended.latest = ended.latest.max(Some(noted.latest));
            }
            ended.changed.push(core::mem::take(&mut noted.changed));
        }
        drop(plans);
        ended
    }

    /// Gathers what an epoch has changed, by `show`, which shows what stands at a key now and marks
    /// it as told.
    pub(crate) fn gather(&self, ended: Ended, mut show: impl FnMut(Key, &mut Look<'_>)) -> Batch {
        let mut batch = Batch::default();
        let mark = mark_of(ended.epoch);
        for (shard, mut changed) in self.shards.iter().zip(ended.changed) {
            changed.sort_unstable();
            changed.dedup();
            for key in changed {
                show(key, &mut |standing| look(mark, key, standing, &mut batch));
            }
            // All places of this shard have been looked at: nobody copies from them any more.
            let before = core::mem::take(&mut shard.lock().before);
            batch.append(&before);
        }
        batch.settle();
        batch
    }

    fn shard(&self, hash: u64) -> &Shard {
        #[allow(clippy::cast_possible_truncation)] // masked
        let number = hash as usize & (SHARDS - 1);
        &self.shards[number]
    }
}

/// What looks at a state, and says how it is marked from then on.
pub(crate) type Look<'a> = dyn FnMut(Option<Standing<'_>>) -> u8 + 'a;

fn look(mark: u8, key: Key, standing: Option<Standing<'_>>, batch: &mut Batch) -> u8 {
    match standing {
        Some(standing) if standing.mark == mark => {
            put(key, &standing, batch);
            0
        }
        // It was over when the epoch was, or its copy follows.
        standing => {
            batch.remove(key);
            standing.map_or(0, |standing| standing.mark)
        }
    }
}

fn put(key: Key, standing: &Standing<'_>, batch: &mut Batch) {
    let &Standing {
        cell, tail, until, ..
    } = standing;
    batch.put(key, |out| {
        codec::encode(key.kind, until, &cell, tail, out);
    });
}

impl Noted {
    fn note(&mut self, key: Key) {
        if self.changed.len() >= self.most {
            self.changed.sort_unstable();
            self.changed.dedup();
            self.most = LEAST_NOTED.max(2 * self.changed.len());
        }
        self.changed.push(key);
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The journal of plans that are decided together.
pub(crate) struct Noting<'a, F> {
    changes: &'a Changes,
    _whole: Option<RwLockReadGuard<'a, ()>>,
    now: Micros,
    /// The epoch it has changed something in last; 0: it has changed nothing.
    pub(crate) epoch: u64,
    stir: F,
}

impl<F: Fn()> Journal for Noting<'_, F> {
    #[inline]
    fn changes(&mut self, place: Place, before: Option<Standing<'_>>) -> u8 {
        let epoch = self.changes.epoch.load(Relaxed);
        match &before {
            Some(standing) if standing.mark == mark_of(epoch) => {
                self.epoch = epoch;
                standing.mark
            }
            _ => self.first(place, before),
        }
    }
}

impl<F: Fn()> Noting<'_, F> {
    /// As far as this thread knows, nobody has changed this state in this epoch.
    #[cold]
    fn first(&mut self, place: Place, before: Option<Standing<'_>>) -> u8 {
        let key = Key {
            hash: place.hash,
            kind: place.kind,
        };
        let mut noted = self.changes.shard(place.hash).lock();
        let mark = mark_of(noted.epoch);
        self.epoch = noted.epoch;
        match &before {
            Some(standing) if standing.mark == mark => return mark,
            Some(standing) if standing.mark != 0 => put(key, standing, &mut noted.before),
            _ => {}
        }
        noted.note(key);
        noted.latest = self.now;
        drop(noted);
        if !self.changes.stirred.load(Relaxed) && !self.changes.stirred.swap(true, Acquire) {
            (self.stir)();
        }
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jeton_core::{Cell, Kind, RuleId};

    fn place(hash: u64) -> Place {
        Place {
            rule: RuleId::new(1),
            kind: Kind::Bucket,
            hash,
        }
    }

    fn standing(at: u64, mark: u8) -> Standing<'static> {
        let cell = Cell {
            at: Micros::new(at),
            ..Cell::default()
        };
        Standing {
            cell,
            tail: &[],
            until: Micros::new(at + 1),
            mark,
        }
    }

    /// The instants of the states in a batch.
    fn kept(batch: &Batch) -> Vec<(u64, Option<u64>)> {
        let at = |bytes: &[u8]| codec::decode(bytes).unwrap().cell.at.get();
        let states = batch.iter().map(|(key, bytes)| (key.hash, bytes.map(at)));
        states.collect()
    }

    fn change(changes: &Changes, hash: u64, before: Option<Standing<'_>>) -> (u8, u64) {
        let mut journal = changes.journal(1, Micros::ZERO, || {});
        let mark = journal.changes(place(hash), before);
        (mark, journal.epoch)
    }

    #[test]
    fn a_batch_holds_states_as_they_were_when_their_epoch_ended() {
        let changes = Changes::new();
        let (first, epoch) = change(&changes, 1, None);
        assert_eq!(change(&changes, 2, None), (first, epoch));
        assert_eq!(
            change(&changes, 1, Some(standing(10, first))),
            (first, epoch)
        );
        let ended = changes.turn();
        assert_eq!(ended.epoch, epoch);
        // Number 1 changes before it is gathered, number 2 after.
        let (second, next) = change(&changes, 1, Some(standing(11, first)));
        assert!(second != first && next == epoch + 1);
        let batch = changes.gather(ended, |key, look| {
            let standing = match key.hash {
                1 => standing(12, second),
                _ => standing(20, first),
            };
            let mark = look(Some(standing));
            assert_eq!(mark, if key.hash == 1 { second } else { 0 });
        });
        assert_eq!(kept(&batch), [(1, Some(11)), (2, Some(20))]);
        assert_eq!(change(&changes, 2, Some(standing(20, 0))).0, second);
        let batch = changes.gather(changes.turn(), |key, look| {
            look((key.hash == 1).then(|| standing(13, second)));
        });
        assert_eq!(kept(&batch), [(1, Some(13)), (2, None)]);
    }

    #[test]
    fn what_dies_and_comes_back_does_not_pile_up() {
        let changes = Changes::new();
        for n in 0..100_000 {
            change(&changes, n % 2 * SHARDS as u64, None);
        }
        let ended = changes.turn();
        let noted: usize = ended.changed.iter().map(Vec::len).sum();
        assert!(noted <= LEAST_NOTED, "{noted}");
        assert_eq!(
            changes
                .gather(ended, |_, look| {
                    look(None);
                })
                .len(),
            2
        );
    }

    #[test]
    fn the_first_change_of_an_epoch_stirs() {
        use core::cell::Cell;
        let (changes, stirred) = (Changes::new(), Cell::new(0));
        for epoch in 1..=3 {
            for hash in 0..10 {
                let stir = || stirred.set(stirred.get() + 1);
                changes
                    .journal(2, Micros::ZERO, stir)
                    .changes(place(hash), None);
            }
            assert_eq!(stirred.get(), epoch);
            changes.gather(changes.turn(), |_, look| {
                look(None);
            });
        }
    }
}
