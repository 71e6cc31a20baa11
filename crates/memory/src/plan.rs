//! One plan, decided in one step: its regions are locked in ascending order, so that no two plans
//! can wait for each other, each op finds its place, and then all are decided together.

use jeton_core::{
    Answers, Cells, Edit, Micros, Op, Plan, Quota, Reading, StoreError, StoreErrorKind, View,
    Written, decide_all,
};

use crate::fate::Fate;
use crate::raw::lock::Guard;
use crate::region::Region;
use crate::seat::{Seat, part_twins};
use crate::{Journal, Table};

/// The states of a plan of at most `N` ops, locked.
pub(crate) struct Step<'t, 'j, J: Journal, const N: usize> {
    table: &'t Table,
    journal: &'j mut J,
    now: Micros,
    /// The regions that are held, in ascending order.
    regions: [Option<Guard<'t, Region>>; N],
    seats: [Seat; N],
    /// How many seats are taken.
    taken: usize,
}

impl<'t, 'j, J: Journal, const N: usize> Step<'t, 'j, J, N> {
    /// Locks the regions of `ops`, of which there are at most `N`, and seats them.
    #[inline]
    pub(crate) fn new(table: &'t Table, ops: &[Op<'_>], when: Reading, journal: &'j mut J) -> Self {
        let mut step = Self {
            table,
            journal,
            now: when.at(),
            regions: [const { None }; N],
            seats: [Seat::VACANT; N],
            taken: ops.len().min(N),
        };
        step.lock(ops, when);
        if when.is_steady() {
            step.catch_up(when);
        }
        let now = step.now;
        for (seat, op) in step.seats.iter_mut().zip(ops) {
            if let Some(Some(region)) = step.regions.get_mut(seat.region) {
                table.seat(seat, region, op, now, step.journal);
            }
        }
        part_twins(&mut step.seats);
        step
    }

    /// Goes by the latest instant of all regions that are held, and brings them all to it.
    #[inline]
    fn catch_up(&mut self, when: Reading) {
        let held = || self.regions.iter().flatten();
        let latest = held().map(|region| region.not_before(when)).max();
        self.now = latest.unwrap_or(when.at());
        for region in self.regions.iter_mut().flatten() {
            region.reached(self.now);
        }
    }

    #[inline]
    fn lock(&mut self, ops: &[Op<'_>], when: Reading) {
        let mut numbers = [usize::MAX; N];
        for ((seat, number), op) in self.seats.iter_mut().zip(&mut numbers).zip(ops) {
            let place = self.table.hashing.place(op);
            *number = self.table.region_of(place);
            *seat = Seat::new(place, *number);
        }
        numbers.sort_unstable();
        let mut held = 0;
        for i in 0..self.taken {
            if i > 0 && numbers[i] == numbers[held - 1] {
                continue;
            }
            numbers[held] = numbers[i];
            self.regions[held] = Some(self.table.visit(numbers[i], when));
            held += 1;
        }
        for seat in self.seats.iter_mut().take(self.taken) {
            seat.region = numbers[..held].partition_point(|&number| number < seat.region);
        }
    }

    /// Decides the ops it was made with, and appends the answer to `out`.
    #[inline]
    pub(crate) fn decide(mut self, plan: Plan<'_>, out: &mut Answers) {
        let now = self.now;
        if self.seats.iter().all(|seat| matches!(seat.fate, Fate::Own)) {
            decide_all(plan, &mut self, now, out);
        } else {
            self.decide_short(plan.ops(), out);
        }
    }

    /// Some op has no room for its state: stand-ins are decided, and their answers translated.
    #[cold]
    fn decide_short(&mut self, ops: &[Op<'_>], out: &mut Answers) {
        let seats = self.seats;
        let Some(last) = ops.last() else {
            return;
        };
        let op = |i| ops.get(i).unwrap_or(last);
        let quotas: [Quota; N] = core::array::from_fn(|i| seats[i].fate.quota(op(i).quota));
        let stand_ins: [Op<'_>; N] =
            core::array::from_fn(|i| seats[i].fate.stand_in(op(i), &quotas[i], i as u64));
        let Ok(plan) = Plan::new(&stand_ins[..self.taken]) else {
            return out.push_failed(StoreError {
                kind: StoreErrorKind::Refused,
                written: Written::No,
            });
        };
        let now = self.now;
        decide_all(plan, self, now, out);
        for ((decision, seat), op) in out.latest_mut().iter_mut().zip(&seats).zip(ops) {
            seat.fate.translate(op, decision);
        }
    }
}

impl<J: Journal, const N: usize> Cells for Step<'_, '_, J, N> {
    #[inline]
    fn view(&self, op: usize) -> View<'_> {
        let seat = &self.seats[op];
        match &self.regions[seat.region] {
            Some(region) => seat.view(region, self.now),
            None => View::ABSENT,
        }
    }

    #[inline]
    fn apply(&mut self, op: usize, edit: Edit) {
        let seat = &self.seats[op];
        if let Some(region) = &mut self.regions[seat.region] {
            seat.apply(region, &edit, &self.table.budget, self.journal);
        }
    }
}

/// No claim outlives its step, however that ends.
impl<J: Journal, const N: usize> Drop for Step<'_, '_, J, N> {
    #[inline]
    fn drop(&mut self) {
        for seat in self.seats.iter().take(self.taken) {
            if let Some(region) = &mut self.regions[seat.region] {
                seat.release(region, &self.table.budget);
            }
        }
    }
}
