//! Units of one cell that were taken ahead, and what becomes of those that nobody has spent.

use jeton_core::{Act, Cost, Decision, Micros, Op, Quota, Receipt, RuleId, Span};

/// Units of a fixed window are not spent in the last moments of it: by then the store may be in the
/// next one.
const EDGE: Span = match Span::from_micros(50_000) {
    Ok(edge) => edge,
    Err(_) => Span::ZERO,
};

/// Whose units they are.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) rule: RuleId,
    pub(super) key: Box<[u8]>,
    pub(super) quota: Quota,
}

impl Owner {
    pub(super) fn of(op: &Op<'_>) -> Self {
        Self {
            rule: op.rule,
            key: op.key.into(),
            quota: *op.quota,
        }
    }

    pub(super) fn op(&self, act: Act) -> Op<'_> {
        Op::new(self.rule, &self.key, &self.quota, act)
    }
}

/// Units of one charge, which stand charged in the store and may be spent here.
#[derive(Debug)]
pub(super) struct Pool {
    owner: Owner,
    left: u32,
    /// The whole charge.
    receipt: Receipt,
    /// When it was asked for.
    sent: Micros,
    /// They are spent before that only.
    until: Micros,
}

/// Units that nobody has spent, on their way back.
#[derive(Debug)]
pub(crate) struct Unspent {
    owner: Owner,
    act: Act,
}

impl Unspent {
    /// Gives them back, as far as they still count.
    pub(crate) fn op(&self) -> Op<'_> {
        self.owner.op(self.act)
    }
}

impl Pool {
    /// The units of `charge`, which was asked for at `sent`, to be spent within `keep_for`.
    pub(super) fn new(owner: Owner, charge: &Decision, sent: Micros, keep_for: Span) -> Self {
        let receipt = charge.receipt;
        let kept = sent.saturating_add(keep_for);
        let until = match owner.quota {
            // A window's receipt names its end.
            Quota::FixedWindow(_) => sent
                .saturating_add(receipt.mark.since(charge.at))
                .saturating_sub(EDGE)
                .min(kept),
            _ => kept,
        };
        let left = receipt.cost;
        Self {
            owner,
            left,
            receipt,
            sent,
            until,
        }
    }

    /// Units that can be spent now.
    pub(super) fn left(&self, now: Micros) -> u32 {
        if now < self.until { self.left } else { 0 }
    }

    /// Whether they are in the first half of their time.
    pub(super) fn is_young(&self, now: Micros) -> bool {
        now.since(self.sent) < self.until.since(now)
    }

    /// Spends `cost` units, of which it is known that there are as many; the charge that they are.
    pub(super) fn spend(&mut self, cost: u32) -> Receipt {
        self.left = self.left.saturating_sub(cost);
        let receipt = Receipt {
            cost,
            ..self.receipt
        };
        earlier(&self.owner.quota, receipt, self.left)
    }

    /// What is left, to be given back: the charge's last units.
    pub(super) fn unspent(self) -> Option<Unspent> {
        let receipt = Receipt {
            cost: self.left,
            ..self.receipt
        };
        let (owner, act) = (self.owner, settle(receipt));
        (self.left > 0).then_some(Unspent { owner, act })
    }

    /// The same when another quota has come into force. Which units of a bucket have come back
    /// by now depends on the rate that the store went by, and when; so that none is handed out twice,
    /// as many as either rate can have brought back stay charged.
    pub(super) fn unspent_under(self, quota: &Quota, now: Micros) -> Option<Unspent> {
        let mut owner = self.owner;
        let elapsed = now.since(self.sent);
        let back = most_back(&owner.quota, elapsed).max(most_back(quota, elapsed));
        let left = self.left.saturating_sub(back);
        owner.quota = *quota;
        let act = match quota.rate() {
            Some(_) => Act::Give {
                units: Cost::new(u64::from(left)),
            },
            None => settle(Receipt {
                cost: left,
                ..self.receipt
            }),
        };
        (left > 0).then_some(Unspent { owner, act })
    }
}

