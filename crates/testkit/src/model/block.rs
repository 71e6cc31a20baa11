//! A block: nothing passes before its end, not even a look at cost 0.
//!
//! Definition: a block lasts for a span from the instant it was set. A clock that goes back behind
//! that instant makes it start anew, so that a block never lasts longer than it was meant to.

use super::{Act, Answer, NO_LIMIT, Verdict};

/// Since when, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    set_us: u64,
    span_us: u64,
}

impl State {
    fn left_us(self, now: u64) -> u64 {
        self.span_us.saturating_sub(now.saturating_sub(self.set_us))
    }

    /// The instant from which on it lets everything pass, as seen at `now`.
    pub(super) fn over_at_us(self, now: u64) -> u64 {
        now + self.left_us(now)
    }
}

pub(super) fn act(slot: &mut Option<State>, act: &Act, now: u64) -> Answer {
    let verdict = match *act {
        Act::Take { cost } | Act::Hold { cost } => {
            if cost > 0 {
                *slot = slot.map(|block| State {
                    set_us: block.set_us.min(now),
                    ..block
                });
            }
            judge(*slot, now)
        }
        Act::Peek { .. } => judge(*slot, now),
        Act::Block { until_us } => {
            let span_us = until_us.saturating_sub(now);
            *slot = Some(State {
                set_us: now,
                span_us,
            });
            Verdict::Done
        }
        Act::Reset => {
            *slot = None;
            Verdict::Done
        }
        Act::Give { .. } => Verdict::Done,
        Act::Settle { .. } => Verdict::Settled { actual: 0 },
    };
    let left_us = slot.map_or(0, |block| block.left_us(now));
    Answer {
        verdict,
        limit: NO_LIMIT,
        remaining: if left_us == 0 { NO_LIMIT } else { 0 },
        reset_us: left_us,
        next_us: left_us,
        receipt: None,
    }
}

fn judge(block: Option<State>, now: u64) -> Verdict {
    match block.map_or(0, |block| block.left_us(now)) {
        0 => Verdict::Allowed,
        retry_us => Verdict::Denied { retry_us },
    }
}
