//! Units taken ahead: of which cells, and when.

use std::sync::atomic::Ordering::Relaxed;

use jeton_core::{Act, Cost, Decision, Micros, Op, Plan, Span, Verdict};
use jeton_policy::Lease;
use smallvec::SmallVec;

use super::Thrift;
use super::cell::{Back, Worth};
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

/// A cell with too few units of its own.
#[derive(Debug)]
struct Lacking {
    place: Place,
    owner: Owner,
    units: Cost,
}

/// Units that are taken ahead of need, and old ones that go back before that.
#[derive(Debug)]
pub(super) struct Refill {
    pub(super) unspent: Back,
    pub(super) ahead: Ahead,
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
    /// is worth it. Cells that have enough units are left as they are. The store is asked about a plan
    /// that is not paid.
    pub(super) fn ahead(
        &self,
        plan: Plan<'_>,
        places: &[Place],
        held: &mut Held<'_>,
        now: Micros,
        is_paid: bool,
    ) -> Option<Ahead> {
        let lease = self.lease.filter(|_| !self.is_closed.load(Relaxed))?;
        let costs: Option<SmallVec<[u32; 4]>> = plan.ops().iter().map(taken).collect();
        let costs = costs?;
        let mut is_ready = true;
        let mut lacking: SmallVec<[(usize, u32); 4]> = SmallVec::new();
        for (i, ((op, place), cost)) in plan.ops().iter().zip(places).zip(costs).enumerate() {
            let Some(cell) = held.claim(place, op.quota, Worth::Seen, now) else {
                is_ready = false;
                continue;
            };
            let is_used = is_paid || cell.ask(cost, self.lease_for, now);
            let sizes = sizes(lease, op);
            if let Some(lacks) = cell.lacks(sizes, now) {
                is_ready &= is_used && cost <= sizes.0 && cell.may_take_ahead(now);
                lacking.push((i, lacks));
            }
        }
        if !is_ready || lacking.is_empty() {
            return None;
        }
        let number = self.leases.fetch_add(1, Relaxed);
        let cells = lacking.into_iter().map(|(i, lacks)| {
            let (op, place) = (plan.ops().get(i)?, *places.get(i)?);
            // Not there if cells of one plan stand in each other's way.
            let cell = held.get(&place)?;
            cell.take_ahead(number, now.saturating_add(self.lease_for));
            Some(Lacking {
                place,
                owner: Owner::of(op),
                units: Cost::new(u64::from(lacks)),
            })
        });
        let cells = cells.collect::<Option<_>>()?;
        Some(Ahead { number, cells })
    }

    /// What to take ahead of need of a plan's cells, which have paid for it: so that the next units come
    /// before the last ones are spent. What they have that is too old goes back before.
    pub(super) fn refill(
        &self,
        plan: Plan<'_>,
        places: &[Place],
        held: &mut Held<'_>,
        now: Micros,
        goes_on: impl Fn() -> bool,
    ) -> Option<Refill> {
        let lease = self.lease?;
        let ops = plan.ops().iter().zip(places);
        let mut is_low = false;
        for (op, place) in ops {
            let cell = held.get(place).filter(|cell| cell.has_units())?;
            is_low |= cell.may_take_ahead(now) && cell.lacks(sizes(lease, op), now).is_some();
        }
        if !is_low || !goes_on() {
            return None;
        }
        let ahead = self.ahead(plan, places, held, now, true)?;
        let mut unspent = Back::new();
        for place in places {
            let old = held
                .get(place)
                .map_or_else(Back::new, |cell| cell.give_back_old(now));
            if !old.is_empty() {
                held.free(place);
            }
            unspent.extend(old);
        }
        Some(Refill { unspent, ahead })
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

/// How many units of its cell are taken at once, and the most that are there at any time.
fn sizes(lease: Lease, op: &Op<'_>) -> (u32, u32) {
    let size = |units| u32::try_from(units).unwrap_or(u32::MAX);
    (
        size(lease.units_of(op.quota)),
        size(lease.most_of(op.quota)),
    )
}

/// What it takes; none if it looks.
pub(super) fn taken(op: &Op<'_>) -> Option<u32> {
    match op.act {
        Act::Take { cost } if cost.get() > 0 => Some(cost.get()),
        _ => None,
    }
}
