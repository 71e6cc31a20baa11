//! A block an operator set: everything is denied until its end. Not a limit of its own; a plan asks
//! it beside the rule it belongs to.

use crate::{Act, Cell, Cost, Decision, Edit, Fit, Micros, Outcome, Receipt, Span, TailEdit, View};

pub(super) fn decide(view: View<'_>, act: &Act, now: Micros) -> Outcome {
    let left = left(view, now);
    match *act {
        Act::Block { until } => {
            let span = until.since(now);
            let edit = if span.is_zero() {
                Edit::Erase
            } else {
                put(now, span)
            };
            Outcome {
                decision: answer(Fit::Settled { actual: 0 }, span, now),
                edit,
            }
        }
        Act::Reset => Outcome {
            decision: answer(Fit::Settled { actual: 0 }, Span::ZERO, now),
            edit: Edit::Erase,
        },
        Act::Settle { .. } | Act::Give { .. } => Outcome {
            decision: answer(Fit::Settled { actual: 0 }, left, now),
            edit: Edit::Keep,
        },
        Act::Take { cost } | Act::Hold { cost } | Act::Peek { cost } => {
            let writes = !matches!(act, Act::Peek { .. }) && cost != Cost::ZERO;
            let fit = if left.is_zero() {
                Fit::Allowed
            } else {
                Fit::Denied { retry_after: left }
            };
            let went_back = view.cell.is_some_and(|cell| now < cell.at);
            let edit = if writes && went_back {
                put(now, left)
            } else {
                Edit::Keep
            };
            Outcome {
                decision: answer(fit, left, now),
                edit,
            }
        }
    }
}

/// What is left of the block. If the clock went back behind its start, it starts now.
fn left(view: View<'_>, now: Micros) -> Span {
    view.cell.map_or(
        Span::ZERO,
        |Cell {
             at,
             words: [low, high, _],
         }| { Span(Cell::wide(low, high).saturating_sub(now.since(at).as_micros())) },
    )
}

fn put(now: Micros, span: Span) -> Edit {
    let (low, high) = Cell::split(span.as_micros());
    Edit::Put {
        cell: Cell {
            at: now,
            words: [low, high, 0],
        },
        until: now.saturating_add(span),
        tail: TailEdit::None,
    }
}

fn answer(fit: Fit, left: Span, now: Micros) -> Decision {
    Decision {
        fit,
        limit: u32::MAX,
        remaining: if left.is_zero() { u32::MAX } else { 0 },
        reset_after: left,
        next_after: left,
        at: now,
        receipt: Receipt {
            cost: 0,
            part: 0,
            at: now,
            mark: now,
        },
        approximate: false,
    }
}
