//! What the store said of a cell, moved on by the time that has passed since.

use jeton_core::{Decision, Micros, Quota, Rate, Receipt, Span};

/// The latest decision of the store about a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    decision: Decision,
    /// When it came, by this process's clock: what is counted from then has at least as far to go
    /// in the store.
    came: Micros,
}

impl Told {
    pub(super) const fn new(decision: Decision, came: Micros) -> Self {
        Self { decision, came }
    }

    /// Whether it came less than `span` before `now`.
    pub(super) fn is_within(&self, span: Span, now: Micros) -> bool {
        now.since(self.came) < span
    }

    /// Whether the store has said it at a later instant than `other`.
    pub(super) fn is_later_than(&self, other: &Decision) -> bool {
        self.decision.at > other.at
    }

    /// The same decision as it stands `now`, if nobody has charged meanwhile, with nothing charged by
    /// it: never too much left, never too short a wait.
    ///
    /// What a window, a log or a counter gives back at its next change is not known from here:
    /// `remaining` stays, and the change after that is taken to be as far off again.
    pub(super) fn at(&self, quota: &Quota, now: Micros) -> Decision {
        let mut decision = self.decision;
        let elapsed = now.since(self.came);
        decision.at = decision.at.saturating_add(elapsed);
        let receipt = decision.receipt;
        decision.receipt = Receipt {
            cost: 0,
            at: decision.at,
            ..receipt
        };
        if let Some(rate) = quota.rate() {
            fill(&mut decision, rate, elapsed.as_micros());
        } else {
            let period = match quota {
                Quota::FixedWindow(_) => quota.window().unwrap_or_default(),
                _ => decision.reset_after,
            };
            decision.reset_after = left_of(decision.reset_after, period, elapsed);
            decision.next_after = decision.reset_after;
        }
        decision
    }
}

/// A bucket fills by itself.
fn fill(decision: &mut Decision, rate: Rate, elapsed_us: u64) {
    let next_us = decision.next_after.as_micros();
    decision.reset_after = span(decision.reset_after.as_micros().saturating_sub(elapsed_us));
    let Some(past_us) = elapsed_us.checked_sub(next_us) else {
        decision.next_after = span(next_us - elapsed_us);
        return;
    };
    if next_us == 0 {
        return;
    }
    let back = 1 + units_in(rate, past_us);
    decision.remaining = u32::try_from(back)
        .unwrap_or(u32::MAX)
        .saturating_add(decision.remaining)
        .min(decision.limit);
    decision.next_after = if decision.reset_after.is_zero() {
        decision.remaining = decision.limit;
        Span::ZERO
    } else {
        span(time_of(rate, back).saturating_sub(past_us))
    };
}

/// Until a change that recurs every `period`.
fn left_of(after: Span, period: Span, elapsed: Span) -> Span {
    let (after, period, elapsed) = (after.as_micros(), period.as_micros(), elapsed.as_micros());
    match elapsed.checked_sub(after) {
        None => span(after - elapsed),
        Some(past) if after > 0 && period > 0 => span(period - past % period),
        Some(_) => Span::ZERO,
    }
}

/// How many whole units come back in `us`.
fn units_in(rate: Rate, us: u64) -> u64 {
    let units = u128::from(us) * u128::from(rate.units()) / u128::from(rate.per().as_micros());
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// The time in which `units` come back, in microseconds, rounded up.
pub(super) fn time_of(rate: Rate, units: u64) -> u64 {
    let us = u128::from(units) * u128::from(rate.per().as_micros());
    u64::try_from(us.div_ceil(u128::from(rate.units()))).unwrap_or(u64::MAX)
}

/// A wait, however long.
pub(super) const fn span(us: u64) -> Span {
    Micros::stored(us).since(Micros::ZERO)
}

#[cfg(test)]
mod tests {
    use jeton_core::{Act, Anchor, Cost, Edit, View};

    use super::*;

    /// What a cell says after `charges`, each at its instant.
    fn said(quota: &Quota, charges: &[(u64, u32)], at: u64) -> (Decision, Edit) {
        let (mut cell, mut tail) = (None, Vec::new());
        let mut outcome = None;
        for (us, cost) in charges {
            let view = View { cell, tail: &tail };
            let cost = Cost::new(u64::from(*cost));
            let done = quota.decide(view, &Act::Take { cost }, Micros::new(*us));
            if let Edit::Put {
                cell: put,
                tail: edit,
                ..
            } = done.edit
            {
                cell = Some(put);
                if let jeton_core::TailEdit::Splice {
                    drop_front,
                    keep,
                    append,
                } = edit
                {
                    tail.truncate(keep as usize);
                    tail.drain(..drop_front as usize);
                    tail.extend(append.into_iter().flatten());
                }
            }
            outcome = Some(done);
        }
        let view = View { cell, tail: &tail };
        let look = Act::Peek { cost: Cost::ZERO };
        let last = outcome.map(|outcome| (outcome.decision, outcome.edit));
        match charges.last() {
            Some((us, _)) if *us == at => last.unwrap(),
            _ => (
                quota.decide(view, &look, Micros::new(at)).decision,
                Edit::Keep,
            ),
        }
    }

    #[test]
    fn a_bucket_is_told_as_it_would_tell_itself() {
        let rate = Rate::new(7, Span::from_micros(600_000).unwrap()).unwrap();
        let quota = Quota::bucket(rate, 20).unwrap();
        let charges = [(1_000_000, 9), (1_050_001, 8)];
        let (told, _) = said(&quota, &charges, 1_050_001);
        let told = Told::new(told, Micros::new(1_050_001));
        for later in (0..2_000_000).step_by(1_237) {
            let (own, _) = said(&quota, &charges, 1_050_001 + later);
            let moved = told.at(&quota, Micros::new(1_050_001 + later));
            assert_eq!(moved.reset_after, own.reset_after, "after {later}");
            assert_eq!(moved.at, own.at);
            // Fractions of a µs are rounded against the client.
            assert!(moved.remaining <= own.remaining && own.remaining <= moved.remaining + 1);
            let (moved_next, own_next) = (moved.next_after.as_micros(), own.next_after.as_micros());
            if moved.remaining == own.remaining {
                assert!(
                    own_next <= moved_next && moved_next <= own_next + 2,
                    "after {later}"
                );
            }
        }
    }

    #[test]
    fn until_its_next_change_every_other_is_told_as_it_would_tell_itself() {
        let window = Span::from_micros(1_000_000).unwrap();
        for quota in [
            Quota::fixed_window(20, window, Anchor::Epoch).unwrap(),
            Quota::fixed_window(20, window, Anchor::FirstRequest).unwrap(),
            Quota::sliding_log(20, window).unwrap(),
            Quota::sliding_counter(20, window).unwrap(),
        ] {
            let charges = [(1_100_000, 3), (1_300_000, 4)];
            let (told, _) = said(&quota, &charges, 1_300_000);
            let next = told.next_after.as_micros();
            let told = Told::new(told, Micros::new(1_300_000));
            for later in (0..next).step_by(997) {
                let (own, _) = said(&quota, &charges, 1_300_000 + later);
                let moved = told.at(&quota, Micros::new(1_300_000 + later));
                let numbers = |d: &Decision| (d.remaining, d.reset_after, d.next_after, d.at);
                assert_eq!(numbers(&moved), numbers(&own), "{quota:?} after {later}");
            }
            let after = told.at(&quota, Micros::new(1_300_000 + next));
            assert!(!after.reset_after.is_zero() && after.reset_after <= window);
        }
    }
}
