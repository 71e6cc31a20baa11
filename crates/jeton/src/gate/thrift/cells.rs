//! The cells that a process knows something of: a fixed number, however many keys come.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jeton_core::{Micros, Quota};
use smallvec::SmallVec;

use super::cell::{Back, Cell, Worth};
use super::place::Place;
use super::pool::Unspent;

/// Parts under a lock each.
const SHARDS: usize = 256;
/// Rows of a part; the hash says which one a cell stands in.
const ROWS: usize = 16;
/// Places in a row.
const WAYS: usize = 8;

/// The most cells there are: about 12 MB.
#[cfg(test)]
pub(super) const CELLS: usize = SHARDS * ROWS * WAYS;

/// The cells, by their place.
#[derive(Debug)]
pub(super) struct Cells(Box<[Mutex<Shard>]>);

#[derive(Debug, Default)]
struct Shard {
    /// Empty until it is first needed.
    cells: Box<[Option<Cell>]>,
    /// How often units of one of its keys were given back, or may have been.
    freed: u64,
}

impl Default for Cells {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Cells {
    /// Holds the cells of one plan until it is let go. Parts are locked in ascending order, and nothing
    /// else is waited for.
    pub(super) fn hold(&self, places: &[Place]) -> Held<'_> {
        let mut shards: SmallVec<[usize; 4]> = places.iter().map(shard_of).collect();
        shards.sort_unstable();
        shards.dedup();
        let lock = |shard| Some((shard, lock(self.0.get(shard)?)));
        Held(shards.into_iter().filter_map(lock).collect())
    }

    /// Takes units out of the cells, `most` of them about, and as `of` says.
    pub(super) fn take_back(
        &self,
        most: usize,
        mut of: impl FnMut(&mut Cell) -> Back,
    ) -> Vec<Unspent> {
        let mut taken = Vec::new();
        for shard in &self.0 {
            if taken.len() >= most {
                break;
            }
            let mut shard = lock(shard);
            let before = taken.len();
            taken.extend(shard.cells.iter_mut().flatten().flat_map(&mut of));
            if taken.len() > before {
                shard.freed += 1;
            }
        }
        taken
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let cells = |shard| lock(shard).cells.iter().flatten().count();
        self.0.iter().map(cells).sum()
    }
}

/// The cells of one plan.
pub(super) struct Held<'a>(SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>);

impl Held<'_> {
    fn shard(&mut self, place: &Place) -> Option<&mut Shard> {
        let wanted = shard_of(place);
        let mut shards = self.0.iter_mut();
        let (_, shard) = shards.find(|(shard, _)| *shard == wanted)?;
        Some(shard)
    }

    pub(super) fn get(&mut self, place: &Place) -> Option<&mut Cell> {
        let row = self.shard(place)?.row(place)?;
        let mut cells = row.iter_mut().flatten();
        cells.find(|cell| cell.place == *place)
    }

    /// The cell at a place; a new one in the place of what is worth least, if that is worth no more
    /// than this one will be.
    pub(super) fn claim(
        &mut self,
        place: &Place,
        quota: &Quota,
        worth: Worth,
        now: Micros,
    ) -> Option<&mut Cell> {
        if self.get(place).is_some() {
            return self.get(place);
        }
        let shard = self.shard(place)?;
        if shard.cells.is_empty() {
            shard.cells = (0..ROWS * WAYS).map(|_| None).collect();
        }
        let rank = |slot: &Option<Cell>| {
            let cell = slot.as_ref()?;
            Some((cell.worth(now), cell.seen()))
        };
        let slot = shard.row(place)?.iter_mut().min_by_key(|slot| rank(slot))?;
        if rank(slot).is_some_and(|(theirs, _)| theirs > worth || theirs == Worth::Pool) {
            return None;
        }
        Some(slot.insert(Cell::new(*place, *quota, now)))
    }

    /// Forgets a cell, with all units that are left of it.
    pub(super) fn remove(&mut self, place: &Place) {
        let row = self.shard(place).and_then(|shard| shard.row(place));
        for slot in row.into_iter().flatten() {
            if slot.as_ref().is_some_and(|cell| cell.place == *place) {
                *slot = None;
            }
        }
    }

    /// How often units of a key here were given back: what the store said before is worth nothing for
    /// its denials.
    pub(super) fn freed(&mut self, place: &Place) -> u64 {
        self.shard(place).map_or(0, |shard| shard.freed)
    }

    /// Units of it are given back, or may be.
    pub(super) fn free(&mut self, place: &Place) {
        if let Some(shard) = self.shard(place) {
            shard.freed += 1;
        }
    }
}

