//! A look at a key without a state says what the take after it will say, whatever is running short.

use jeton_core::{Act, Cost};
use jeton_memory::Overflow;

use crate::{SECOND, allowed, bucket, concurrency, counter, first, fixed, log, one, table, take};

const HOUR: u64 = 3_600 * SECOND;

/// One log takes all memory there is. Then new keys of every kind come, until no more of them do.
#[test]
fn a_look_at_a_new_key_answers_as_its_charge_when_bytes_run_out() {
    for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
        for (number, quota) in [
            bucket(1, HOUR, 4),
            fixed(4, HOUR),
            first(4, HOUR),
            counter(4, HOUR),
            log(4, HOUR),
            concurrency(4, HOUR),
        ]
        .iter()
        .enumerate()
        {
            let table = table(1_000_000, 128 << 10, policy);
            let big = log(1_000_000_000, HOUR);
            let mut us = 0;
            while allowed(&take(&table, "big", &big, us)) && us < 100_000 {
                us += 1;
            }
            let (mut own, mut short, mut made) = (0, 0, 0);
            for n in 0..5_000 {
                let key = format!("{number} {n}");
                let look = one(&table, &key, quota, Act::Peek { cost: Cost::ONE }, us);
                let charge = match quota.lease() {
                    Some(_) => Act::Hold { cost: Cost::ONE },
                    None => Act::Take { cost: Cost::ONE },
                };
                let charged = one(&table, &key, quota, charge, us);
                if look.approximate && !charged.approximate {
                    // An array that was moved away from was given back in between.
                    made += 1;
                } else {
                    assert_eq!(
                        (look.fit, look.approximate),
                        (charged.fit, charged.approximate),
                        "{policy:?} {quota:?}, key {n}"
                    );
                }
                own += u64::from(!charged.approximate);
                short += u64::from(charged.approximate);
            }
            assert!(made <= 250, "{made} of 5000, {quota:?}");
            assert!(own > 10 && short > 10, "{own} {short} {quota:?}");
        }
    }
}
