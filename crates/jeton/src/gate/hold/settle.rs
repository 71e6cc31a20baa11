//! Settling what is held.

use std::sync::Arc;

use jeton_core::{Act, Answers, Cost, Op, Plan};
use smallvec::SmallVec;

use super::super::{Gate, Ledger, Live, Reply};
use super::Out;
use crate::answered::Answered;
use crate::meters::Event;

impl Gate {
    /// Settles charges in one step: at once if the store can, else in a task of its own.
    pub(super) fn settle(
        &self,
        live: &Arc<Live>,
        known: SmallVec<[(Out, Cost); 1]>,
        ledger: Ledger,
        answered: Option<&mut Answered>,
    ) {
        let mut answers = Answers::new();
        let submitted = {
            let settled = known.iter().map(|(out, actual)| {
                out.owned.op(Act::Settle {
                    receipt: out.receipt,
                    actual: *actual,
                    max_debt: out.owned.max_debt,
                })
            });
            let ops: SmallVec<[Op<'_>; 2]> = settled.collect();
            let Ok(plan) = Plan::new(&ops) else {
                return;
            };
            self.submit_to(ledger, &[plan], &mut answers)
        };
        match submitted {
            Reply::Done => {
                self.settled(live, &known, ledger, &answers);
                if let Some(answered) = answered {
                    show(answered, &known, &answers);
                }
            }
            Reply::Later(later) => {
                let (gate, live) = (self.clone(), Arc::clone(live));
                let at_work = Arc::clone(&self.0.settling).try_read_owned();
                let settling = async move {
                    let _at_work = at_work;
                    gate.settled(&live, &known, ledger, &later.answers().await);
                };
                // Without a runtime nobody is left to carry it out: the charges stay.
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    drop(runtime.spawn(settling));
                }
            }
        }
    }

    /// Waits for what is being settled.
    pub(in crate::gate) async fn all_settled(&self) {
        drop(self.0.settling.write().await);
    }

    /// Notes what has been settled, and lets those go on who waited for it.
    fn settled(&self, live: &Live, known: &[(Out, Cost)], ledger: Ledger, answers: &Answers) {
        let (verdict, decisions) = answers.plan(0);
        match verdict {
            Ok(_) => {
                live.tally
                    .happened_often(Event::Settled, known.len() as u64);
                let clipped = known.iter().zip(decisions).map(|((_, actual), decision)| {
                    let charged = match decision.fit {
                        jeton_core::Fit::Settled { actual } => actual,
                        _ => actual.get(),
                    };
                    u64::from(actual.get().saturating_sub(charged))
                });
                live.tally
                    .happened_often(Event::UnitsClipped, clipped.sum());
            }
            Err(error) => {
                live.tally
                    .happened_often(Event::SettleLost, known.len() as u64);
                let rules = known.iter().map(|(out, _)| out.owned.seed.rule);
                live.tally.store_failed(error.kind, rules);
            }
        }
        if ledger == Ledger::Local {
            return;
        }
        for (Out { owned, receipt, .. }, _) in known {
            let (id, key) = (owned.seed.id, &owned.key);
            self.0.open_holds.closed(id, key, receipt.cost);
        }
    }

    /// Plans about charges that stand in the store, or in this process.
    pub(super) fn submit_to(
        &self,
        ledger: Ledger,
        plans: &[Plan<'_>],
        answers: &mut Answers,
    ) -> Reply {
        let reading = self.0.clock.reading();
        match ledger {
            Ledger::Store => self.0.store.submit(plans, reading, answers),
            Ledger::Local => {
                self.0.local.decide(plans, reading, answers);
                Reply::Done
            }
        }
    }
}

/// Brings decisions to what they are after their charges were settled.
fn show(answered: &mut Answered, known: &[(Out, Cost)], answers: &Answers) {
    let (_, decisions) = answers.plan(0);
    for ((out, _), settled) in known.iter().zip(decisions) {
        if let Some(part) = answered.parts.get_mut(out.part) {
            let before = part.decision;
            part.decision = *settled;
            part.decision.fit = before.fit;
            part.decision.receipt = before.receipt;
        }
    }
}