impl Shard {
    fn row(&mut self, place: &Place) -> Option<&mut [Option<Cell>]> {
        let row = part(place.hash, SHARDS, ROWS);
        self.cells.get_mut(row * WAYS..(row + 1) * WAYS)
    }
}

/// No change leaves cells that others could not go on with.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shard_of(place: &Place) -> usize {
    part(place.hash, 1, SHARDS)
}

/// A number below `of` from the bits of a hash above those that tell numbers below `above`.
#[allow(clippy::cast_possible_truncation)] // below `of`
const fn part(hash: u64, above: usize, of: usize) -> usize {
    (hash / above as u64 % of as u64) as usize
}

#[cfg(test)]
mod tests {
    use jeton_core::{Cost, Op, RuleId, Span};

    use super::super::place::Places;
    use super::*;

    fn quota() -> Quota {
        Quota::sliding_log(10, Span::SECOND).unwrap()
    }

    fn place(places: &Places, key: u64) -> Place {
        let (key, quota) = (key.to_le_bytes(), quota());
        places.of(&Op::take(RuleId::new(1), &key, &quota, Cost::ONE))
    }

    #[test]
    fn a_flood_of_keys_takes_no_more_room_and_pushes_out_nothing_of_worth() {
        let (cells, places) = (Cells::default(), Places::default());
        let now = Micros::new(5);
        let claim = |key: u64, worth| {
            let place = place(&places, key);
            let mut held = cells.hold(&[place]);
            let cell = held.claim(&place, &quota(), worth, now)?;
            if worth == Worth::Denied {
                let denied = Some((1, Span::SECOND));
                cell.remember(denied, Span::SECOND, (now, now));
            }
            Some(())
        };
        assert_eq!(cells.len(), 0);
        for key in 0..1_000 {
            assert!(claim(key, Worth::Denied).is_some(), "{key}");
        }
        let is_full = std::env::var_os("JETON_FULL").is_some();
        let keys = if is_full { 10_000_000 } else { 200_000 };
        for key in 1_000..keys {
            claim(key, Worth::Seen);
        }
        assert!(
            cells.len() <= CELLS && cells.len() > CELLS * 9 / 10,
            "{}",
            cells.len()
        );
        for key in 0..1_000 {
            let place = place(&places, key);
            assert!(cells.hold(&[place]).get(&place).is_some(), "{key}");
        }
    }

    #[test]
    fn pools_are_not_pushed_out_by_anything() {
        let (cells, places) = (Cells::default(), Places::default());
        let now = Micros::new(5);
        let taken = (0..200_000).filter(|key| {
            let place = place(&places, *key);
            let mut held = cells.hold(&[place]);
            let Some(cell) = held.claim(&place, &quota(), Worth::Seen, now) else {
                return false;
            };
            cell.take_ahead(1, Micros::new(9));
            true
        });
        assert_eq!(taken.count(), CELLS);
        let place = place(&places, u64::MAX);
        let claim = |worth, now| {
            cells
                .hold(&[place])
                .claim(&place, &quota(), worth, now)
                .is_some()
        };
        assert!(!claim(Worth::Denied, now));
        assert!(claim(Worth::Seen, Micros::new(9)));
    }

    #[test]
    fn cells_of_one_plan_are_held_together_in_any_order() {
        let (cells, places) = (Cells::default(), Places::default());
        let all: Vec<Place> = (0..32).map(|key| place(&places, key)).collect();
        let back: Vec<Place> = all.iter().rev().copied().collect();
        std::thread::scope(|scope| {
            for places in [&all, &back] {
                let cells = &cells;
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        let mut held = cells.hold(places);
                        for place in places {
                            held.claim(place, &quota(), Worth::Seen, Micros::ZERO);
                            held.free(place);
                        }
                    }
                });
            }
        });
        let mut held = cells.hold(&all);
        assert!(all.iter().all(|place| held.get(place).is_some()));
        held.remove(&all[3]);
        assert!(held.get(&all[3]).is_none() && held.get(&all[4]).is_some());
        assert!(held.freed(&all[0]) >= 4_000);
    }
}
