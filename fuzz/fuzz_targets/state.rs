//! Bytes that are read as a state are written as the same bytes, and can be decided on.
#![no_main]
use jeton_core::codec::{decode, encode};
use jeton_core::{Act, Cost, Micros, Quota, Span, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(state) = decode(bytes) else { return };
    let mut again = Vec::new();
    encode(state.kind, state.until, &state.cell, &state.tail, &mut again);
    assert_eq!(again, bytes);
    let Ok(quota) = Quota::sliding_log(10, Span::SECOND) else { return };
    let view = View { cell: Some(state.cell), tail: &state.tail };
    let take = Act::Take { cost: Cost::ONE };
    let _ = quota.decide(view, &take, Micros::new(1_800_000_000_000_000));
});
