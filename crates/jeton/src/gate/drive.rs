//! What goes on beside decisions.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::Gate;

/// Within a second, every node goes by what an operator has said to one of them.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Gate {
    /// Picks up what operators have said to other nodes, twice a second. Never completes: run it
    /// in a task of its own, and let that go with the gate.
    pub async fn drive(self) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            if let Err(error) = self.refresh_orders().await {
                self.tally().store_failed(error.kind);
            }
        }
    }
}
