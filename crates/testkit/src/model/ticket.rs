//! A ticket: opened once, settled once, then remembered until it is over.
//!
//! Definition: a ticket opened or renewed at t is over at t + ttl, by whatever clock looks. Until it
//! is settled it can be renewed; from then on it only says what it was settled at. One that is over
//! is like one that never was.

use super::{Act, Answer, Receipt, Verdict};

/// An open or settled ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    over_us: u64,
    settled_at: Option<u64>,
}

pub(super) fn act(ttl_us: u64, slot: &mut Option<State>, act: &Act, now: u64) -> Answer {
    let present = slot.filter(|ticket| now < ticket.over_us);
    let mut receipt = None;
    let verdict = match (*act, present) {
        (Act::Take { cost }, _) if cost > 0 => Verdict::Impossible,
        (Act::Take { cost } | Act::Hold { cost }, None) => {
            receipt = Some(Receipt {
                cost,
                at_us: now,
                mark: None,
            });
            if cost > 0 {
                *slot = Some(State {
                    over_us: now + ttl_us,
                    settled_at: None,
                });
            }
            Verdict::Allowed
        }
        (Act::Take { .. } | Act::Hold { .. }, Some(ticket)) => Verdict::Denied {
            retry_us: ticket.over_us - now,
        },
        (Act::Give { .. } | Act::Notice, _) => Verdict::Done,
        (Act::Reset, _) => {
            *slot = None;
            Verdict::Done
        }
        (Act::Peek { .. } | Act::Settle { .. } | Act::Renew { .. }, None) => Verdict::Unknown,
        (Act::Peek { .. } | Act::Settle { .. } | Act::Renew { .. }, Some(ticket)) => {
            asked(ttl_us, slot, ticket, act, now)
        }
    };
    let left_us = slot.map_or(0, |ticket| ticket.over_us.saturating_sub(now));
    Answer {
        verdict,
        limit: 1,
        remaining: u64::from(left_us == 0),
        reset_us: left_us,
        next_us: left_us,
        receipt,
    }
}

/// What is asked of a ticket that is not over.
fn asked(ttl_us: u64, slot: &mut Option<State>, ticket: State, act: &Act, now: u64) -> Verdict {
    if let Some(actual) = ticket.settled_at {
        return Verdict::Repeated { actual };
    }
    match *act {
        Act::Settle { actual, .. } => {
            *slot = Some(State {
                settled_at: Some(actual),
                ..ticket
            });
            Verdict::Settled { actual }
        }
        Act::Renew { .. } => {
            *slot = Some(State {
                over_us: now + ttl_us,
                ..ticket
            });
            Verdict::Settled { actual: 0 }
        }
        _ => Verdict::Allowed,
    }
}

/// When it is over.
pub(super) fn fresh_at_us(slot: Option<State>, now: u64) -> Option<u64> {
    slot.map(|ticket| ticket.over_us.max(now))
}
