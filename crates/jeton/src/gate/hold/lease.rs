//! Keeping units of `concurrency` for as long as a response takes.

use std::time::Duration;

use jeton_core::{Act, Answers, Op, Plan, Receipt, Span};
use smallvec::SmallVec;
use tokio::task::AbortHandle;

use super::super::owned::{Owned, SettledBy};
use super::super::{Gate, Ledger, Reply};
use super::Out;

/// A task that renews leases, each third of the shortest; it ends with this.
pub(super) struct Renewing(AbortHandle);

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Renewing {
    /// Starts renewing what of `out` is leased; none if nothing is, or nobody could do it.
    pub(super) fn start(gate: &Gate, out: &[Out], ledger: Ledger) -> Option<Self> {
        let leased: Vec<(Owned, Receipt)> = out
            .iter()
            .filter(|out| out.owned.settled_by == Some(SettledBy::End))
            .map(|out| (out.owned.clone(), out.receipt))
            .collect();
        let lease = leased
            .iter()
            .filter_map(|(owned, _)| owned.seed.quota.lease());
        let shortest = lease.min_by_key(|lease: &Span| lease.as_micros())?;
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let every = Duration::from(shortest) / 3;
        let task = runtime.spawn(renew(gate.clone(), leased, ledger, every));
        Some(Self(task.abort_handle()))
    }
}

async fn renew(gate: Gate, leased: Vec<(Owned, Receipt)>, ledger: Ledger, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let mut answers = Answers::new();
        let submitted = {
            let renewed = leased.iter().map(|(owned, receipt)| {
                let receipt = *receipt;
                owned.op(Act::Renew { receipt })
            });
            let ops: SmallVec<[Op<'_>; 2]> = renewed.collect();
            // Each for itself: one that is lost keeps no other from being renewed.
            let plans: SmallVec<[Plan<'_>; 2]> = ops.iter().map(Plan::one).collect();
            gate.submit_to(ledger, &plans, &mut answers)
        };
        if let Reply::Later(later) = submitted {
            drop(later.answers().await);
        }
    }
}
