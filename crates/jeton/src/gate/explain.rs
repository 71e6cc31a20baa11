//! Why a request would pass, or not: charges nothing.

use jeton_policy::Facts;

use super::Gate;
use crate::{Answered, Verb};

/// Why a request would pass, or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// What each rule of the policy makes of the request.
    pub policy: jeton_policy::Explained,
    /// What it would be answered now: the present state of every counter that it would be charged
    /// to.
    pub answered: Answered,
}

impl Gate {
    /// Why a request would pass now, or not. Charges nothing, creates no key, touches no meter.
    pub fn explain(&self, facts: &dyn Facts) -> impl Future<Output = Explained> + Send + use<> {
        let live = self.0.live.load_full();
        let now = self.0.clock.now();
        let fingerprints = &self.0.fingerprints;
        let policy = live.policy.explain(facts, &live.orders, now, fingerprints);
        let check = Verb::Check;
        let deciding = self.ask_under(&live, facts, false, |live, charges, reading, answers| {
            let charges = charges.map(|charge| (charge, charge.cost)).collect();
            self.carry_out(live, charges, check, reading, answers)
        });
        async move {
            Explained {
                policy,
                answered: deciding.wait().await,
            }
        }
    }
}
