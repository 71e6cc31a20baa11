//! What happens to a key that finds no room.
//!
//! Under [`Overflow::Share`](crate::Overflow::Share) all such keys of one region share one cell for
//! each rule and quota. That errs towards denying only:
//!
//! - Buckets and windows of the epoch share a state under the quota itself: all keys together get
//!   what one may have.
//! - Logs, counters and windows that a key's own first charge opens share a sliding counter of half
//!   the limit (rounded down), which lets fewer than one limit pass in any window.
//! - A key that finds room later starts from what its shared cell still counts, as if all of it
//!   were its own and had been charged now, and that is written even if it is denied. Quotas that differ have cells of their own, since the
//!   units one owes must not come back at another's rate; a key whose quota changes while it has no
//!   place starts a new estimate.
//!
//! Units in flight and tickets are never shared and never let pass uncounted: they belong to whoever
//! holds them, who comes back for them.
//!
//! What cannot be told by such a cell is answered by a wait of a second, after which the client may
//! find room: no true wait is known.

use jeton_core::{Act, Cell, Cost, Edit, Kind, MAX_COUNTER_LIMIT, Micros, Quota, View};

use crate::Place;
use crate::slot::Slot;

/// Cells that a region has for keys without room: one for each rule and quota.
const CELLS: usize = 32;

/// What a region's shared cells weigh, once there are any. Set aside from the start.
pub(crate) const SHARED_BYTES: u64 = size_of::<Shared>() as u64;

/// The shared cells of one region.
#[derive(Debug)]
pub(crate) struct Shared([Slot; CELLS]);

impl Default for Shared {
    fn default() -> Self {
        Self([Slot::EMPTY; CELLS])
    }
}

impl Shared {
    /// Whether no cell counts anything.
    pub(crate) fn is_idle(&self, now: Micros) -> bool {
        !self
            .0
            .iter()
            .any(|slot| slot.is_alive(now) || slot.is_claimed())
    }

    /// Finds or claims the cell at `place`; `false` if all are in use.
    pub(crate) fn claim(&mut self, place: Place, now: Micros) -> bool {
        if self.0.iter().any(|slot| slot.is(place)) {
            return true;
        }
        let free = |slot: &&mut Slot| slot.is_empty() || slot.is_dead(now);
        let Some(slot) = self.0.iter_mut().find(free) else {
            return false;
        };
        *slot = Slot::claimed(place);
        true
    }

    /// Whether [`Shared::claim`] would find a cell.
    pub(crate) fn has_room(&self, place: Place, now: Micros) -> bool {
        let usable = |slot: &Slot| slot.is(place) || slot.is_empty() || slot.is_dead(now);
        self.0.iter().any(usable)
    }

    /// Gives up a claim that was not written.
    pub(crate) fn release(&mut self, place: Place) {
        for slot in &mut self.0 {
            if slot.is(place) && slot.is_claimed() {
                *slot = Slot::EMPTY;
            }
        }
    }

    /// What the cell at `place` counts.
    pub(crate) fn cell(&self, place: Place, now: Micros) -> Option<Cell> {
        let slot = self
            .0
            .iter()
            .find(|slot| slot.is(place) && slot.is_alive(now))?;
        Some(slot.cell())
    }

    /// Carries out a change of a claimed cell.
    pub(crate) fn apply(&mut self, place: Place, edit: &Edit) {
        let Some(slot) = self.0.iter_mut().find(|slot| slot.is(place)) else {
            return;
        };
        match edit {
            Edit::Keep => {}
            Edit::Put { cell, until, .. } => slot.write(cell, *until),
            Edit::Erase => *slot = Slot::EMPTY,
        }
    }
}

/// The quota of the cell that keys under `quota` share; none if nothing is left to share.
pub(crate) fn shared_quota(quota: &Quota) -> Option<Quota> {
    match quota.kind() {
        Kind::Bucket | Kind::FixedEpoch => Some(*quota),
        Kind::FixedFirst | Kind::Counter | Kind::Log => {
            let half = (quota.limit() / 2).min(MAX_COUNTER_LIMIT);
            Quota::sliding_counter(u64::from(half), quota.window()?).ok()
        }
        Kind::Concurrency | Kind::Ticket => None,
    }
}

/// The state from which a key under `quota` starts that finds room while its shared cell counts.
pub(crate) fn inherit(quota: &Quota, shared: &Quota, cell: Cell, now: Micros) -> Edit {
    let view = View {
        cell: Some(cell),
        tail: &[],
    };
    if shared == quota {
        // Give nothing: the state as it stands at now.
        let act = Act::Give { units: Cost::ZERO };
        return quota.decide(view, &act, now).edit;
    }
    let [previous, current, debt] = cell.words;
    let all = previous.saturating_add(current).saturating_add(debt);
    let cost = Cost::new(u64::from(all.min(quota.limit())));
    quota.decide(View::ABSENT, &Act::Take { cost }, now).edit
}
