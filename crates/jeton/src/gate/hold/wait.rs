//! Waiting for open holds: a request that is refused only because of them may fit once one of them
//! is settled at less.

use std::sync::Arc;
use std::time::Duration;

use jeton_core::{Answers, Fit, Op, Plan, Reading};
use smallvec::SmallVec;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::super::owned::Owned;
use super::super::{Gate, Live, Reply};
use super::asked;
use crate::Answered;

impl Gate {
    /// If a plan was denied only because of units that are held in this process: what tells when
    /// some are settled.
    pub(super) fn waits_for(&self, owned: &[Owned], answers: &Answers) -> Option<Arc<Notify>> {
        let (Ok(verdict), decisions) = answers.plan(0) else {
            return None;
        };
        if verdict.allowed || verdict.impossible || max_wait(owned).is_zero() {
            return None;
        }
        let mut first = None;
        for (owned, decision) in owned.iter().zip(decisions) {
            if !matches!(decision.fit, Fit::Denied { .. }) || !owned.seed.has_vote() {
                continue;
            }
            let (units, settled) = self.0.open_holds.of(owned.seed.id, &owned.key)?;
            if u64::from(decision.remaining) + units < u64::from(owned.cost.get()) {
                return None;
            }
            first = first.or(Some(settled));
        }
        first
    }

    /// Asks again whenever a hold is settled, until that is of no more use or has taken too long.
    pub(super) async fn hold_when_settled(self, live: Arc<Live>, owned: Vec<Owned>) -> Answered {
        let deadline = Instant::now() + max_wait(&owned);
        let mut answers = Answers::new();
        let mut reading = self.ask_again(&owned, &mut answers).await;
        while let Some(settled) = self.waits_for(&owned, &answers) {
            let mut settled = std::pin::pin!(settled.notified_owned());
            settled.as_mut().enable();
            // What was settled before this listened is seen by asking.
            reading = self.ask_again(&owned, &mut answers).await;
            if self.waits_for(&owned, &answers).is_none()
                || timeout_at(deadline, settled).await.is_err()
            {
                break;
            }
            reading = self.ask_again(&owned, &mut answers).await;
        }
        let asked = asked(live, &owned, reading);
        self.held(asked, owned, &answers, reading)
    }

    /// Whoever waits for a hold is not turned over to the outage rule by a crowd: none of these is counted
    /// as out.
    async fn ask_again(&self, owned: &[Owned], answers: &mut Answers) -> Reading {
        let reading = self.0.clock.reading();
        answers.clear();
        let later = {
            let ops: SmallVec<[Op<'_>; 4]> = owned.iter().map(Owned::take_or_hold).collect();
            // It was one plan when it was first asked.
            Plan::new(&ops)
                .ok()
                .map(|plan| self.0.store.submit(&[plan], reading, answers))
        };
        if let Some(Reply::Later(later)) = later {
            *answers = later.answers().await;
        }
        reading
    }
}

/// The longest that a rule lets its requests wait.
fn max_wait(owned: &[Owned]) -> Duration {
    let holds = owned.iter().filter(|owned| owned.settled_by.is_some());
    holds.map(|owned| owned.hold_wait).max().unwrap_or_default()
}
