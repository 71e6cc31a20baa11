//! What a journal hears is enough to fill another table.

use std::collections::HashMap;

use jeton_core::codec::{self, Stored};
use jeton_core::{Act, Answers, Cost, Decision, Micros, Op, Plan, Quota, Receipt, RuleId};
use jeton_memory::{Journal, MAX_MARK, Overflow, Place, Seed, Settings, Standing, Table};

use crate::{Random, SECOND, bucket, concurrency, counter, first, fixed, log, ticket};

/// Keeps what stood before every change, and which states have changed since they were last shown.
#[derive(Default)]
struct Kept {
    states: HashMap<u64, Stored>,
    changed: Vec<Place>,
    erased: usize,
}

impl Journal for Kept {
    fn changes(&mut self, place: Place, before: Option<Standing<'_>>) -> u8 {
        match before {
            Some(before) if before.mark == MAX_MARK => assert!(self.changed.contains(&place)),
            before => {
                // Nothing has happened to it that was not told.
                assert_eq!(before.map_or(0, |before| before.mark), 0);
                if let (Some(before), Some(kept)) = (before, self.states.get(&place.hash)) {
                    assert_eq!(stored(place, &before), *kept, "{place:?}");
                }
                self.changed.push(place);
            }
        }
        MAX_MARK
    }
}

impl Kept {
    /// Brings what is kept up to date.
    fn follow(&mut self, table: &Table) {
        for place in self.changed.drain(..) {
            table.show(place, |standing| {
                match standing {
                    Some(standing) => {
                        self.states.insert(place.hash, stored(place, &standing));
                    }
                    None => self.erased += usize::from(self.states.remove(&place.hash).is_some()),
                }
                0
            });
        }
    }
}

fn stored(place: Place, standing: &Standing<'_>) -> Stored {
    let mut bytes = Vec::new();
    let Standing {
        cell, tail, until, ..
    } = standing;
    codec::encode(place.kind, *until, cell, tail, &mut bytes);
    codec::decode(&bytes).unwrap()
}

fn new_table() -> Table {
    Table::new(&Settings {
        max_keys: 10_000,
        max_memory_bytes: 4 << 20,
        overflow: Overflow::Share,
        seed: Some(Seed::new([9; 16])),
    })
    .unwrap()
}

fn charge(table: &Table, key: &[u8], quota: &Quota, cost: Cost, now: Micros) -> Decision {
    let act = match quota.lease() {
        Some(_) => Act::Hold { cost },
        None => Act::Take { cost },
    };
    let op = Op::new(RuleId::new(1), key, quota, act);
    let mut answers = Answers::new();
    table.decide(Plan::one(&op), now, &mut (), &mut answers);
    answers.plan(0).1[0]
}

fn draw(random: &mut Random, quota: &Quota, receipts: &[Receipt]) -> Act {
    match random.below(20) {
        0 => Act::Reset,
        1 => Act::Give {
            units: Cost::new(random.below(5)),
        },
        2..4 => Act::Renew {
            receipt: *random.pick(receipts),
        },
        4..8 if quota.lease().is_some() => Act::Settle {
            receipt: *random.pick(receipts),
            actual: Cost::new(random.below(3)),
            max_debt: Cost::MAX,
        },
        _ if quota.lease().is_some() => Act::Hold {
            cost: Cost::new(random.below(5)),
        },
        _ => Act::Take {
            cost: Cost::new(random.below(5)),
        },
    }
}

#[test]
fn a_table_filled_from_a_journal_answers_the_same() {
    let quotas = [
        bucket(7, SECOND, 50),
        fixed(40, SECOND),
        first(40, SECOND),
        counter(40, SECOND),
        log(40, SECOND),
        concurrency(40, SECOND / 4),
        ticket(SECOND / 4),
    ];
    let (table, mut kept) = (new_table(), Kept::default());
    let mut random = Random(3);
    let mut answers = Answers::new();
    let name = |n: u64| n.to_le_bytes();
    let nothing = Micros::ZERO;
    let mut receipts = [Receipt {
        cost: 0,
        part: 0,
        at: nothing,
        mark: nothing,
    }; 200];
    for step in 0..50_000 {
        let key = name(random.below(100));
        let quota = random.pick(&quotas);
        let act = draw(&mut random, quota, &receipts);
        let op = Op::new(RuleId::new(1), &key, quota, act);
        answers.clear();
        table.decide(
            Plan::one(&op),
            Micros::new(step * 100),
            &mut kept,
            &mut answers,
        );
        let charged = answers.plan(0).1[0].receipt;
        if random.below(5) == 0 {
            kept.follow(&table);
        }
        if charged.cost > 0 && quota.lease().is_some() {
            receipts[usize::try_from(step % 200).unwrap()] = charged;
        }
    }
    kept.follow(&table);
    assert!(kept.erased > 1_000);
    let now = Micros::new(50_000 * 100);
    let other = new_table();
    for (&hash, state) in &kept.states {
        assert!(other.restore(hash, state, now));
    }
    let mut used = 0;
    for n in 0..100 {
        for quota in &quotas {
            for cost in [Cost::ZERO, Cost::new(20), Cost::new(40), Cost::ONE] {
                let one = |table: &Table| charge(table, &name(n), quota, cost, now);
                let decision = one(&table);
                assert_eq!(decision, one(&other));
                used += u64::from(decision.remaining < 40);
            }
        }
    }
    assert!(used > 500);
}

#[test]
fn what_is_over_is_not_restored_and_what_does_not_fit_is_said() {
    let table = Table::new(&Settings {
        max_keys: 2,
        ..Settings::default()
    })
    .unwrap();
    let state = |until| Stored {
        kind: jeton_core::Kind::Bucket,
        until: Micros::new(until),
        cell: jeton_core::Cell::default(),
        tail: Vec::new(),
    };
    let now = Micros::new(100);
    assert!(table.restore(1, &state(100), now));
    assert_eq!(table.stats().keys, 0);
    assert!(table.restore(1, &state(200), now));
    assert!(table.restore(1, &state(300), now));
    assert!(table.restore(2, &state(300), now));
    assert!(!table.restore(3, &state(300), now));
    assert_eq!(table.stats().keys, 2);
}
