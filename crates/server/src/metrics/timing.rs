//! How long decisions take, in buckets: two additions each.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds in nanoseconds: from one cache miss to a store that hangs until its timeout.
const BOUNDS_NS: [u64; 10] = [
    500,
    1_000,
    2_500,
    10_000,
    50_000,
    250_000,
    1_000_000,
    5_000_000,
    20_000_000,
    100_000_000,
];

/// A histogram of durations.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// The last one is for all that is above every bound.
    counts: [AtomicU64; BOUNDS_NS.len() + 1],
    sum_ns: AtomicU64,
}

/// What a histogram holds.
pub(super) struct Snapshot {
    pub(super) sum_s: f64,
    pub(super) count: u64,
    /// Upper bounds in seconds, and how many lie between them and the bound before.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl Timing {
    pub(super) fn note(&self, took: Duration) {
        self.note_often(took, 1);
    }

    /// The same of several that took so long together: each was waited for until all were there.
    pub(super) fn note_often(&self, took: Duration, times: u64) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < ns);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(times, Relaxed);
        }
        self.sum_ns.fetch_add(ns.saturating_mul(times), Relaxed);
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let bounds = BOUNDS_NS
            .iter()
            .map(|ns| seconds(*ns))
            .chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        Snapshot {
            sum_s: seconds(self.sum_ns.load(Relaxed)),
            count,
            buckets,
        }
    }
}

fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_holds_it() {
        let timing = Timing::default();
        for ns in [0, 500, 501, 1_000_000_000] {
            timing.note(Duration::from_nanos(ns));
        }
        let Snapshot { count, buckets, .. } = timing.snapshot();
        assert_eq!(count, 4);
        assert_eq!((buckets[0].1, buckets[1].1, buckets[10].1), (2, 1, 1));
    }
}
