//! How many come through a door, and how much they ask at once. Beyond that nobody waits: a connection is
//! turned away, and a decision is the outage rule's, at once and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use jeton::policy::DoorLimits;

/// Stands at one door.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    /// What the door is called in metrics.
    door: &'static str,
    connections: Counted,
    in_flight: Counted,
    turned_away: AtomicU64,
    shed: AtomicU64,
}

/// How many there are of something, and may be.
#[derive(Debug)]
struct Counted {
    now: AtomicUsize,
    most: usize,
}

impl Counted {
    fn new(most: u32) -> Self {
        Self {
            now: AtomicUsize::new(0),
            most: usize::try_from(most).unwrap_or(usize::MAX),
        }
    }

    /// Takes as many of `wanted` as there is room for.
    fn take(&self, wanted: usize) -> usize {
        let before = self.now.fetch_add(wanted, Relaxed);
        let granted = wanted.min(self.most.saturating_sub(before));
        if granted < wanted {
            self.give(wanted - granted);
        }
        granted
    }

    fn give(&self, taken: usize) {
        self.now.fetch_sub(taken, Relaxed);
    }
}

impl Doorkeeper {
    pub(crate) fn new(door: &'static str, limits: DoorLimits) -> Arc<Self> {
        Arc::new(Self {
            door,
            connections: Counted::new(limits.max_connections),
            in_flight: Counted::new(limits.max_in_flight),
            turned_away: AtomicU64::new(0),
            shed: AtomicU64::new(0),
        })
    }

    /// Lets a connection in, unless there are as many as may be.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Guest> {
        if self.connections.take(1) == 0 {
            self.turned_away.fetch_add(1, Relaxed);
            return None;
        }
        Some(Guest(Arc::clone(self)))
    }

    /// Begins so many decisions: [`Asking::room`] of them may be asked for.
    pub(crate) fn ask(self: &Arc<Self>, decisions: usize) -> Asking {
        let room = self.in_flight.take(decisions);
        let beyond = decisions - room;
        if beyond > 0 {
            let beyond = u64::try_from(beyond).unwrap_or(u64::MAX);
            self.shed.fetch_add(beyond, Relaxed);
        }
        Asking {
            keeper: Arc::clone(self),
            room,
        }
    }

    /// What the door is called.
    pub(crate) const fn door(&self) -> &'static str {
        self.door
    }

    /// Connections there are.
    pub(crate) fn connections(&self) -> usize {
        self.connections.now.load(Relaxed)
    }

    /// Connections there may be.
    pub(crate) const fn most_connections(&self) -> usize {
        self.connections.most
    }

    /// Decisions that are out.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.now.load(Relaxed)
    }

    /// Connections that found no room.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Relaxed)
    }

    /// Decisions that found no room.
    pub(crate) fn shed(&self) -> u64 {
        self.shed.load(Relaxed)
    }
}

/// A connection that was let in, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Guest(Arc<Doorkeeper>);

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.connections.give(1);
    }
}

/// Decisions that are out, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Asking {
    keeper: Arc<Doorkeeper>,
    room: usize,
}

impl Asking {
    /// How many of them may be asked for.
    pub(crate) const fn room(&self) -> usize {
        self.room
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.keeper.in_flight.give(self.room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeper(max_connections: u32, max_in_flight: u32) -> Arc<Doorkeeper> {
        let limits = DoorLimits {
            max_connections,
            max_in_flight,
        };
        Doorkeeper::new("test", limits)
    }

    #[test]
    fn connections_beyond_the_most_are_turned_away_until_one_leaves() {
        let keeper = keeper(2, 1);
        let (one, two) = (keeper.admit(), keeper.admit());
        assert!(one.is_some() && two.is_some() && keeper.admit().is_none());
        assert_eq!((keeper.connections(), keeper.turned_away()), (2, 1));
        drop(one);
        assert!(keeper.admit().is_some());
    }

    #[test]
    fn decisions_beyond_the_most_find_no_room() {
        let keeper = keeper(1, 10);
        let first = keeper.ask(8);
        let second = keeper.ask(5);
        let third = keeper.ask(1);
        assert_eq!([first.room(), second.room(), third.room()], [8, 2, 0]);
        assert_eq!((keeper.in_flight(), keeper.shed()), (10, 4));
        drop((first, third));
        assert_eq!(keeper.in_flight(), 2);
        drop(second);
        assert_eq!(keeper.in_flight(), 0);
    }
}
