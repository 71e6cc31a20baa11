//! The promise of each algorithm, checked on what has passed and on nothing else.
//!
//! The checks know no state and no model: they count what passed under a window, as the people
//! behind the limit would. They hold for traffic whose clock never steps back.

use std::fmt;

use crate::exact::Ratio;
use crate::model::ModelQuota;

/// Units that passed at an instant, and units given back at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The instant, in microseconds.
    pub at_us: u64,
    /// Units admitted.
    pub units: u64,
    /// Units refunded; a span may admit that many more.
    pub refunded: u64,
}

impl Passed {
    /// `units` admitted at `at_us`, nothing refunded.
    pub fn new(at_us: u64, units: u64) -> Self {
        Self {
            at_us,
            units,
            refunded: 0,
        }
    }
}

/// A span in which more passed than promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first instant that counts.
    pub from_us: u64,
    /// The last instant that counts.
    pub to_us: u64,
    /// Units admitted in between, both ends included.
    pub passed: u64,
    /// The most that may have been.
    pub promised: u64,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from_us,
            to_us,
            passed,
            promised,
        } = self;
        write!(
            f,
            "{passed} units passed from {from_us} to {to_us} µs, where {promised} are promised"
        )
    }
}

impl std::error::Error for Broken {}

/// Checks everything that passed, in order of time, against the promise of `quota`:
///
/// - bucket: at most burst + rate · t in every span t;
/// - sliding log: at most the limit in every (t − W, t];
/// - fixed window: at most the limit in every window;
/// - sliding counter: fewer than twice the limit in every (t − W, t];
/// - block: nothing.
///
/// # Errors
///
/// The first span found in which more passed.
///
/// ```
/// use jeton_testkit::{bound::{self, Passed}, model::ModelQuota};
/// let quota = ModelQuota::SlidingLog { limit: 1, window_us: 10 };
/// assert!(bound::check(&quota, &[Passed::new(0, 1), Passed::new(10, 1)]).is_ok());
/// assert!(bound::check(&quota, &[Passed::new(0, 1), Passed::new(9, 1)]).is_err());
/// ```
pub fn check(quota: &ModelQuota, passed: &[Passed]) -> Result<(), Broken> {
    assert!(
        passed.is_sorted_by_key(|one| one.at_us),
        "the bounds need a clock that only goes on"
    );
    match *quota {
        ModelQuota::Bucket {
            units,
            per_us,
            burst,
        } => every_span(passed, |span_us| {
            let refilled = Ratio::new(units.into(), per_us.into()) * Ratio::from(span_us);
            let refilled = u64::try_from(refilled.floor()).expect("a rate is not negative");
            Some(burst.saturating_add(refilled))
        }),
        ModelQuota::SlidingLog { limit, window_us } => {
            every_span(passed, |span_us| (span_us < window_us).then_some(limit))
        }
        ModelQuota::SlidingCounter { limit, window_us } => every_span(passed, |span_us| {
            (span_us < window_us).then_some(2 * limit - 1)
        }),
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: true,
        } => every_window(
            passed,
            limit,
            |one| one.at_us / window_us * window_us,
            window_us,
        ),
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch: false,
        } => {
            let mut start_us = None;
            let start_of = |one: &Passed| {
                let live = start_us.filter(|start| one.at_us < start + window_us);
                *start_us.insert(live.unwrap_or(one.at_us))
            };
            every_window(passed, limit, start_of, window_us)
        }
        ModelQuota::Concurrency { .. } | ModelQuota::Ticket { .. } => {
            panic!("what is held and given back promises nothing over time")
        }
    }
}

/// The most units that passed in any half-open window of `window_us`.
pub fn worst_in(window_us: u64, passed: &[Passed]) -> u64 {
    let mut worst = 0;
    let mut first = 0;
    let mut sum = 0;
    for one in passed {
        sum += one.units;
        while passed[first].at_us + window_us <= one.at_us {
            sum -= passed[first].units;
            first += 1;
        }
        worst = worst.max(sum);
    }
    worst
}

