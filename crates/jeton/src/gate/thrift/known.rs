//! Answers without the store.

use jeton_core::{Decision, Fit, Micros, Plan, Verdict};
use smallvec::SmallVec;

use super::cell::Standing;
use super::cells::Held;
use super::lease::taken;
use super::place::Place;
use super::{Thrift, cost};

/// One for each op of a plan.
pub(super) type Decisions = SmallVec<[Decision; 4]>;

impl Thrift {
    /// The answer to a plain plan, if it is known: all its cells pay for it, or one denies and the
    /// others can tell how they stand.
    pub(super) fn known(
        &self,
        plan: Plan<'_>,
        places: &[Place],
        held: &mut Held<'_>,
        now: Micros,
    ) -> Option<(Verdict, Decisions)> {
        let standings: Option<SmallVec<[Standing; 4]>> = plan
            .ops()
            .iter()
            .zip(places)
            .map(|(op, place)| {
                let standing = held.get(place)?.standing(cost(op), now, self.deny_for);
                (standing != Standing::Unknown).then_some(standing)
            })
            .collect();
        let standings = standings?;
        let pays = |standing: &Standing| *standing == Standing::Pays;
        let denies = |standing: &Standing| matches!(standing, Standing::Denies(_));
        let does_pay = standings.iter().all(pays);
        if standings.is_empty() || !(does_pay || standings.iter().any(denies)) {
            return None;
        }
        let ops = plan.ops().iter().zip(places).zip(standings);
        let decided = ops.map(|((op, place), standing)| {
            let cell = held.get(place)?;
            match standing {
                Standing::Denies(retry_after) => cell.show(Fit::Denied { retry_after }, now),
                _ if does_pay && taken(op).is_some() => cell.spend(cost(op), now),
                _ => cell.show(Fit::Allowed, now),
            }
        });
        let decisions: Decisions = decided.collect::<Option<_>>()?;
        let votes = plan.ops().iter().zip(&decisions);
        let verdict = Verdict::of(votes.map(|(op, decision)| (op.mode, decision.fit)));
        Some((verdict, decisions))
    }
}
