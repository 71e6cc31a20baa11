//! The commonest decision there is, in a tenth of the steps: a charge to a bucket by a clock that has not
//! gone back. All that it needs is worked out once, and what need not be divided is not.
//!
//! It says what [`Quota::decide`](crate::Quota::decide) says, or nothing; a test holds it to that.

use crate::quota::Bucket;
use crate::{Cell, Cost, Decision, Fit, Micros, Receipt, Span};

/// What a charge makes of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The new state.
    pub cell: Cell,
    /// From this instant on it would answer as if absent, and may vanish.
    pub until: Micros,
}

/// A bucket that owes: its anchor, with the n-ths of a microsecond past it.
#[derive(Clone, Copy)]
struct Owing {
    at: u64,
    part: u32,
    owed: u32,
}

/// A denial. Larger than the decision in it, so that no compiler takes the place of the caller's for it:
/// a decision whose address is taken has to be worked out whole.
struct Refused(Decision, #[allow(dead_code)] u64);

impl Bucket {
    /// Takes `cost` from the bucket in `cell`, or from a full one, if that is quickly done; else `None`,
    /// and [`Quota::decide`](crate::Quota::decide) has to be asked. If it is allowed, `write` is given
    /// what is to be written.
    ///
    /// ```
    /// use jeton_core::{Cost, Micros, Quota, Rate, Span};
    /// let Quota::Bucket(bucket) = Quota::bucket(Rate::new(1, Span::SECOND)?, 5)? else {
    ///     unreachable!()
    /// };
    /// let mut cell = None;
    /// bucket.take_quickly(None, Cost::ONE, Micros::new(7), |charged| cell = Some(charged.cell));
    /// let ask = |us| bucket.take_quickly(cell, Cost::ONE, Micros::new(us), |_| ());
    /// assert_eq!(ask(9).map(|decision| decision.remaining), Some(3));
    /// // The clock went back.
    /// assert_eq!(ask(6), None);
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    #[allow(clippy::inline_always)] // what its caller does not look at is not worked out
    #[inline(always)]
    pub fn take_quickly(
        &self,
        cell: Option<Cell>,
        cost: Cost,
        now: Micros,
        write: impl FnOnce(Charged),
    ) -> Option<Decision> {
        let cost = cost.get();
        let before = match cell {
            Some(cell) => self.owing(cell, now)?,
            None => Owing {
                at: now.get(),
                part: 0,
                owed: 0,
            },
        };
        if cost == 0 || cost > self.burst {
            return None;
        }
        let room = self.burst.wrapping_sub(before.owed); // no less than nothing: see `owing`
        if cost > room {
            let Owing { at, part, owed } = before;
            let refused = self.refused(at, part, owed, cost - room, now);
            return refused.map(|Refused(decision, _)| decision);
        }
        let after = Owing {
            owed: before.owed.wrapping_add(cost),
            ..before
        };
        let (full_us, full_part) = self.back_at(after, after.owed);
        if full_us >= Micros::HORIZON.get() {
            return None;
        }
        let until = Micros::stored(ceiling((full_us, full_part)));
        write(Charged {
            cell: Cell {
                at: Micros::stored(after.at),
                words: [after.part, after.owed, 0],
            },
            until,
        });
        Some(Decision {
            fit: Fit::Allowed,
            limit: self.burst,
            remaining: room.wrapping_sub(cost),
            reset_after: until.since(now),
            next_after: self.next_after(after, now),
            at: now,
            receipt: Receipt {
                cost,
                part: full_part,
                at: now,
                mark: Micros::stored(full_us),
            },
            approximate: false,
        })
    }

    /// What is owed at `now`, something at least and no more than a burst.
    #[inline]
    fn owing(&self, cell: Cell, now: Micros) -> Option<Owing> {
        let [part, owed, _] = cell.words;
        let before = Owing {
            at: cell.at.get(),
            part,
            owed,
        };
        let elapsed = now.get().checked_sub(before.at)?;
        // A state of another quota may owe more than this burst, or count in other parts.
        if owed == 0 || owed > self.burst || part >= self.rate.units() {
            return None;
        }
        let back = self.rate.units_in(elapsed, part);
        if back == 0 {
            return Some(before);
        }
        let back = u32::try_from(back).ok().filter(|back| *back < owed)?;
        let (at, part) = self.back_at(before, back);
        let owed = owed.wrapping_sub(back);
        Some(Owing { at, part, owed })
    }

    /// The answer when `missing` units have to come back first.
    #[inline(never)]
    fn refused(&self, at: u64, part: u32, owed: u32, missing: u32, now: Micros) -> Option<Refused> {
        let before = Owing { at, part, owed };
        let (full_us, full_part) = self.back_at(before, owed);
        if full_us >= Micros::HORIZON.get() {
            return None;
        }
        let wait = |units| Span(ceiling(self.back_at(before, units)).saturating_sub(now.get()));
        let decision = Decision {
            fit: Fit::Denied {
                retry_after: wait(missing),
            },
            limit: self.burst,
            remaining: self.burst - owed,
            reset_after: Span(ceiling((full_us, full_part)).saturating_sub(now.get())),
            next_after: self.next_after(before, now),
            at: now,
            receipt: Receipt {
                cost: 0,
                part: full_part,
                at: now,
                mark: Micros::stored(full_us),
            },
            approximate: false,
        };
        Some(Refused(decision, full_us))
    }

    /// The instant at which `units` units have come back, as whole microseconds and n-ths.
    #[inline]
    fn back_at(&self, owing: Owing, units: u32) -> (u64, u32) {
        let (us, part) = self.rate.span_of(units, owing.part);
        (owing.at.saturating_add(us), part)
    }

    /// Until the next unit comes back.
    #[inline]
    fn next_after(&self, owing: Owing, now: Micros) -> Span {
        let next_us = ceiling(self.back_at(owing, 1));
        Span(next_us.saturating_sub(now.get()))
    }
}

/// Whole microseconds, the last begun one included.
#[inline]
const fn ceiling((us, part): (u64, u32)) -> u64 {
    us.saturating_add((part > 0) as u64)
}

#[cfg(test)]
mod tests {
    use crate::{Act, Cell, Cost, Edit, Micros, Outcome, Quota, Rate, Span, TailEdit, View};

    /// A generator that gives the same numbers everywhere (xorshift).
    struct Random(u64);

    impl Random {
        fn below(&mut self, most: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % most
        }

        fn word(&mut self, most: u64) -> u32 {
            u32::try_from(self.below(most)).unwrap()
        }
    }

    /// A quota of any kind of rate: whole microseconds or parts of them, short or years.
    fn any_quota(random: &mut Random) -> Option<Quota> {
        let per = [1, 7, 1_000, 60_000_000, 3 << 40][random.word(5) as usize];
        let most = [1, 1 << 10, 1 << 22][random.word(3) as usize];
        let units = 1 + random.below(most);
        let span = Span::from_micros(1 + random.below(per)).unwrap();
        Quota::bucket(Rate::new(units, span).ok()?, 1 + random.below(2_000)).ok()
    }

    #[test]
    fn it_says_what_the_whole_decision_says() {
        let mut random = Random(7);
        let (mut allowed, mut denied, mut came_back, mut left) = (0, 0, 0, 0);
        for _ in 0..800_000 {
            let Some(quota) = any_quota(&mut random) else {
                continue;
            };
            let (Quota::Bucket(bucket), Some(rate)) = (quota, quota.rate()) else {
                unreachable!()
            };
            let at = match random.below(4) {
                0 => Micros::HORIZON.get() - random.below(1 << 43),
                _ => random.below(1 << 50),
            };
            let owed = match random.below(2) {
                0 => random.word(2_100),
                _ => quota.limit().saturating_sub(random.word(20)),
            };
            let parts = if random.below(2) == 0 {
                rate.units()
            } else {
                1_100
            };
            let cell = Cell {
                at: Micros::stored(at),
                words: [random.word(u64::from(parts)), owed, 0],
            };
            let unit = rate.per().as_micros() / u64::from(rate.units());
            let units = [1, 3, u64::from(owed) + 1][random.word(3) as usize];
            let ahead = random.below((units * unit).min(1 << 52) + 3);
            let now = Micros::stored((at + ahead).saturating_sub(1));
            let cost = Cost::new(random.below(20).saturating_sub(1));
            let cell = (random.below(8) > 0).then_some(cell);
            let mut charged = None;
            let decision = bucket.take_quickly(cell, cost, now, |new| charged = Some(new));
            let Some(decision) = decision else {
                left += 1;
                continue;
            };
            allowed += u32::from(charged.is_some());
            denied += u32::from(charged.is_none());
            let moved = charged.zip(cell);
            came_back += u32::from(moved.is_some_and(|(new, old)| new.cell.at > old.at));
            let edit = charged.map_or(Edit::Keep, |charged| Edit::Put {
                cell: charged.cell,
                until: charged.until,
                tail: TailEdit::None,
            });
            let act = Act::Take { cost };
            let view = View { cell, tail: &[] };
            assert_eq!(
                quota.decide(view, &act, now),
                Outcome { decision, edit },
                "{quota:?} {cell:?} {now:?} {cost:?}"
            );
        }
        let counts = [allowed, denied, came_back, left];
        assert!(counts.iter().all(|count| *count > 5_000), "{counts:?}");
    }
}
