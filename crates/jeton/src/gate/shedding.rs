//! How much a door may have out at its store. Beyond that the store is not asked, and the outage rule
//! speaks at once: who waited would wait for a store that is behind already.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use jeton_core::{Answers, Plan, Reading, StoreError, StoreErrorKind, Written};

use super::Gate;
use super::guard::Reply;

/// Nothing was written: it was not asked.
pub(super) const SATURATED: StoreError = StoreError {
    kind: StoreErrorKind::Saturated,
    written: Written::No,
};

/// How many decisions are out, and may be.
#[derive(Debug)]
pub struct InFlight {
    now: AtomicUsize,
    most: usize,
    shed: AtomicU64,
}

impl InFlight {
    /// None yet, and never more than `most`.
    pub fn at_most(most: usize) -> Arc<Self> {
        Arc::new(Self {
            now: AtomicUsize::new(0),
            most,
            shed: AtomicU64::new(0),
        })
    }

    /// How many are out.
    pub fn now(&self) -> usize {
        self.now.load(Relaxed)
    }

    /// How many have found no room.
    pub fn shed(&self) -> u64 {
        self.shed.load(Relaxed)
    }

    /// Begins as many of `wanted` as there is room for, and counts the others.
    pub fn begin(self: &Arc<Self>, wanted: usize) -> Asking {
        let before = self.now.fetch_add(wanted, Relaxed);
        let room = wanted.min(self.most.saturating_sub(before));
        let beyond = wanted - room;
        if beyond > 0 {
            self.now.fetch_sub(beyond, Relaxed);
            let beyond = u64::try_from(beyond).unwrap_or(u64::MAX);
            self.shed.fetch_add(beyond, Relaxed);
        }
        let in_flight = Arc::clone(self);
        Asking { in_flight, room }
    }
}

/// Decisions that are out, for as long as this lives.
#[derive(Debug)]
pub struct Asking {
    in_flight: Arc<InFlight>,
    room: usize,
}

impl Asking {
    /// How many of them may be asked for.
    pub const fn room(&self) -> usize {
        self.room
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.in_flight.now.fetch_sub(self.room, Relaxed);
    }
}

impl Gate {
    /// The same gate for a door that may have no more decisions out at the store than `in_flight` says:
    /// one beyond those is not brought before it, and the outage rule ([`StoreErrorKind::Saturated`])
    /// answers at once. What waits for anything but the store is not out, and neither is what is held
    /// until it is settled. A call for many ([`Gate::batch`]) is one here, and has a room of its own.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jeton::policy::{NoReferences, Policy, Source};
    /// # use jeton::{Clock, Gate, InFlight, NamedCharge, Settings, StoreErrorKind, Table, Verb};
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
    /// let in_flight = InFlight::at_most(1);
    /// let door = gate.within(&in_flight);
    /// let out = in_flight.begin(1);
    /// let shed = door.charge(Verb::Take, &[charge])?.now();
    /// assert!(shed.is_ok_and(|it| it.store_error() == Some(StoreErrorKind::Saturated)));
    /// drop(out);
    /// # let charge = NamedCharge::new("api", &["alice"]);
    /// let asked = door.charge(Verb::Take, &[charge])?.now();
    /// assert!(asked.is_ok_and(|it| it.store_error().is_none() && in_flight.shed() == 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn within(&self, in_flight: &Arc<InFlight>) -> Self {
        Self(self.0.clone(), Some(Arc::clone(in_flight)))
    }

    /// Brings new charges before the store, if there is room.
    pub(super) fn ask_store(
        &self,
        plans: &[Plan<'_>],
        reading: Reading,
        answers: &mut Answers,
    ) -> Reply {
        let Some(in_flight) = &self.1 else {
            return self.0.store.submit(plans, reading, answers);
        };
        let asking = in_flight.begin(1);
        if asking.room() == 0 {
            answers.clear();
            for _ in plans {
                answers.push_failed(SATURATED);
            }
            return Reply::Done;
        }
        match self.0.store.submit(plans, reading, answers) {
            Reply::Done => Reply::Done,
            Reply::Later(later) => Reply::Later(later.counted(asking)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_beyond_the_most_find_no_room() {
        let in_flight = InFlight::at_most(10);
        let first = in_flight.begin(8);
        let second = in_flight.begin(5);
        let third = in_flight.begin(1);
        assert_eq!([first.room(), second.room(), third.room()], [8, 2, 0]);
        assert_eq!((in_flight.now(), in_flight.shed()), (10, 4));
        drop((first, third));
        assert_eq!(in_flight.now(), 2);
        drop(second);
        assert_eq!(in_flight.now(), 0);
    }
}
