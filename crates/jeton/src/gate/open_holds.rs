//! Which charges are still out, in this process: a request that is refused only because of them may
//! wait for one to settle.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jeton_core::RuleId;
use tokio::sync::Notify;

/// Shards, so that holds of different keys seldom meet.
const SHARDS: usize = 16;

/// The charges that are out, by counter and key.
#[derive(Debug, Default)]
pub(crate) struct OpenHolds([Mutex<HashMap<Place, Open>>; SHARDS]);

type Place = (RuleId, Box<[u8]>);

#[derive(Debug, Default)]
struct Open {
    units: u64,
    settled: Arc<Notify>,
}

impl OpenHolds {
    /// Notes that `units` are out.
    pub(crate) fn opened(&self, counter: RuleId, key: &[u8], units: u32) {
        let mut shard = self.shard(counter, key);
        let open = shard.entry((counter, key.into())).or_default();
        open.units += u64::from(units);
    }

    /// Notes that `units` have been settled, for better or worse, and wakes all who wait for that.
    pub(crate) fn closed(&self, counter: RuleId, key: &[u8], units: u32) {
        let mut shard = self.shard(counter, key);
        let place = (counter, key.into());
        let Some(open) = shard.get_mut(&place) else {
            return;
        };
        open.units = open.units.saturating_sub(u64::from(units));
        open.settled.notify_waiters();
        if open.units == 0 {
            shard.remove(&place);
        }
    }

    /// How many units are out, and what tells when some are settled; none if none are.
    pub(crate) fn of(&self, counter: RuleId, key: &[u8]) -> Option<(u64, Arc<Notify>)> {
        let shard = self.shard(counter, key);
        let open = shard.get(&(counter, Box::from(key)))?;
        Some((open.units, Arc::clone(&open.settled)))
    }

    fn shard(&self, counter: RuleId, key: &[u8]) -> MutexGuard<'_, HashMap<Place, Open>> {
        // Keys of one rule differ mostly in their last bytes.
        let mix = key.iter().fold(counter.get(), |mix, byte| {
            (mix ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let index = usize::try_from(mix >> 32).unwrap_or(0) % SHARDS;
        // An index below the number of shards; nothing panics with a lock held.
        self.0[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_been_settled_is_forgotten() {
        let holds = OpenHolds::default();
        let rule = RuleId::new(1);
        holds.opened(rule, b"a", 2);
        holds.opened(rule, b"a", 1);
        holds.opened(rule, b"b", 1);
        assert_eq!(holds.of(rule, b"a").map(|open| open.0), Some(3));
        holds.closed(rule, b"a", 2);
        assert_eq!(holds.of(rule, b"a").map(|open| open.0), Some(1));
        holds.closed(rule, b"a", 1);
        assert!(holds.of(rule, b"a").is_none());
        assert!(holds.of(rule, b"b").is_some());
        assert!(holds.of(RuleId::new(2), b"b").is_none());
    }
}
