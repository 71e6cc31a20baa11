//! Units that were taken ahead and not spent go back to the store.

use super::super::{Gate, Reply};
use super::Unspent;
use jeton_core::{Answers, Op, Plan};

/// So many go back in one call.
const BATCH: usize = 256;

/// So many at most each time that somebody looks.
const MOST: usize = 16 * BATCH;

impl Gate {
    /// Waits for charges that are being settled and units that are on their way, gives all units back
    /// that were taken ahead, and takes no more: the last thing that a process does. Each of these takes
    /// as long as the store may take to answer, at most; units of which it does not know stay charged
    /// until their time is over.
    pub async fn drain(&self) {
        #[cfg(feature = "settling")]
        self.all_settled().await;
        if let Some(thrift) = self.0.store.thrift() {
            thrift.close();
            #[cfg(feature = "settling")]
            self.0.store.all_learnt().await;
            self.give_back(&thrift.all()).await;
        }
    }

    /// Gives units back that were not spent in time.
    pub(in crate::gate) async fn give_back_old(&self) {
        if let Some(thrift) = self.0.store.thrift() {
            let old = thrift.old(self.0.clock.now(), MOST);
            self.give_back(&old).await;
        }
    }

    /// All calls are made at once, and then waited for. One that fails is not made again: it may have
    /// been carried out.
    async fn give_back(&self, unspent: &[Unspent]) {
        let mut calls = Vec::new();
        for batch in unspent.chunks(BATCH) {
            let ops: Vec<Op<'_>> = batch.iter().map(Unspent::op).collect();
            let plans: Vec<Plan<'_>> = ops.iter().map(Plan::one).collect();
            let (reading, mut answers) = (self.0.clock.reading(), Answers::new());
            if let Reply::Later(later) = self.0.store.ask(&plans, reading, &mut answers) {
                calls.push(later);
            }
        }
        for call in calls {
            call.answers().await;
        }
    }
}
