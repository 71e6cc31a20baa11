//! Hashes that meet, forced upon the table: states stay apart as long as one bit of hash or kind does.

use std::collections::HashMap;

use jeton_core::{Act, Cost, Edit, Kind, Micros, Quota, RuleId, TailEdit, View};
use jeton_memory::{Overflow, Place};

use crate::{Random, SECOND, bucket, counter, fixed, log, table};

/// A map under plain keys, which knows nothing of hashes.
type Plain = HashMap<(u64, Kind), (jeton_core::Cell, Micros, Vec<jeton_core::Entry>)>;

fn expected(
    plain: &mut Plain,
    place: Place,
    quota: &Quota,
    act: &Act,
    now: Micros,
) -> jeton_core::Decision {
    let kept = plain
        .get(&(place.hash, place.kind))
        .filter(|(_, until, _)| *until > now);
    let view = kept.map_or(View::ABSENT, |(cell, _, tail)| View {
        cell: Some(*cell),
        tail,
    });
    let outcome = quota.decide(view, act, now);
    let mut after = kept.map(|(.., tail)| tail.clone()).unwrap_or_default();
    match outcome.edit {
        Edit::Keep => {}
        Edit::Put { cell, until, tail } => {
            if tail != TailEdit::None {
                tail.apply(&mut after);
            }
            plain.insert((place.hash, place.kind), (cell, until, after));
        }
        Edit::Erase => {
            plain.remove(&(place.hash, place.kind));
        }
    }
    outcome.decision
}

/// Random acts on states whose hashes are drawn by `hash` from a few hundred numbers.
fn compare(hash: impl Fn(u64) -> u64) {
    let quotas = [
        bucket(7, SECOND, 20),
        fixed(9, SECOND),
        counter(9, SECOND),
        log(9, SECOND),
    ];
    let table = table(100_000, 64 << 20, Overflow::Deny);
    let (mut plain, mut random, mut us) = (Plain::new(), Random(11), SECOND);
    for _ in 0..60_000 {
        us += random.below(SECOND / 200);
        let quota = random.pick(&quotas);
        let place = Place {
            rule: RuleId::new(1),
            kind: quota.kind(),
            hash: hash(random.below(500)),
        };
        let cost = Cost::new(random.below(4));
        let act = match random.below(10) {
            0 => Act::Reset,
            1 => Act::Give { units: cost },
            2 => Act::Peek { cost },
            _ => Act::Take { cost },
        };
        let now = Micros::new(us);
        let decision = table.act(place, quota, act, now);
        assert_eq!(decision, expected(&mut plain, place, quota, &act, now));
    }
}

#[test]
fn hashes_of_one_region_and_one_home_stay_apart() {
    // The low bits choose the region and the high ones the home in it: only those between differ.
    compare(|n| 0xabcd_ef01_0000_0000 | n << 20);
}

#[test]
fn hashes_of_one_home_in_many_regions_stay_apart() {
    compare(|n| 0xffff_ffff_0000_0000 | n);
}

#[test]
fn hashes_that_differ_in_one_bit_stay_apart() {
    compare(|n| 0x0123_4567_89ab_cdef ^ 1 << (n % 64));
}

#[test]
fn two_keys_of_one_hash_share_one_counter_and_admit_no_more() {
    let table = table(1_000, 1 << 20, Overflow::Deny);
    let quota = log(5, SECOND);
    let place = |rule| Place {
        rule: RuleId::new(rule),
        kind: Kind::Log,
        hash: 42,
    };
    let act = Act::Take { cost: Cost::ONE };
    let passed = (0..20).filter(|n| {
        let decision = table.act(place(n % 2), &quota, act, Micros::new(SECOND));
        decision.fit.passes()
    });
    assert_eq!(passed.count(), 5);
}
