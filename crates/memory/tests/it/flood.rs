//! Two million fresh keys against a table of a hundred thousand, while honest keys are in use.

use jeton_core::{Cost, Decision, Kind, Micros, Quota, RuleId};
use jeton_memory::{Overflow, Table};

use crate::{Random, SECOND, allowed, bucket, counter, fixed, log, table};

const HONEST: u64 = 1_000;
const LIMIT: u64 = 20;

/// (most keys, keys of the flood)
fn sizes() -> (u64, u64) {
    if jeton_testkit::laws::full_size() {
        (100_000, 2_000_000)
    } else {
        (10_000, 200_000)
    }
}

fn honest(table: &Table, key: u64, quota: &Quota, us: u64) -> Decision {
    let rule = RuleId::new(1);
    table.take(rule, &key.to_le_bytes(), quota, Cost::ONE, Micros::new(us))
}

/// The flood comes under a rule of its own, or under that of the honest keys.
fn flood(table: &Table, rule: u64, n: u64, quota: &Quota, us: u64) -> Decision {
    let key = n.to_be_bytes().repeat(2);
    table.take(RuleId::new(rule), &key, quota, Cost::ONE, Micros::new(us))
}

#[test]
fn a_flood_leaves_keys_in_use_their_limits_and_memory_flat() {
    let (max_keys, fresh) = sizes();
    let minute = 60 * SECOND;
    for quota in [
        bucket(1, minute, LIMIT),
        fixed(LIMIT, 10 * minute),
        counter(LIMIT, 10 * minute),
        log(LIMIT, 10 * minute),
    ] {
        let policy = *Random(fresh).pick(&[Overflow::Share, Overflow::Deny, Overflow::Allow]);
        let table = table(max_keys, 64 << 20, policy);
        let mut passed = vec![0; usize::try_from(HONEST).unwrap()];
        let mut random = Random(5);
        let (mut peak, mut full) = (0, 0);
        for key in 0..HONEST {
            passed[usize::try_from(key).unwrap()] +=
                u64::from(allowed(&honest(&table, key, &quota, 0)));
        }
        for n in 0..fresh {
            // The whole flood comes within 20 s.
            let us = n * 20 * SECOND / fresh;
            flood(&table, 1 + n % 2, n, &quota, us);
            if n % 8 == 0 {
                let key = random.below(HONEST);
                let decision = honest(&table, key, &quota, us);
                assert!(
                    !decision.approximate,
                    "{quota:?}: a key in use was pushed out"
                );
                passed[usize::try_from(key).unwrap()] += u64::from(allowed(&decision));
            }
            if n % (fresh / 20) == 0 {
                let stats = table.stats();
                assert!(stats.keys <= max_keys && stats.bytes <= stats.max_bytes);
                if n > fresh / 2 {
                    peak = peak.max(stats.bytes);
                } else {
                    full = full.max(stats.bytes);
                }
            }
        }
        assert!(
            passed.iter().all(|passed| (1..=LIMIT).contains(passed)),
            "{quota:?}"
        );
        assert!(passed.iter().filter(|&&passed| passed == LIMIT).count() > 100);
        assert!(table.stats().overflowed > fresh / 2);
        // Logs of honest keys go on filling: 20 entries of 16 bytes, and half as much again.
        let entries = HONEST * LIMIT * 24 * u64::from(quota.kind() == Kind::Log);
        assert!(
            peak <= full + full / 50 + entries,
            "{quota:?}: {full} then {peak} bytes"
        );
    }
}

#[test]
fn after_a_flood_memory_is_given_back_and_new_keys_find_room() {
    let (max_keys, fresh) = sizes();
    let table = table(max_keys, 64 << 20, Overflow::Deny);
    let quota = log(5, 10 * SECOND);
    let empty = table.stats().bytes;
    for n in 0..fresh / 4 {
        flood(&table, 1, n, &quota, n);
    }
    let full = table.stats();
    assert_eq!(full.keys, max_keys);
    // Everything is over; a hundred keys go on.
    let mut turned_away = 0;
    for n in 0..fresh {
        let decision = honest(&table, n % 100, &bucket(1, SECOND, 5), 60 * SECOND + n);
        turned_away += u64::from(decision.approximate);
    }
    let left = table.stats();
    assert_eq!((left.keys, turned_away), (100, 0));
    assert!(
        left.bytes - empty < (full.bytes - empty) / 20,
        "{left:?} of {full:?}"
    );
}
