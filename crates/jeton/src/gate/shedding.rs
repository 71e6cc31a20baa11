//! What a door does that has as much in flight as it may: it does not ask, and the outage rule speaks.

use jeton_core::{Answers, Plan, Reading, StoreError, StoreErrorKind, Written};

use super::Gate;
use super::guard::Reply;

/// Whether a gate asks its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Store,
    Nobody,
}

/// Nothing was written: it was not asked.
pub(super) const SATURATED: StoreError = StoreError {
    kind: StoreErrorKind::Saturated,
    written: Written::No,
};

impl Gate {
    /// The same gate for what comes when a door has as much in flight as it may: new charges are not
    /// brought before the store, and the outage rule of each ([`StoreErrorKind::Saturated`]) answers at
    /// once. What is out is settled where it stands.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jeton::policy::{NoReferences, Policy, Source};
    /// # use jeton::{Clock, Gate, NamedCharge, Settings, StoreErrorKind, Table, Verb};
    /// # let file = Source::new("jeton.toml", r#"
    /// #     [[rule]]
    /// #     name = "api"
    /// #     key = ["header:x-user"]
    /// #     algorithm = "gcra"
    /// #     rate = "5/s"
    /// # "#);
    /// # let policy = Policy::load(&file, &NoReferences)?.policy;
    /// # let gate = Gate::new(policy, Arc::new(Table::new(&Settings::default())?), Clock::system());
    /// let charge = NamedCharge::new("api", &["alice"]);
    /// let shed = gate.shedding().charge(Verb::Take, &[charge])?.now();
    /// assert!(shed.is_ok_and(|it| it.store_error() == Some(StoreErrorKind::Saturated)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shedding(&self) -> Self {
        Self(self.0.clone(), Asks::Nobody)
    }

    /// Brings new charges before the store, unless it is not to be asked.
    pub(super) fn ask_store(
        &self,
        plans: &[Plan<'_>],
        reading: Reading,
        answers: &mut Answers,
    ) -> Reply {
        match self.1 {
            Asks::Store => self.0.store.submit(plans, reading, answers),
            Asks::Nobody => {
                answers.clear();
                for _ in plans {
                    answers.push_failed(SATURATED);
                }
                Reply::Done
            }
        }
    }
}
