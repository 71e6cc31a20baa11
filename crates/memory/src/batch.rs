//! Many plans at once, each all or nothing for itself: where their states are is worked out first, so
//! that the memory of all is on its way before the first is decided.

use jeton_core::{Answers, OnDeny, Plan, Reading};

use crate::{Journal, Place, Table};

/// Plans whose memory is asked for together: as many as lines that a core can wait for, and a few.
const TOGETHER: usize = 32;

impl Table {
    /// Decides plans one after the other at one reading of the clock, tells `journal` what changed,
    /// and appends their answers to `out`. Meanwhile other threads may decide between any two.
    #[inline]
    pub fn decide_each<J: Journal>(
        &self,
        plans: &[Plan<'_>],
        when: impl Into<Reading>,
        journal: &mut J,
        out: &mut Answers,
    ) {
        let when = when.into();
        if let [plan] = plans {
            return self.decide(*plan, when, journal, out);
        }
        for plans in plans.chunks(TOGETHER) {
            let places = self.call_for(plans);
            for (plan, place) in plans.iter().zip(places) {
                match (plan.ops(), place) {
                    ([op], Some(place)) => self.decide_one(op, place, when, journal, out),
                    _ => self.decide(*plan, when, journal, out),
                }
            }
        }
    }

    /// Asks for the memory that plans will need. Of those of one op whose denial costs nothing it says
    /// where their states live, so that this is not worked out twice.
    #[inline]
    fn call_for(&self, plans: &[Plan<'_>]) -> [Option<Place>; TOGETHER] {
        let mut places = [None; TOGETHER];
        for (plan, known) in plans.iter().zip(&mut places) {
            for op in plan.ops() {
                let place = self.hashing.place(op);
                self.prefetch_region(self.region_of(place));
                *known = (op.on_deny == OnDeny::Keep).then_some(place);
            }
        }
        for (plan, known) in plans.iter().zip(&mut places) {
            match (plan.ops(), *known) {
                ([_], Some(place)) => self.prefetch_slot(place),
                (ops, _) => {
                    *known = None;
                    let places = ops.iter().map(|op| self.hashing.place(op));
                    places.for_each(|place| self.prefetch_slot(place));
                }
            }
        }
        places
    }
}
