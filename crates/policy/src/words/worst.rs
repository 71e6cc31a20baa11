//! The most that can pass in a span of time, wherever the span begins.

use jeton_core::{Anchor, Span};

use crate::rule::Terms;

/// The most units that one key can get in any span of this length: never passed, and reached by
/// the worst client (a bucket's bound only where a unit takes whole microseconds).
///
/// A bucket is bounded by burst + rate × time over a span with both its ends. Spans over windows
/// and logs are half-open, as windows themselves are: a hit leaves a log exactly one window after
/// it came. Of `concurrency`, which counts requests in flight, any number can pass in a span:
/// [`u64::MAX`].
///
/// ```
/// use jeton_policy::{Terms, parse_duration, parse_rate, worst_case};
/// let terms = Terms::Bucket { pace: parse_rate("17/30s")?, burst: 17 };
/// assert_eq!(worst_case(&terms, parse_duration("30s")?), 34);
/// # Ok::<(), jeton_policy::Fault>(())
/// ```
pub fn worst_case(terms: &Terms, span: Span) -> u64 {
    let t = span.as_micros();
    if t == 0 {
        return 0;
    }
    match *terms {
        Terms::Bucket { pace, burst } => {
            let flow =
                u128::from(pace.units) * u128::from(t) / u128::from(pace.per.as_micros().max(1));
            burst.saturating_add(u64::try_from(flow).unwrap_or(u64::MAX))
        }
        Terms::SlidingLog { limit, window } => {
            limit.saturating_mul(t.div_ceil(window.as_micros().max(1)))
        }
        Terms::FixedWindow {
            limit,
            window,
            anchor,
        } => fixed(limit, window.as_micros().max(1), anchor, t),
        Terms::SlidingCounter { limit, window } => counter(limit, window.as_micros().max(1), t),
        Terms::Concurrency { .. } => u64::MAX,
    }
}

/// The span begins with the last instant of a window, and each window it meets is used up. A
/// window that opens with its first request has had that one before the span begins, unless the
/// span begins with it.
fn fixed(limit: u64, window: u64, anchor: Anchor, t: u64) -> u64 {
    let later = (t - 1).div_ceil(window);
    match anchor {
        Anchor::Epoch => limit.saturating_mul(later.saturating_add(1)),
        Anchor::FirstRequest => {
            let amid = limit.saturating_mul(later).saturating_add(limit - 1);
            amid.max(limit.saturating_mul(t.div_ceil(window)))
        }
    }
}

/// The span begins with the last instant of a window, into which the whole limit is put, or with
/// a window; every full window it covers is used at its last instant, where the one before weighs
/// least. Using less of one window never makes up for it in the next: a unit weighs at most one.
fn counter(limit: u64, window: u64, t: u64) -> u64 {
    let before = limit.saturating_add(windows(limit, window, limit, t - 1));
    before.max(windows(limit, window, 0, t))
}

/// The most that windows let through one after the other in `t`, the one before them holding
/// `previous` units.
fn windows(limit: u64, window: u64, previous: u64, t: u64) -> u64 {
    let mut previous = previous;
    let mut total = 0_u64;
    let mut full = t / window;
    let mut grandparent = None;
    while full > 0 {
        let now = room(limit, window, previous, window - 1);
        if grandparent == Some(now) {
            // Two windows on, the counts repeat: take the rest in pairs.
            total = total.saturating_add((full / 2).saturating_mul(previous.saturating_add(now)));
            full %= 2;
            grandparent = None;
            continue;
        }
        grandparent = Some(previous);
        total = total.saturating_add(now);
        previous = now;
        full -= 1;
    }
    match t % window {
        0 => total,
        part => total.saturating_add(room(limit, window, previous, part - 1)),
    }
}

/// What fits a window at `elapsed`: `previous · (window − elapsed) + n · window ≤ limit · window`.
fn room(limit: u64, window: u64, previous: u64, elapsed: u64) -> u64 {
    let weighed = u128::from(previous) * u128::from(window - elapsed);
    let weighed = u64::try_from(weighed.div_ceil(u128::from(window))).unwrap_or(u64::MAX);
    limit.saturating_sub(weighed)
}

#[cfg(test)]
mod tests {
    use jeton_core::{Act, Cost, Edit, Entry, Micros, Quota, View};

    use super::*;
    use crate::units::{parse_duration, parse_rate};

    fn span(us: u64) -> Span {
        Span::from_micros(us).unwrap()
    }

    fn bucket(rate: &str, burst: u64) -> Terms {
        Terms::Bucket {
            pace: parse_rate(rate).unwrap(),
            burst,
        }
    }

    #[test]
    fn f10_seventeen_per_thirty_seconds_is_at_most_34_in_any_30_s() {
        let terms = bucket("17/30s", 17);
        assert_eq!(worst_case(&terms, parse_duration("30s").unwrap()), 34);
        let log = Terms::SlidingLog {
            limit: 17,
            window: parse_duration("30s").unwrap(),
        };
        assert_eq!(worst_case(&log, parse_duration("30s").unwrap()), 17);
    }

