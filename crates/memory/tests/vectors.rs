//! The golden vectors through the table.
#![allow(clippy::unwrap_used)]

use jeton_core::{Answers, Op, Plan, RuleId};
use jeton_memory::{Settings, Table};
use jeton_testkit::vectors::{read, replay};

#[test]
fn golden_vectors_give_the_same_answers() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/decisions.jsonl");
    let vectors = read(&std::fs::read_to_string(file).unwrap());
    let table = Table::new(&Settings::default()).unwrap();
    replay(&vectors, |trace, quota, act, now| {
        let op = Op::new(RuleId::new(1), trace.as_bytes(), quota, *act);
        let mut out = Answers::new();
        table.decide(Plan::one(&op), now, &mut (), &mut out);
        out.plan(0).1[0]
    });
}
