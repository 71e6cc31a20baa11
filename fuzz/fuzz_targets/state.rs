//! Bytes that are read as a state are written as the same bytes, and any act can be decided on them:
//! without overflow, with an answer within the limit, and, for what is held, with a change after
//! which they are a state still.
#![no_main]
use jeton_core::codec::{Stored, decode, encode};
use jeton_core::{Act, Anchor, Cost, Edit, Kind, Micros, Quota, QuotaError, Rate, Receipt, Span, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(state) = decode(bytes) else { return };
    assert_eq!(bytes_of(&state), bytes);
    for limit in [1, 10, 30_000_000] {
        let Ok(quota) = quota(state.kind, limit) else { return };
        for now in [0, 1_800_000_000_000_000, state.cell.at.get(), u64::MAX] {
            for act in acts(&state) {
                decide(&state, &quota, &act, Micros::new(now));
            }
        }
    }
});

fn decide(state: &Stored, quota: &Quota, act: &Act, now: Micros) {
    let view = View { cell: Some(state.cell), tail: &state.tail };
    let _ = quota.reanchor(view, now);
    let outcome = quota.decide(view, act, now);
    assert!(outcome.decision.remaining <= quota.limit());
    let Edit::Put { cell, until, tail: edit } = outcome.edit else { return };
    let mut tail = state.tail.clone();
    edit.apply(&mut tail);
    // Raw time grows with every wobble of a clock, over longer than anybody lives.
    let is_young = state.cell.words[1] < 1 << 20 && tail.iter().all(|entry| entry.stamp < 1 << 53);
    if quota.kind().is_held() && is_young {
        let after = Stored { kind: state.kind, until, cell, tail };
        assert_eq!(decode(&bytes_of(&after)), Ok(after));
    }
}

fn bytes_of(state: &Stored) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(state.kind, state.until, &state.cell, &state.tail, &mut bytes);
    bytes
}

fn quota(kind: Kind, limit: u64) -> Result<Quota, QuotaError> {
    let window = Span::SECOND;
    match kind {
        Kind::Bucket => Rate::new(7, Span::from_micros(11)?).and_then(|rate| Quota::bucket(rate, limit)),
        Kind::FixedEpoch => Quota::fixed_window(limit, window, Anchor::Epoch),
        Kind::FixedFirst => Quota::fixed_window(limit, window, Anchor::FirstRequest),
        Kind::Counter => Quota::sliding_counter(limit, window),
        Kind::Log => Quota::sliding_log(limit, window),
        Kind::Concurrency => Quota::concurrency(limit, window),
        Kind::Ticket => Quota::ticket(window),
    }
}

fn acts(state: &Stored) -> [Act; 10] {
    let last = state.tail.last().copied().unwrap_or_default();
    let receipt = Receipt {
        cost: last.cost.max(1),
        part: last.sum,
        at: state.cell.at,
        mark: Micros::stored(last.stamp.max(state.cell.at.get())),
    };
    let settle = |actual, max_debt| Act::Settle { receipt, actual, max_debt };
    [
        Act::Take { cost: Cost::ONE },
        Act::Take { cost: Cost::ZERO },
        Act::Hold { cost: Cost::ONE },
        Act::Hold { cost: Cost::new(10) },
        Act::Peek { cost: Cost::new(10) },
        settle(Cost::ZERO, Cost::ZERO),
        settle(Cost::MAX, Cost::MAX),
        Act::Renew { receipt },
        Act::Give { units: Cost::MAX },
        Act::Reset,
    ]
}
