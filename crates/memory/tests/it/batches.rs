//! Many plans at once are decided as they would be one by one.

use jeton_core::{Act, Answers, Cost, Micros, OnDeny, Op, Plan, RuleId, Store, Submitted, When};
use jeton_memory::Overflow;

use crate::{Random, SECOND, bucket, counter, fixed, log, table};

#[test]
fn a_batch_is_its_plans_one_after_the_other() {
    let minute = 60 * SECOND;
    let quotas = [
        bucket(60, minute, 10),
        fixed(10, minute),
        counter(10, minute),
        log(10, minute),
    ];
    for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        // Too small for all keys, so that some of the plans find no room.
        let (together, single) = (table(1_000, 1 << 20, policy), table(1_000, 1 << 20, policy));
        let mut random = Random(4);
        for step in 0..400_u64 {
            let keys: Vec<[u8; 8]> = (0..200)
                .map(|_| random.below(2_000).to_le_bytes())
                .collect();
            let ops: Vec<Op<'_>> = keys
                .iter()
                .map(|key| draw(&mut random, key, &quotas))
                .collect();
            let plans: Vec<Plan<'_>> = ops
                .chunks(3)
                .filter_map(|ops| Plan::new(ops).ok())
                .collect();
            let plans: Vec<Plan<'_>> = plans
                .iter()
                .flat_map(|plan| [*plan, Plan::one(&plan.ops()[0])])
                .collect();
            let when = When::NotBefore(Micros::new(step * SECOND / 4));
            let (mut all, mut each) = (Answers::new(), Answers::new());
            assert!(matches!(
                together.submit(&plans, when, &mut all),
                Submitted::Done
            ));
            for plan in &plans {
                assert!(matches!(
                    single.submit(&[*plan], when, &mut each),
                    Submitted::Done
                ));
            }
            assert_eq!(all.len(), plans.len());
            for index in 0..plans.len() {
                assert_eq!(all.plan(index), each.plan(index));
            }
        }
        assert!(together.stats().overflowed > 1_000);
        assert_eq!(together.stats().keys, single.stats().keys);
    }
}

fn draw<'a>(random: &mut Random, key: &'a [u8], quotas: &'a [jeton_core::Quota]) -> Op<'a> {
    let cost = Cost::new(random.below(4));
    let mut op = Op::new(
        RuleId::new(random.below(2)),
        key,
        random.pick(quotas),
        *random.pick(&[
            Act::Take { cost },
            Act::Take { cost: Cost::ONE },
            Act::Peek { cost },
        ]),
    );
    if random.below(4) == 0 {
        op.on_deny = OnDeny::Charge;
    }
    op
}
