//! How many come through a door, and how much they ask at once. Beyond that a decision is the outage
//! rule's, at once and counted; and a connection is turned away, or waits where the protocol has no
//! words for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jeton::policy::DoorLimits;
use jeton::{Asking, Gate, InFlight};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More than a process can have; a semaphore could count them.
const MOST_CONNECTIONS: u32 = 1 << 28;

/// Stands at one door.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    /// What the door is called in metrics.
    door: &'static str,
    room: Arc<Semaphore>,
    most: u32,
    in_flight: Arc<InFlight>,
    turned_away: AtomicU64,
}

impl Doorkeeper {
    pub(crate) fn new(door: &'static str, limits: DoorLimits) -> Arc<Self> {
        let most = limits.max_connections.clamp(1, MOST_CONNECTIONS);
        let in_flight = usize::try_from(limits.max_in_flight).unwrap_or(usize::MAX);
        Arc::new(Self {
            door,
            room: Arc::new(Semaphore::new(count(most))),
            most,
            in_flight: InFlight::at_most(in_flight),
            turned_away: AtomicU64::new(0),
        })
    }

    /// Lets a connection in, unless there are as many as may be.
    pub(crate) fn admit(&self) -> Option<Guest> {
        let place = Arc::clone(&self.room).try_acquire_owned();
        if place.is_err() {
            self.turned_away.fetch_add(1, Relaxed);
        }
        place.ok().map(Guest)
    }

    /// Waits until there is room for one more. Whoever alone lets connections in then finds it.
    pub(crate) async fn has_room(&self) {
        drop(self.room.acquire().await);
    }

    /// Waits until everybody has left: whether they did in time.
    pub(crate) async fn all_left(&self, within: Duration) -> bool {
        let all = tokio::time::timeout(within, self.room.acquire_many(self.most)).await;
        all.is_ok()
    }

    /// Begins so many decisions: [`Asking::room`] of them may be asked for.
    pub(crate) fn ask(&self, decisions: usize) -> Asking {
        self.in_flight.begin(decisions)
    }

    /// The gate as this door asks it: one decision for each call.
    pub(crate) fn gate(&self, gate: &Gate) -> Gate {
        gate.within(&self.in_flight)
    }

    /// What the door is called.
    pub(crate) const fn door(&self) -> &'static str {
        self.door
    }

    /// Connections there are.
    pub(crate) fn connections(&self) -> usize {
        count(self.most).saturating_sub(self.room.available_permits())
    }

    /// Connections there may be.
    pub(crate) fn most_connections(&self) -> usize {
        count(self.most)
    }

    /// Decisions that are out.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.now()
    }

    /// Connections that found no room.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Relaxed)
    }

    /// Decisions that found no room.
    pub(crate) fn shed(&self) -> u64 {
        self.in_flight.shed()
    }
}

fn count(connections: u32) -> usize {
    usize::try_from(connections).unwrap_or(usize::MAX)
}

/// A connection that was let in, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Guest(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connections_beyond_the_most_are_turned_away_or_wait_until_one_leaves() {
        let keeper = Doorkeeper::new(
            "test",
            DoorLimits {
                max_connections: 2,
                max_in_flight: 1,
            },
        );
        let (one, two) = (keeper.admit(), keeper.admit());
        assert!(one.is_some() && two.is_some() && keeper.admit().is_none());
        assert_eq!((keeper.connections(), keeper.turned_away()), (2, 1));
        let moment = Duration::from_millis(10);
        let waiting = tokio::time::timeout(moment, keeper.has_room()).await;
        assert!(waiting.is_err() && !keeper.all_left(moment).await);
        drop(one);
        keeper.has_room().await;
        assert_eq!(keeper.connections(), 1);
        assert!(keeper.admit().is_some());
        drop(two);
        assert!(keeper.all_left(moment).await);
        assert_eq!(keeper.turned_away(), 1);
    }
}