    #[test]
    fn the_examples_of_the_manual() {
        let (second, minute) = (span(1_000_000), span(60_000_000));
        let any = |terms: &Terms| (worst_case(terms, second), worst_case(terms, minute));
        assert_eq!(any(&bucket("20/s", 100)), (120, 1_300));
        assert_eq!(any(&bucket("5/s", 20)), (25, 320));
        assert_eq!(any(&bucket("50/s", 200)), (250, 3_200));
        let (limit, window, anchor) = (100, minute, Anchor::Epoch);
        assert_eq!(
            any(&Terms::FixedWindow {
                limit,
                window,
                anchor
            }),
            (200, 200)
        );
        assert_eq!(any(&Terms::SlidingLog { limit: 5, window }), (5, 5));
        let counter = Terms::SlidingCounter { limit: 100, window };
        assert_eq!(worst_case(&counter, minute), 199);
        let anchor = Anchor::FirstRequest;
        assert_eq!(
            worst_case(
                &Terms::FixedWindow {
                    limit,
                    window,
                    anchor
                },
                minute
            ),
            199
        );
    }

    #[test]
    fn a_long_span_over_short_windows_is_quick() {
        let year = span(31_536_000_000_000);
        let counter = Terms::SlidingCounter {
            limit: 3,
            window: span(1_000),
        };
        assert!(worst_case(&counter, year) > 31_536_000_000 * 2);
        assert_eq!(
            worst_case(
                &Terms::SlidingCounter {
                    limit: 1,
                    window: span(2)
                },
                span(9)
            ),
            3
        );
    }

    /// The state of one key on tiny numbers.
    #[derive(Clone, Default)]
    struct State {
        cell: Option<jeton_core::Cell>,
        tail: Vec<Entry>,
    }

    impl State {
        fn take(&mut self, quota: &Quota, now: u64) -> bool {
            let view = View {
                cell: self.cell,
                tail: &self.tail,
            };
            let outcome = quota.decide(view, &Act::Take { cost: Cost::ONE }, Micros::new(now));
            match outcome.edit {
                Edit::Keep => {}
                Edit::Erase => *self = Self::default(),
                Edit::Put { cell, tail, .. } => {
                    self.cell = Some(cell);
                    tail.apply(&mut self.tail);
                }
            }
            outcome.decision.fit.passes()
        }
    }

    /// The most that any client can get in `t` instants, by trying all of them: at each instant,
    /// from 0 to `limit` takes.
    fn search(quota: &Quota, state: &State, now: u64, from: u64, until: u64) -> u64 {
        if now == until {
            return 0;
        }
        let mut best = search(quota, state, now + 1, from, until);
        let mut state = state.clone();
        let mut taken = 0;
        while state.take(quota, now) {
            taken += u64::from(now >= from);
            best = best.max(taken + search(quota, &state, now + 1, from, until));
        }
        best
    }

    fn tried(terms: &Terms, window: u64, t: u64) -> u64 {
        let quota = terms.quota().unwrap();
        let begin = window * 2;
        let spans = (0..window).map(|offset| {
            let from = begin + window + offset;
            search(&quota, &State::default(), begin, from, from + t)
        });
        spans.max().unwrap()
    }

    #[test]
    fn no_client_gets_more_and_one_gets_just_as_much() {
        for (limit, window, longest) in [(1, 2, 5), (2, 2, 5), (1, 3, 5), (2, 3, 4), (3, 3, 3)] {
            for t in 1..=longest {
                let anchor = Anchor::Epoch;
                let first = Anchor::FirstRequest;
                for terms in [
                    Terms::FixedWindow {
                        limit,
                        window: span(window),
                        anchor,
                    },
                    Terms::FixedWindow {
                        limit,
                        window: span(window),
                        anchor: first,
                    },
                    Terms::SlidingLog {
                        limit,
                        window: span(window),
                    },
                    Terms::SlidingCounter {
                        limit,
                        window: span(window),
                    },
                ] {
                    assert_eq!(
                        worst_case(&terms, span(t)),
                        tried(&terms, window, t),
                        "{terms:?} in {t}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_bucket_reaches_its_bound_over_a_span_with_both_ends() {
        for (units, per, burst) in [(1, 2, 2), (2, 3, 1), (3, 2, 3), (1, 3, 1), (2, 1, 2)] {
            let pace = crate::Pace {
                units,
                per: span(per),
            };
            let terms = Terms::Bucket { pace, burst };
            for t in 1..=4 {
                let quota = terms.quota().unwrap();
                let most = search(&quota, &State::default(), 0, 0, t + 1);
                let bound = worst_case(&terms, span(t));
                assert!(bound >= most, "{terms:?} in {t}");
                if per % units == 0 {
                    assert_eq!(bound, most, "{terms:?} in {t}");
                }
            }
        }
    }
}