fn settle(receipt: Receipt) -> Act {
    Act::Settle {
        receipt,
        actual: Cost::ZERO,
        max_debt: Cost::ZERO,
    }
}

/// The most units that a bucket brings back in `elapsed`.
fn most_back(quota: &Quota, elapsed: Span) -> u32 {
    let Some(rate) = quota.rate() else { return 0 };
    let parts = u128::from(elapsed.as_micros()) * u128::from(rate.units());
    let units = parts / u128::from(rate.per().as_micros()) + 1;
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// The receipt of units that have `behind` others of the same charge behind them. A bucket brings them
/// back in their order, so that theirs names an earlier instant; elsewhere all of a charge stand at
/// one place.
fn earlier(quota: &Quota, receipt: Receipt, behind: u32) -> Receipt {
    let Some(rate) = quota.rate() else {
        return receipt;
    };
    let n = u128::from(rate.units());
    let parts = u128::from(receipt.mark.get()) * n + u128::from(receipt.part);
    let parts = parts.saturating_sub(u128::from(behind) * u128::from(rate.per().as_micros()));
    Receipt {
        mark: Micros::stored(u64::try_from(parts / n).unwrap_or(u64::MAX)),
        part: u32::try_from(parts % n).unwrap_or(0),
        ..receipt
    }
}

#[cfg(test)]
mod tests {
    use jeton_core::{Anchor, Rate, View};

    use super::*;

    fn take(quota: &Quota, view: View<'_>, cost: u64, us: u64) -> jeton_core::Outcome {
        let cost = Cost::new(cost);
        quota.decide(view, &Act::Take { cost }, Micros::new(us))
    }

    fn owner(quota: Quota) -> Owner {
        Owner {
            rule: RuleId::new(1),
            key: Box::default(),
            quota,
        }
    }

    #[test]
    fn units_of_a_bucket_name_the_instants_at_which_they_come_back() {
        let rate = Rate::new(7, Span::from_micros(600_000).unwrap()).unwrap();
        let quota = Quota::bucket(rate, 20).unwrap();
        let mut alone = None;
        let receipts = [5, 3, 4].map(|cost| {
            let view = View {
                cell: alone,
                tail: &[],
            };
            let outcome = take(&quota, view, cost, 9_000_001);
            if let jeton_core::Edit::Put { cell, .. } = outcome.edit {
                alone = Some(cell);
            }
            outcome.decision.receipt
        });
        let whole = take(&quota, View::ABSENT, 12, 9_000_001).decision;
        let mut pool = Pool::new(owner(quota), &whole, Micros::new(9_000_000), Span::SECOND);
        assert_eq!([5, 3, 4].map(|cost| pool.spend(cost)), receipts);
        assert!(pool.unspent().is_none());
    }

    #[test]
    fn units_of_a_window_are_over_before_it_is_and_others_when_they_are_old() {
        let window = Span::SECOND;
        let spent = |quota: Quota, keep_for| {
            let charge = take(&quota, View::ABSENT, 4, 7_400_000).decision;
            // This process's clock is some way behind that of the store.
            let pool = Pool::new(owner(quota), &charge, Micros::new(300_000), keep_for);
            let over = (300_000..2_000_000).find(|us| pool.left(Micros::new(*us)) == 0);
            over.map(|us| us - 300_000)
        };
        let epoch = Quota::fixed_window(20, window, Anchor::Epoch).unwrap();
        let first = Quota::fixed_window(20, window, Anchor::FirstRequest).unwrap();
        let log = Quota::sliding_log(20, window).unwrap();
        let half = Span::from_micros(500_000).unwrap();
        assert_eq!(spent(epoch, window), Some(550_000));
        assert_eq!(spent(epoch, half), Some(500_000));
        assert_eq!(spent(first, window), Some(950_000));
        assert_eq!(spent(log, half), Some(500_000));
    }
}
