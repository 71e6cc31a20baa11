//! A ticket: the record of one reservation, so that any node can settle it, and only once.
//!
//! Not a limit. A plan asks it beside the rules it was made with: opened by the plan that holds
//! their units, settled by the one that settles them. A ticket that is over, or was never given, is
//! unknown; one that was settled says so and at what: neither passes, so that the rest of the plan
//! stays undone.
//!
//! An end stays where it is when the clock steps back: the ticket can then be settled for that much
//! longer. When it is over, what was held stays charged.

use crate::quota::Ticket;
use crate::{Act, Cell, Decision, Edit, Fit, Micros, Outcome, Receipt, Span, TailEdit, View};

/// What stands in the first word.
const OPEN: u32 = 0;
const SETTLED: u32 = 1;

/// A ticket that is not over.
#[derive(Clone, Copy)]
struct Live {
    end: Micros,
    /// At what it was settled.
    settled: Option<u32>,
}

impl Live {
    fn load(view: View<'_>, now: Micros) -> Option<Self> {
        let Cell {
            at: end,
            words: [state, actual, _],
        } = view.cell?;
        (now < end).then_some(Self {
            end,
            settled: (state != OPEN).then_some(actual),
        })
    }

    fn edit(&self) -> Edit {
        let words = match self.settled {
            None => [OPEN, 0, 0],
            Some(actual) => [SETTLED, actual, 0],
        };
        Edit::Put {
            cell: Cell {
                at: self.end,
                words,
            },
            until: self.end,
            tail: TailEdit::None,
        }
    }
}

pub(super) fn decide(quota: Ticket, view: View<'_>, act: &Act, now: Micros) -> Outcome {
    let live = Live::load(view, now);
    match (*act, live) {
        (Act::Hold { cost }, None) if cost.get() > 0 => {
            let end = now.saturating_add(quota.ttl);
            let open = Live { end, settled: None };
            wrote(Fit::Allowed, open, cost.get(), now)
        }
        (Act::Take { cost }, _) if cost.get() > 0 => kept(Fit::Impossible, live, now),
        (Act::Hold { .. } | Act::Take { .. }, None) => kept(Fit::Allowed, live, now),
        (Act::Hold { .. } | Act::Take { .. }, Some(Live { end, .. })) => {
            let retry_after = end.since(now);
            kept(Fit::Denied { retry_after }, live, now)
        }
        (Act::Give { .. }, _) => kept(Fit::Settled { actual: 0 }, live, now),
        (Act::Reset, _) => Outcome {
            decision: answer(Fit::Settled { actual: 0 }, None, 0, now),
            edit: Edit::Erase,
        },
        (_, None) => kept(Fit::Unknown, live, now),
        (
            _,
            Some(Live {
                settled: Some(actual),
                ..
            }),
        ) => kept(Fit::Repeated { actual }, live, now),
        (Act::Peek { .. }, Some(_)) => kept(Fit::Allowed, live, now),
        (Act::Settle { actual, .. }, Some(open)) => {
            let actual = actual.get();
            let settled = Live {
                settled: Some(actual),
                ..open
            };
            wrote(Fit::Settled { actual }, settled, 0, now)
        }
        (Act::Renew { .. }, Some(open)) => {
            let end = now.saturating_add(quota.ttl);
            wrote(Fit::Settled { actual: 0 }, Live { end, ..open }, 0, now)
        }
    }
}

fn wrote(fit: Fit, live: Live, charged: u32, now: Micros) -> Outcome {
    Outcome {
        decision: answer(fit, Some(live), charged, now),
        edit: live.edit(),
    }
}

fn kept(fit: Fit, live: Option<Live>, now: Micros) -> Outcome {
    Outcome {
        decision: answer(fit, live, 0, now),
        edit: Edit::Keep,
    }
}

fn answer(fit: Fit, live: Option<Live>, charged: u32, now: Micros) -> Decision {
    let left = live.map_or(Span::ZERO, |live| live.end.since(now));
    Decision {
        fit,
        limit: 1,
        remaining: u32::from(live.is_none()),
        reset_after: left,
        next_after: left,
        at: now,
        receipt: Receipt {
            cost: charged,
            part: 0,
            at: now,
            mark: live.map_or(now, |live| live.end),
        },
        approximate: false,
    }
}
