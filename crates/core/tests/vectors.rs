//! The golden vectors, answers and state bytes alike. `JETON_BLESS=1` writes the file anew, which
//! is a change of what stored counters mean: not without a new state version.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs;

use jeton_testkit::vectors::{Bytes, make, read, replay};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/decisions.jsonl");

#[test]
fn golden_vectors_give_the_same_answers_and_bytes() {
    if std::env::var_os("JETON_BLESS").is_some() {
        let line = |vector| serde_json::to_string(&vector).unwrap() + "\n";
        fs::write(FILE, make().into_iter().map(line).collect::<String>()).unwrap();
    }
    let vectors = read(&fs::read_to_string(FILE).unwrap());
    assert!(vectors.len() >= 640, "the file is cut");
    let mut store = Bytes::default();
    let mut states = Vec::new();
    replay(&vectors, |trace, quota, act, now| {
        let decision = store.decide(trace, quota, act, now);
        states.push(store.hex(trace));
        decision
    });
    for (i, (vector, state)) in vectors.iter().zip(states).enumerate() {
        assert_eq!(vector.state, state, "line {}", i + 1);
    }
}
