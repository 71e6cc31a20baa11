//! A journal that panics in the middle of a change leaves a table that goes on: no lock stays taken, no
//! slot stays claimed, and nobody gets more than the limit.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jeton_core::{Act, Answers, Cost, Micros, Op, Plan, Quota, RuleId};
use jeton_memory::{Journal, Overflow, Place, Standing, Table};

use crate::{Random, SECOND, bucket, concurrency, counter, first, fixed, log, table, ticket};

const NOW: Micros = Micros::new(1_000 * SECOND);
const DAY: u64 = 86_400 * SECOND;

/// Panics at one of the changes that it hears of.
struct Fails {
    left: u64,
}

impl Journal for Fails {
    fn changes(&mut self, _: Place, _: Option<Standing<'_>>) -> u8 {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            // Says nothing on the terminal.
            None => resume_unwind(Box::new(())),
        }
        0
    }
}

/// Whether the plan was decided and allowed; none if the journal panicked in it.
fn decide(table: &Table, plan: Plan<'_>, left: u64) -> Option<bool> {
    let mut answers = Answers::new();
    let done = catch_unwind(AssertUnwindSafe(|| {
        table.decide(plan, NOW, &mut Fails { left }, &mut answers);
    }));
    done.ok().map(|()| answers.plan(0).0.unwrap().allowed)
}

fn act(quota: &Quota, cost: Cost) -> Act {
    match quota.lease() {
        Some(_) => Act::Hold { cost },
        None => Act::Take { cost },
    }
}

fn quotas() -> Vec<Quota> {
    vec![
        bucket(1, DAY, 7),
        fixed(7, DAY),
        first(7, DAY),
        counter(7, DAY),
        log(7, DAY),
        concurrency(7, DAY),
    ]
}

/// Every way of one key: a new state and one in use; with and without a table that is full.
#[test]
fn one_key_is_charged_or_not_and_no_slot_stays_claimed() {
    let mut all = quotas();
    all.push(ticket(DAY));
    for quota in &all {
        let table = table(10_000, 16 << 20, Overflow::Share);
        for n in 0..500_u32 {
            let key = n.to_le_bytes();
            let op = Op::new(RuleId::new(1), &key, quota, act(quota, Cost::ONE));
            assert_eq!(decide(&table, Plan::one(&op), 0), None, "{quota:?}");
        }
        assert_eq!(table.snapshot(NOW).count(), 0);
        assert_eq!(
            table.stats().keys,
            0,
            "a claim outlived its step: {quota:?}"
        );
        for n in 0..500_u32 {
            let key = n.to_le_bytes();
            let op = Op::new(RuleId::new(1), &key, quota, act(quota, Cost::ONE));
            assert_eq!(decide(&table, Plan::one(&op), 1), Some(true));
        }
        assert_eq!(table.stats().keys, 500);
    }
}

/// A key that finds room and starts from what it shared is told of twice.
#[test]
fn a_key_that_starts_from_what_it_shared_loses_nothing_by_a_panic() {
    for quota in &quotas()[..5] {
        for left in 0..2 {
            let table = table(1, 1 << 20, Overflow::Share);
            let in_the_way = log(1, DAY);
            let way = Op::take(RuleId::new(9), b"way", &in_the_way, Cost::ONE);
            assert_eq!(decide(&table, Plan::one(&way), 9), Some(true));
            let op = Op::take(RuleId::new(1), b"k", quota, Cost::ONE);
            assert_eq!(decide(&table, Plan::one(&op), 9), Some(true));
            let reset = Op::new(RuleId::new(9), b"way", &in_the_way, Act::Reset);
            decide(&table, Plan::one(&reset), 9);
            assert_eq!(decide(&table, Plan::one(&op), left), None, "{quota:?}");
            assert!(table.stats().keys <= 1);
            let held = table.snapshot(NOW).count() as u64;
            assert_eq!(table.stats().keys, held, "{left} {quota:?}");
            let passed = (0..10).filter(|_| decide(&table, Plan::one(&op), 9) == Some(true));
            assert!(passed.count() <= 6, "one was shared: {quota:?}");
        }
    }
}

#[test]
fn plans_of_many_keys_that_break_off_charge_no_more_than_they_asked() {
    let quotas = quotas();
    let table = table(10_000, 16 << 20, Overflow::Deny);
    let (mut random, mut broken) = (Random(1), 0);
    // What answers say was charged, and what plans that broke off may have charged.
    let (mut charged, mut unsure) = ([[0_u64; 6]; 40], [[0_u64; 6]; 40]);
    for _ in 0..20_000 {
        let many = 1 + usize::try_from(random.below(12)).unwrap();
        let first = usize::try_from(random.below(40)).unwrap();
        let names: Vec<usize> = (first..first + many).map(|n| n % 40).collect();
        let keys: Vec<[u8; 8]> = names.iter().map(|n| n.to_le_bytes()).collect();
        let kinds: Vec<usize> = (0..many)
            .map(|_| usize::try_from(random.below(6)).unwrap())
            .collect();
        let ops: Vec<Op<'_>> = keys
            .iter()
            .zip(&kinds)
            .map(|(key, &kind)| {
                let quota = &quotas[kind];
                Op::new(RuleId::new(1), key, quota, act(quota, Cost::ONE))
            })
            .collect();
        let done = decide(&table, Plan::new(&ops).unwrap(), random.below(16));
        broken += u32::from(done.is_none());
        for (&name, &kind) in names.iter().zip(&kinds) {
            charged[name][kind] += u64::from(done == Some(true));
            unsure[name][kind] += u64::from(done.is_none());
        }
    }
    assert!(broken > 100, "{broken}");
    let held = table.snapshot(NOW).count() as u64;
    assert_eq!(table.stats().keys, held, "a claim outlived its step");
    for (name, (charged, unsure)) in charged.iter().zip(&unsure).enumerate() {
        for (kind, quota) in quotas.iter().enumerate() {
            let key = name.to_le_bytes();
            let look = Op::new(RuleId::new(1), &key, quota, Act::Peek { cost: Cost::ONE });
            let mut answers = Answers::new();
            table.decide(Plan::one(&look), NOW, &mut (), &mut answers);
            let used = 7 - u64::from(answers.plan(0).1[0].remaining);
            let (least, most) = (charged[kind], charged[kind] + unsure[kind]);
            assert!(
                (least..=most).contains(&used),
                "{least}..={most}: {used} {quota:?}"
            );
        }
    }
}
