//! Units taken ahead: of which cells, and when.

use std::sync::atomic::Ordering::Relaxed;

use jeton_core::{Act, Cost, Decision, Micros, Op, Plan, Span, Verdict};
use smallvec::SmallVec;

use super::Thrift;
use super::cell::Worth;
use super::cells::Held;
use super::place::Place;
use super::pool::{Owner, Pool};
use super::told::Told;

/// Units that are taken ahead in one step, of every cell of a plan that lacks them.
#[derive(Debug)]
pub(super) struct Ahead {
    number: u64,
    cells: SmallVec<[Lacking; 2]>,
}

/// A cell without units of its own.
#[derive(Debug)]
struct Lacking {
    place: Place,
    owner: Owner,
    units: Cost,
}

impl Ahead {
    /// What takes them.
    pub(super) fn ops(&self) -> SmallVec<[Op<'_>; 2]> {
        let cells = self.cells.iter();
        let take = cells.map(|lacking| {
            let cost = lacking.units;
            lacking.owner.op(Act::Take { cost })
        });
        take.collect()
    }
}

impl Thrift {
    /// What to take ahead of a plan's cells, if all of them are in use and have room for it, and a lease
    /// is worth it. Cells that have units already are left as they are.
    pub(super) fn ahead(
        &self,
        plan: Plan<'_>,
        places: &[Place],
        held: &mut Held<'_>,
        now: Micros,
    ) -> Option<Ahead> {
        let lease = self.lease.filter(|_| !self.is_closed.load(Relaxed))?;
        let costs: Option<SmallVec<[u32; 4]>> = plan.ops().iter().map(taken).collect();
        let costs = costs?;
        let mut is_ready = true;
        let mut lacking: SmallVec<[usize; 4]> = SmallVec::new();
        for (i, ((op, place), cost)) in plan.ops().iter().zip(places).zip(costs).enumerate() {
            let Some(cell) = held.claim(place, op.quota, Worth::Seen, now) else {
                is_ready = false;
                continue;
            };
            let is_used = cell.is_used_within(self.lease_for, now);
            if !cell.has_pool() {
                let is_worth_it = u64::from(cost) <= lease.units_of(op.quota);
                is_ready &= is_used && is_worth_it && cell.may_take_ahead(now);
                lacking.push(i);
            }
        }
        if !is_ready || lacking.is_empty() {
            return None;
        }
        let number = self.leases.fetch_add(1, Relaxed);
        let cells = lacking.into_iter().map(|i| {
            let (op, place) = (plan.ops().get(i)?, *places.get(i)?);
            // Not there if cells of one plan stand in each other's way.
            let cell = held.get(&place)?;
            cell.take_ahead(number, now.saturating_add(self.lease_for));
            Some(Lacking {
                place,
                owner: Owner::of(op),
                units: Cost::new(lease.units_of(op.quota)),
            })
        });
        let cells = cells.collect::<Option<_>>()?;
        Some(Ahead { number, cells })
    }

    /// What was taken ahead is there, or there was none to be taken.
    pub(super) fn fund(
        &self,
        ahead: Ahead,
        verdict: Verdict,
        decisions: &[Decision],
        (sent, came): (Micros, Micros),
    ) {
        let Ahead { number, cells } = ahead;
        let places: SmallVec<[Place; 4]> = cells.iter().map(|lacking| lacking.place).collect();
        let mut held = self.cells.hold(&places);
        for (Lacking { place, owner, .. }, decision) in cells.into_iter().zip(decisions) {
            let Some(cell) = held.get(&place).filter(|cell| cell.awaits(number)) else {
                continue;
            };
            if verdict.allowed {
                let pool = Pool::new(owner, decision, sent, self.lease_for);
                cell.fund(pool, Told::new(*decision, came));
            } else {
                let wait = verdict.retry_after.unwrap_or(Span::LONGEST);
                cell.rest(came.saturating_add(wait.min(self.lease_for)));
            }
        }
    }
}

/// What it takes; none if it looks.
pub(super) fn taken(op: &Op<'_>) -> Option<u32> {
    match op.act {
        Act::Take { cost } if cost.get() > 0 => Some(cost.get()),
        _ => None,
    }
}
