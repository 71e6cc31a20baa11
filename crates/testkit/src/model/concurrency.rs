//! `concurrency`: units in somebody's hands, until they are given back or the lease is over.
//!
//! Definition: whoever comes at t and fits holds u units until t + lease; a renewal at t starts the
//! lease anew. What is held by all whose lease is not over must not pass L. A clock behind the
//! newest write moves all ends back by the difference. A holder is called by the microseconds of
//! the instant it came at, modulo 2^32; where somebody is called so already, by the number after
//! the furthest of those less than 2^31 ahead.

use super::{Act, Answer, Mark, Receipt, Verdict};

/// The advice that a denial gives: nobody knows when a holder is done.
const ADVICE_US: u64 = 1_000_000;
const NAMES: u64 = 1 << 32;

/// The algorithm under one quota.
#[derive(Clone, Copy, Debug)]
pub(super) struct Concurrency {
    pub(super) limit: u64,
    pub(super) lease_us: u64,
}

/// Who holds how much until when; a clock step can move an end below 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holder {
    name: u64,
    units: u64,
    ends: i128,
}

/// All holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    holders: Vec<Holder>,
    /// The newest time this was written at.
    seen_us: u64,
}

impl State {
    /// Those whose lease is not over at `now`, by a clock that has perhaps gone back.
    fn at(slot: Option<&Self>, now: u64) -> Vec<Holder> {
        let Some(state) = slot else {
            return Vec::new();
        };
        let back = i128::from(state.seen_us.saturating_sub(now));
        let moved = state.holders.iter().map(|one| Holder {
            ends: one.ends - back,
            ..*one
        });
        moved.filter(|one| one.ends > i128::from(now)).collect()
    }
}

impl Concurrency {
    pub(super) fn act(self, slot: &mut Option<State>, act: &Act, now: u64) -> Answer {
        let mut holders = State::at(slot.as_ref(), now);
        let went_back = slot.as_ref().is_some_and(|state| now < state.seen_us);
        let mut receipt = None;
        let mut written = false;
        let verdict = match *act {
            Act::Take { cost } if cost > 0 => Verdict::Impossible,
            Act::Take { cost } | Act::Hold { cost } => {
                let verdict = self.judge(&holders, cost);
                if verdict == Verdict::Allowed {
                    receipt = Some(self.let_in(&mut holders, cost, now));
                }
                let denied = matches!(verdict, Verdict::Denied { .. });
                written = cost > 0 && (verdict == Verdict::Allowed || denied && went_back);
                verdict
            }
            Act::Peek { cost } => self.judge(&holders, cost),
            Act::Settle {
                receipt, actual, ..
            } => {
                let before = holders.clone();
                let actual = lower(&mut holders, &receipt, actual);
                written = holders != before;
                Verdict::Settled { actual }
            }
            Act::Renew { receipt } => match named(&mut holders, &receipt) {
                Some(holder) => {
                    holder.ends = i128::from(now + self.lease_us);
                    written = true;
                    Verdict::Settled {
                        actual: holder.units,
                    }
                }
                None => Verdict::Unknown,
            },
            Act::Give { .. } => Verdict::Done,
            Act::Notice => {
                written = went_back;
                Verdict::Done
            }
            Act::Reset => {
                holders.clear();
                written = true;
                Verdict::Done
            }
        };
        let answer = self.answer(&holders, verdict, receipt, now);
        if written {
            *slot = (!holders.is_empty()).then_some(State {
                holders,
                seen_us: now,
            });
        }
        answer
    }

    fn judge(self, holders: &[Holder], cost: u64) -> Verdict {
        match held(holders) + cost {
            _ if cost > self.limit => Verdict::Impossible,
            units if units <= self.limit => Verdict::Allowed,
            _ => Verdict::Denied {
                retry_us: ADVICE_US,
            },
        }
    }

    fn let_in(self, holders: &mut Vec<Holder>, cost: u64, now: u64) -> Receipt {
        let mark = (cost > 0).then(|| {
            let name = free_name(holders, now);
            holders.push(Holder {
                name,
                units: cost,
                ends: i128::from(now + self.lease_us),
            });
            Mark::Holder(name)
        });
        Receipt {
            cost,
            at_us: now,
            mark,
        }
    }

    fn answer(
        self,
        holders: &[Holder],
        verdict: Verdict,
        receipt: Option<Receipt>,
        now: u64,
    ) -> Answer {
        let first = holders.iter().map(|one| one.ends).min();
        let left = first.map_or(0, |ends| ends - i128::from(now));
        let left_us = u64::try_from(left).expect("only those whose lease is not over");
        Answer {
            verdict,
            limit: self.limit,
            remaining: self.limit.saturating_sub(held(holders)),
            reset_us: left_us,
            next_us: left_us,
            receipt,
        }
    }
}

fn held(holders: &[Holder]) -> u64 {
    holders.iter().map(|one| one.units).sum()
}

fn free_name(holders: &[Holder], now: u64) -> u64 {
    let mut name = now % NAMES;
    while holders.iter().any(|one| one.name == name) {
        let ahead = holders.iter().map(|one| (one.name + NAMES - name) % NAMES);
        let furthest = ahead.filter(|&far| far < NAMES / 2).max();
        name = (name + furthest.expect("whoever has the name") + 1) % NAMES;
    }
    name
}

fn named<'a>(holders: &'a mut [Holder], receipt: &Receipt) -> Option<&'a mut Holder> {
    let Some(Mark::Holder(name)) = receipt.mark else {
        return None;
    };
    holders.iter_mut().find(|one| one.name == name)
}

/// Leaves a holder at most `actual`, and says how much that is.
fn lower(holders: &mut Vec<Holder>, receipt: &Receipt, actual: u64) -> u64 {
    let Some(holder) = named(holders, receipt) else {
        return 0;
    };
    holder.units = holder.units.min(actual);
    let units = holder.units;
    holders.retain(|one| one.units > 0);
    units
}

/// When the last lease is over.
pub(super) fn fresh_at_us(slot: Option<&State>, now: u64) -> Option<u64> {
    let last = State::at(slot, now).iter().map(|one| one.ends).max();
    let last = last.map(|ends| u64::try_from(ends).expect("not before now"));
    slot.map(|_| last.unwrap_or(now))
}
