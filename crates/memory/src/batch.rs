//! Many plans at once, each all or nothing for itself: where their states are is worked out first, so
//! that the memory of all is on its way before the first is decided.

use jeton_core::{Answers, OnDeny, Op, Plan, Reading};

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
            let hashes = self.call_for(plans);
            for (plan, hash) in plans.iter().zip(hashes) {
                match plain(plan) {
                    Some(op) => {
                        let (rule, kind) = (op.rule, op.quota.kind());
                        self.decide_one(op, Place { rule, kind, hash }, when, journal, out);
                    }
                    None => self.decide(*plan, when, journal, out),
                }
            }
        }
    }

    /// Asks for the memory that plans will need. The hashes of the plain ones among them it gives back,
    /// so that they are not worked out twice.
    #[inline]
    fn call_for(&self, plans: &[Plan<'_>]) -> [u64; TOGETHER] {
        let mut hashes = [0; TOGETHER];
        for (plan, hash) in plans.iter().zip(&mut hashes) {
            match plain(plan) {
                Some(op) => {
                    *hash = self.hashing.place(op).hash;
                    self.prefetch_region(*hash);
                }
                None => self.each_hash(plan, |hash| self.prefetch_region(hash)),
            }
        }
        // By now the first regions are there, which say where slots are.
        for (plan, hash) in plans.iter().zip(&hashes) {
            match plain(plan) {
                Some(_) => self.prefetch_slot(*hash),
                None => self.each_hash(plan, |hash| self.prefetch_slot(hash)),
            }
        }
        hashes
    }

    fn each_hash(&self, plan: &Plan<'_>, what: impl FnMut(u64)) {
        let hashes = plan.ops().iter().map(|op| self.hashing.place(op).hash);
        hashes.for_each(what);
    }
}

/// The op of a plan of one whose denial costs nothing, which most are.
#[inline]
fn plain<'a>(plan: &Plan<'a>) -> Option<&'a Op<'a>> {
    match plan.ops() {
        [op] if op.on_deny == OnDeny::Keep => Some(op),
        _ => None,
    }
}
