//! Deciding allocates nothing, once the keys are there and the answers have grown.

use allocation_counter::measure;
use jeton_core::{Answers, Cost, Micros, Op, Plan, RuleId, Store, Submitted, When};
use jeton_memory::Overflow;

use crate::{SECOND, bucket, counter, first, fixed, log, table};

#[test]
fn a_decision_allocates_nothing() {
    let table = table(10_000, 16 << 20, Overflow::Share);
    let minute = 60 * SECOND;
    let quotas = [
        bucket(1, minute, 1_000_000),
        fixed(1_000_000, minute),
        first(1_000_000, minute),
        counter(1_000_000, minute),
        // Full soon, so that what follows is denials.
        log(4, minute),
    ];
    let keys: Vec<[u8; 4]> = (0..64_u32).map(u32::to_le_bytes).collect();
    for quota in &quotas {
        let mut answers = Answers::new();
        let ops: Vec<Op<'_>> = keys
            .iter()
            .map(|key| Op::take(RuleId::new(1), key, quota, Cost::ONE))
            .collect();
        let mut plans: Vec<Plan<'_>> = ops.iter().map(Plan::one).collect();
        plans.extend(ops.chunks(2).map(|ops| Plan::new(ops).unwrap()));
        let mut round = |us| {
            answers.clear();
            let when = When::At(Micros::new(us));
            assert!(matches!(
                table.submit(&plans, when, &mut answers),
                Submitted::Done
            ));
            for key in &keys {
                table.take(RuleId::new(1), key, quota, Cost::ONE, Micros::new(us));
            }
        };
        round(SECOND);
        round(SECOND + 1);
        let counted = measure(|| (2..500).for_each(|n| round(SECOND + n)));
        assert_eq!(counted.count_total, 0, "{quota:?}");
    }
}
