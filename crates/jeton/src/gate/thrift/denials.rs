//! Denials of one cell that still hold.

use jeton_core::{Micros, Quota, Span};

use super::told::{span, time_of};

/// So many costs are remembered of one cell.
const COSTS: usize = 3;

/// What was denied, by its cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Denials([Option<Denial>; COSTS]);

#[derive(Clone, Copy, Debug)]
struct Denial {
    cost: u32,
    /// It is denied before that: counted from when the store was asked, so that it never outlasts
    /// what the store meant.
    until: Micros,
    /// When it fits for certain: counted from when the answer came, so that whoever waits for it has
    /// waited long enough.
    fits: Micros,
}

impl Denials {
    /// Remembers that `cost` has to wait for `wait`, for `keep_for` at most.
    pub(super) fn remember(
        &mut self,
        cost: u32,
        wait: Span,
        keep_for: Span,
        (sent, came): (Micros, Micros),
    ) -> Micros {
        let until = sent.saturating_add(wait.min(keep_for));
        let fits = came.saturating_add(wait);
        let denial = Denial { cost, until, fits };
        // The same cost, else a free place, else the one that is over first.
        let age = |slot: &Option<Denial>| match slot {
            Some(denial) if denial.cost == cost => (0, Micros::ZERO),
            None => (1, Micros::ZERO),
            Some(denial) => (2, denial.until),
        };
        if let Some(slot) = self.0.iter_mut().min_by_key(|slot| age(slot)) {
            *slot = Some(denial);
        }
        until
    }

    /// How long `cost` still has to wait, if it is certain that it has to.
    ///
    /// A bucket brings back one unit after the other, so that the wait of a higher cost is known with
    /// that of a lower one. Elsewhere it depends on what was charged when, and on debts: a higher
    /// cost has to be asked about.
    pub(super) fn wait(&self, quota: &Quota, cost: u32, now: Micros) -> Option<Span> {
        let holds = |denial: &&Denial| now < denial.until && denial.cost <= cost;
        let nearest = self.0.iter().flatten().filter(holds);
        let nearest = nearest.max_by_key(|denial| denial.cost)?;
        let wait = nearest.fits.since(now);
        match (u64::from(cost - nearest.cost), quota.rate()) {
            (0, _) => Some(wait),
            (more, Some(rate)) if cost <= quota.limit() => {
                Some(span(wait.as_micros().saturating_add(time_of(rate, more))))
            }
            _ => None,
        }
    }

    /// The store has said that `remaining` fits.
    pub(super) fn retain_above(&mut self, remaining: u32) {
        for slot in &mut self.0 {
            *slot = slot.filter(|denial| denial.cost > remaining);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use jeton_core::Rate;

    use super::*;

    const MS: u64 = 1_000;

    fn ms(ms: u64) -> Span {
        span(ms * MS)
    }

    fn at(ms: u64) -> Micros {
        Micros::new(ms * MS)
    }

    #[test]
    fn it_denies_from_when_it_was_asked_and_waits_from_when_it_was_told() {
        let log = Quota::sliding_log(10, Span::SECOND).unwrap();
        let mut denials = Denials::default();
        denials.remember(4, ms(100), Span::SECOND, (at(0), at(20)));
        assert_eq!(denials.wait(&log, 4, at(20)), Some(ms(100)));
        assert_eq!(denials.wait(&log, 4, at(99)), Some(ms(21)));
        assert_eq!(denials.wait(&log, 4, at(100)), None);
        // Less may fit; how long more has to wait, only the store knows.
        assert_eq!(denials.wait(&log, 3, at(20)), None);
        assert_eq!(denials.wait(&log, 5, at(20)), None);
        denials.remember(5, ms(300), ms(50), (at(30), at(40)));
        assert_eq!(denials.wait(&log, 5, at(79)), Some(ms(261)));
        assert_eq!(denials.wait(&log, 5, at(80)), None);
        assert_eq!(denials.wait(&log, 4, at(80)), Some(ms(40)));
    }

    #[test]
    fn a_bucket_tells_the_wait_of_more_and_none_of_what_never_fits() {
        let bucket = Quota::bucket(Rate::new(3, ms(10)).unwrap(), 10).unwrap();
        let mut denials = Denials::default();
        denials.remember(4, ms(100), Span::SECOND, (at(0), at(0)));
        assert_eq!(denials.wait(&bucket, 5, at(0)), Some(span(103_334)));
        assert_eq!(denials.wait(&bucket, 10, at(99)), Some(ms(21)));
        assert_eq!(denials.wait(&bucket, 11, at(99)), None);
    }

    #[test]
    fn the_one_that_is_over_first_makes_room_and_news_put_an_end_to_it() {
        let log = Quota::sliding_log(10, Span::SECOND).unwrap();
        let mut denials = Denials::default();
        for cost in [1, 2, 3, 2, 4] {
            let wait = ms(100 * u64::from(cost));
            denials.remember(cost, wait, Span::SECOND, (at(0), at(0)));
        }
        let waits = |denials: &Denials| [1, 2, 3, 4].map(|cost| denials.wait(&log, cost, at(0)));
        assert_eq!(
            waits(&denials),
            [None, Some(ms(200)), Some(ms(300)), Some(ms(400))]
        );
        denials.retain_above(3);
        assert_eq!(waits(&denials), [None, None, None, Some(ms(400))]);
        denials.clear();
        assert_eq!(waits(&denials), [None; 4]);
    }
}
