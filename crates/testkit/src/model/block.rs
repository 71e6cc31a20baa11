//! A block: nothing passes before its end, not even a look at cost 0.

use super::{Act, Answer, Verdict};

pub(super) fn act(slot: &mut Option<u64>, act: &Act, now: u64) -> Answer {
    let left = |slot: &Option<u64>| slot.map_or(0, |until| until.saturating_sub(now));
    let verdict = match *act {
        Act::Take { .. } | Act::Peek { .. } | Act::Hold { .. } => match left(slot) {
            0 => Verdict::Allowed,
            retry_us => Verdict::Denied { retry_us },
        },
        Act::Block { until_us } => {
            *slot = (until_us > now).then_some(until_us);
            Verdict::Done
        }
        Act::Reset => {
            *slot = None;
            Verdict::Done
        }
        Act::Give { .. } => Verdict::Done,
        Act::Settle { receipt, .. } => Verdict::Settled {
            actual: receipt.cost,
        },
    };
    let wait = left(slot);
    Answer {
        verdict,
        limit: 0,
        remaining: 0,
        reset_us: wait,
        next_us: wait,
        receipt: None,
    }
}
