//! What `/metrics` tells, in the names that DESIGN gives (an interface too). No label comes from a
//! client: rules and reasons are the policy's and ours.

mod descriptors;
mod doors;
mod render;
mod standing;
mod timing;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use jeton::policy::Changes;
use jeton::{Gate, StoreErrorKind, StoreState};

pub(crate) use render::in_force;
pub use render::{CONTENT_TYPE, render};
pub use standing::Reloaded;
use standing::Standing;
use timing::Timing;

use crate::doors::Doorkeeper;
use crate::store::Backend;
use doors::Doors;

/// Everything that is counted, shared by all doors.
pub struct Metrics {
    gate: Gate,
    store: Backend,
    standing: Standing,
    decisions: Timing,
    doors: Doors,
    descriptors: descriptors::Descriptors,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

impl Metrics {
    /// The counters of `gate` and of the store behind it. `generation` counts the policies that
    /// were in force, this one included.
    pub fn new(gate: Gate, store: Backend, generation: u64) -> Self {
        Self {
            gate,
            store,
            standing: Standing::new(generation),
            decisions: Timing::default(),
            descriptors: descriptors::Descriptors::default(),
            doors: Doors::default(),
        }
    }

    /// Where the states are.
    pub const fn store(&self) -> &Backend {
        &self.store
    }

    /// How many policies have been in force, the present one included.
    pub fn generation(&self) -> u64 {
        self.standing.generation()
    }

    /// What the latest reload did; none if there was none.
    pub fn reloaded(&self) -> Option<Arc<Reloaded>> {
        self.standing.reloaded()
    }

    /// Why the policy file, as it was last read, is not what is in force; none if it is.
    pub fn refusal(&self) -> Option<Arc<str>> {
        self.standing.refusal()
    }

    /// Notes that another policy is in force.
    pub(crate) fn swapped(&self, changes: &Changes) -> Arc<Reloaded> {
        self.standing.swapped(changes)
    }

    /// Notes that the policy file is not what is in force.
    pub(crate) fn refused(&self, why: &str) {
        self.standing.refused(why.into());
    }

    /// Notes a decision that was asked for at `asked`.
    pub fn decided(&self, asked: Instant) {
        self.decisions.note(asked.elapsed());
    }

    /// Notes so many decisions that were asked for together at `asked`.
    pub(crate) fn decided_together(&self, asked: Instant, decisions: usize) {
        let decisions = u64::try_from(decisions).unwrap_or(u64::MAX);
        self.decisions.note_often(asked.elapsed(), decisions);
    }

    /// Tells of a door from now on.
    pub(crate) fn watch(&self, door: &Arc<Doorkeeper>) {
        self.doors.append(Arc::clone(door));
    }

    /// The doors that are told of.
    pub(crate) fn doors(&self) -> Vec<Arc<Doorkeeper>> {
        self.doors.all()
    }

    /// Notes what became of a descriptor of this name.
    pub(crate) fn descriptor(&self, name: &str, over: bool) {
        self.descriptors.count(name, over);
    }

    /// Why the store gives no decisions, if it does not.
    pub fn degraded(&self) -> Option<StoreErrorKind> {
        match self.store.state(self.gate.store_state()) {
            StoreState::Failing { why } | StoreState::Away { why } => Some(why),
            _ => None,
        }
    }
}