/// Checks all spans from one passing to another; `promise` is `None` for spans without a promise.
fn every_span(passed: &[Passed], promise: impl Fn(u64) -> Option<u64>) -> Result<(), Broken> {
    for (start, first) in passed.iter().enumerate() {
        let (mut units, mut refunded) = (0, 0);
        for last in &passed[start..] {
            let Some(promised) = promise(last.at_us - first.at_us) else {
                break;
            };
            units += last.units;
            refunded += last.refunded;
            let promised = promised.saturating_add(refunded);
            if units > promised {
                let (from_us, to_us) = (first.at_us, last.at_us);
                return Err(Broken {
                    from_us,
                    to_us,
                    passed: units,
                    promised,
                });
            }
        }
    }
    Ok(())
}

fn every_window(
    passed: &[Passed],
    limit: u64,
    mut start_of: impl FnMut(&Passed) -> u64,
    window_us: u64,
) -> Result<(), Broken> {
    let (mut from_us, mut units, mut promised) = (None, 0, limit);
    for one in passed.iter().filter(|one| one.units + one.refunded > 0) {
        let start_us = start_of(one);
        if from_us != Some(start_us) {
            (from_us, units, promised) = (Some(start_us), 0, limit);
        }
        units += one.units;
        promised += one.refunded;
        if units > promised {
            let to_us = start_us + window_us - 1;
            return Err(Broken {
                from_us: start_us,
                to_us,
                passed: units,
                promised,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(times: &[u64]) -> Vec<Passed> {
        times.iter().map(|&at_us| Passed::new(at_us, 1)).collect()
    }

    #[test]
    fn a_bucket_may_pass_its_burst_and_what_came_back_since_and_no_more() {
        let quota = ModelQuota::Bucket {
            units: 1,
            per_us: 10,
            burst: 2,
        };
        assert_eq!(check(&quota, &at(&[5, 5, 15, 25])), Ok(()));
        let broken = Broken {
            from_us: 5,
            to_us: 24,
            passed: 4,
            promised: 3,
        };
        assert_eq!(check(&quota, &at(&[5, 5, 15, 24])), Err(broken));
    }

    #[test]
    fn a_log_counts_half_open_windows() {
        let quota = ModelQuota::SlidingLog {
            limit: 2,
            window_us: 10,
        };
        assert_eq!(check(&quota, &at(&[0, 9, 10, 19])), Ok(()));
        assert!(check(&quota, &at(&[0, 8, 9])).is_err());
    }

    #[test]
    fn a_fixed_window_is_judged_by_its_anchor() {
        let epoch = ModelQuota::FixedWindow {
            limit: 2,
            window_us: 10,
            epoch: true,
        };
        let first = ModelQuota::FixedWindow {
            limit: 2,
            window_us: 10,
            epoch: false,
        };
        assert_eq!(check(&epoch, &at(&[8, 9, 10, 11])), Ok(()));
        assert!(check(&first, &at(&[8, 9, 10, 11])).is_err());
        assert_eq!(check(&first, &at(&[8, 9, 18, 27])), Ok(()));
        assert!(check(&epoch, &at(&[20, 25, 29])).is_err());
    }

    #[test]
    fn a_counter_stays_below_twice_its_limit() {
        let quota = ModelQuota::SlidingCounter {
            limit: 2,
            window_us: 10,
        };
        assert_eq!(check(&quota, &at(&[8, 9, 17])), Ok(()));
        assert!(check(&quota, &at(&[8, 9, 10, 17])).is_err());
    }

    #[test]
    fn a_refund_makes_room_for_as_much_again() {
        let quota = ModelQuota::FixedWindow {
            limit: 1,
            window_us: 10,
            epoch: true,
        };
        let mut passed = at(&[0, 1]);
        assert!(check(&quota, &passed).is_err());
        passed[0].refunded = 1;
        assert_eq!(check(&quota, &passed), Ok(()));
    }

    #[test]
    fn the_ruler_finds_the_worst_window() {
        assert_eq!(worst_in(10, &at(&[0, 5, 9, 10, 14])), 4);
        assert_eq!(worst_in(10, &at(&[0, 10, 20])), 1);
        assert_eq!(worst_in(10, &[]), 0);
    }
}
