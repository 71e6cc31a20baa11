//! What goes on beside decisions.

use super::Gate;

impl Gate {
    /// Looks, twice a second ([`Gate::look`]). Never completes: run it in a task of its own, and let
    /// that go with the gate.
    #[cfg(feature = "settling")]
    pub async fn drive(self) {
        use tokio::time::{MissedTickBehavior, interval};

        /// Within a second, every node goes by what an operator has said to one of them.
        const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(500);

        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            self.look().await;
        }
    }

    /// Picks up what operators have said to other nodes, gives back units that were taken ahead and not
    /// spent in time, and probes a store that has failed: for who has a timer of another kind than
    /// `Gate::drive` needs. Where nobody looks, requests are the probes.
    pub async fn look(&self) {
        let store = &self.0.store;
        store.probed_elsewhere();
        let was_away = store.is_away();
        let looked = self.refresh_orders().await;
        if looked.is_ok() && !store.is_calm() {
            store.probe().await;
        }
        self.give_back_old().await;
        if !store.is_away() {
            self.0.local.tidy(self.0.clock.now());
        }
        match looked {
            Ok(()) => {}
            // Of a store that is away, it has been told.
            Err(_) if was_away => {}
            Err(error) => self.tally().store_failed(error.kind, std::iter::empty()),
        }
    }
}
