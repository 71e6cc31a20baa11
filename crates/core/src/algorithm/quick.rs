//! The commonest decision there is, in a tenth of the steps: a charge that fits into a bucket in use,
//! before the next unit has come back. Nothing need be divided then, and the anchor stays.
//!
//! It says what [`Quota::decide`](crate::Quota::decide) says, or nothing; a test holds it to that.

use crate::quota::Bucket;
use crate::{Cell, Cost, Decision, Fit, Micros, Receipt, Span};

/// A charge that was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// The answer.
    pub decision: Decision,
    /// The new state.
    pub cell: Cell,
    /// From this instant on it would answer as if absent, and may vanish.
    pub until: Micros,
}

impl Bucket {
    /// Charges `cost` to the state in `cell`, if that is what is quickly done; else `None`, and
    /// [`Quota::decide`](crate::Quota::decide) has to be asked.
    ///
    /// ```
    /// use jeton_core::{Act, Cost, Edit, Micros, Quota, Rate, Span, View};
    /// let quota = Quota::bucket(Rate::new(1, Span::SECOND)?, 5)?;
    /// let act = Act::Take { cost: Cost::ONE };
    /// let first = quota.decide(View::ABSENT, &act, Micros::new(0));
    /// let (Quota::Bucket(bucket), Edit::Put { cell, .. }) = (quota, first.edit) else {
    ///     unreachable!()
    /// };
    /// let soon = bucket.charge_quickly(cell, Cost::ONE, Micros::new(9)).map(|c| c.decision.remaining);
    /// let late = bucket.charge_quickly(cell, Cost::ONE, Micros::new(1_000_000));
    /// assert_eq!((soon, late), (Some(3), None));
    /// # Ok::<(), jeton_core::QuotaError>(())
    /// ```
    #[inline]
    pub fn charge_quickly(&self, cell: Cell, cost: Cost, now: Micros) -> Option<Charged> {
        let [part, owed, _] = cell.words;
        let (n, r, q) = self.rate.parts();
        let elapsed = now.get().wrapping_sub(cell.at.get()); // huge if the clock went back
        let cost = cost.get();
        let room = self.burst.wrapping_sub(owed);
        // A state of another quota may owe more than this burst, or count in other parts.
        let fits = cost != 0 && owed != 0 && owed <= self.burst && cost <= room;
        if !(fits && part < n && elapsed < q) {
            return None;
        }
        let owed = owed + cost;
        // Below 2^22 each, so that both together are carried once at the most.
        let next_us = q + carries(part + r, n);
        let (full_us, full_part) = self.rate.span_of(owed, part);
        let full_us = cell.at.get() + full_us; // what a burst takes is below 2^49
        if full_us >= Micros::HORIZON.get() {
            return None;
        }
        let over_us = full_us + u64::from(full_part > 0);
        let decision = Decision {
            fit: Fit::Allowed,
            limit: self.burst,
            remaining: room - cost,
            reset_after: Span(over_us - now.get()),
            next_after: Span(next_us - elapsed),
            at: now,
            receipt: Receipt {
                cost,
                part: full_part,
                at: now,
                mark: Micros::stored(full_us),
            },
            approximate: false,
        };
        Some(Charged {
            decision,
            cell: Cell {
                at: cell.at,
                words: [part, owed, 0],
            },
            until: Micros::stored(over_us),
        })
    }
}

/// Whole microseconds that `parts` n-ths of one begin; there are less than two of them.
#[inline]
const fn carries(parts: u32, n: u32) -> u64 {
    (parts > 0) as u64 + (parts > n) as u64
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

    #[test]
    fn it_says_what_the_whole_decision_says() {
        let mut random = Random(7);
        let (mut quick, mut left) = (0, 0);
        for _ in 0..400_000 {
            let per = [1, 7, 1_000, 60_000_000, 3 << 40][random.word(5) as usize];
            let units = 1 + random.below(1 << 10);
            let rate = Rate::new(units, Span::from_micros(1 + random.below(per)).unwrap()).unwrap();
            let Ok(quota) = Quota::bucket(rate, 1 + random.below(2_000)) else {
                continue;
            };
            let Quota::Bucket(bucket) = quota else {
                unreachable!()
            };
            let at = match random.below(4) {
                0 => Micros::HORIZON.get() - random.below(1 << 43),
                _ => random.below(1 << 50),
            };
            let cell = Cell {
                at: Micros::stored(at),
                words: [random.word(1_100), random.word(2_100), 0],
            };
            let unit = rate.per().as_micros() / u64::from(rate.units());
            let now = Micros::stored((at + random.below(unit + 3)).saturating_sub(1));
            let cost = Cost::new(random.below(20).saturating_sub(1));
            let Some(charged) = bucket.charge_quickly(cell, cost, now) else {
                left += 1;
                continue;
            };
            quick += 1;
            let view = View {
                cell: Some(cell),
                tail: &[],
            };
            let edit = Edit::Put {
                cell: charged.cell,
                until: charged.until,
                tail: TailEdit::None,
            };
            let decision = charged.decision;
            let act = Act::Take { cost };
            assert_eq!(quota.decide(view, &act, now), Outcome { decision, edit });
        }
        assert!(quick > 20_000 && left > 20_000, "{quick} {left}");
    }
}
