//! Charges that outlive the request they came from: held, reserved, or asked for again.

use jeton_core::{Act, Cost, OnDeny, Op};
use jeton_policy::Charge;

use super::Live;
use super::asked::Seed;

/// A charge with its key.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) seed: Seed,
    pub(crate) key: Box<[u8]>,
    pub(crate) cost: Cost,
    pub(crate) on_deny: OnDeny,
    pub(crate) max_debt: Cost,
    pub(crate) settled_by: Option<SettledBy>,
    #[cfg(feature = "settling")]
    pub(crate) hold_wait: std::time::Duration,
}

/// What tells what a charge has really cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettledBy {
    /// The status of the response: all of it, or nothing.
    Status,
    /// A field of the response's head or its trailers.
    Response,
    /// The end of the response: concurrency.
    End,
}

impl SettledBy {
    const fn of(settle: jeton_policy::Settle<'_>) -> Self {
        match settle {
            jeton_policy::Settle::Status(_) => Self::Status,
            jeton_policy::Settle::Response(_) => Self::Response,
            jeton_policy::Settle::Lease => Self::End,
        }
    }
}

impl Owned {
    pub(crate) fn of(live: &Live, charge: &Charge<'_>, cost: Cost) -> Self {
        Self {
            seed: Seed::of(live, charge),
            key: charge.key.into(),
            cost,
            on_deny: charge.on_deny,
            max_debt: charge.max_debt,
            settled_by: charge.settle.map(SettledBy::of),
            #[cfg(feature = "settling")]
            hold_wait: charge.hold_wait,
        }
    }

    /// The same under its rule's share of the quota, if the rule decides locally in an outage.
    #[cfg(feature = "settling")]
    pub(crate) fn locally(&self) -> Option<Self> {
        let seed = self.seed.locally()?;
        Some(Self {
            seed,
            ..self.clone()
        })
    }

    pub(crate) fn op(&self, act: Act) -> Op<'_> {
        Op {
            mode: self.seed.mode.into(),
            on_deny: self.on_deny,
            ..Op::new(self.seed.id, &self.key, &self.seed.quota, act)
        }
    }

    /// Charges it, to be settled later where something will tell.
    #[cfg(feature = "settling")]
    pub(crate) fn take_or_hold(&self) -> Op<'_> {
        let cost = self.cost;
        self.op(match self.settled_by {
            Some(_) => Act::Hold { cost },
            None => Act::Take { cost },
        })
    }
}
