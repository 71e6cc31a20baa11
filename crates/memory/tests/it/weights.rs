//! What a table weighs: never more than it may, never more than it says, and as much as the docs say.

use allocation_counter::measure;
use jeton_core::{Act, Answers, Cost, Micros, Note, NoteEdit, Op, Plan, Quota, Receipt, RuleId};
use jeton_core::{Store, When};
use jeton_memory::{LEAST_MEMORY_BYTES, Overflow, Table};

use crate::{Random, SECOND, bucket, concurrency, counter, first, fixed, log, table, ticket};

const HOUR: u64 = 3_600 * SECOND;

fn bytes(table: &Table) -> i64 {
    i64::try_from(table.stats().bytes).unwrap()
}

/// Traffic of every kind: small states, logs, holders, reservations, notes.
struct Traffic {
    random: Random,
    now: u64,
    keys: u64,
    quotas: [Quota; 8],
    receipts: Vec<Receipt>,
    answers: Answers,
}

impl Traffic {
    fn new(seed: u64, keys: u64) -> Self {
        Self {
            random: Random(seed),
            now: SECOND,
            keys,
            quotas: [
                bucket(5, SECOND, 20),
                fixed(1_000, SECOND),
                first(1_000, SECOND),
                counter(1_000, SECOND),
                log(1_000_000, SECOND),
                log(1_000_000_000, 60 * SECOND),
                concurrency(1_000_000, 2 * SECOND),
                ticket(3 * SECOND),
            ],
            receipts: Vec::with_capacity(64),
            answers: Answers::new(),
        }
    }

    fn act(&mut self, quota: &Quota) -> Act {
        let random = &mut self.random;
        let cost = Cost::new(1 + random.below(3));
        match (random.below(16), self.receipts.as_slice()) {
            (0, _) => Act::Reset,
            (1, _) => Act::Give { units: cost },
            (2, _) => Act::Peek { cost },
            (3..6, [_, ..]) => Act::Settle {
                receipt: *random.pick(&self.receipts),
                actual: Cost::new(random.below(9)),
                max_debt: Cost::MAX,
            },
            _ if quota.lease().is_some() => Act::Hold { cost },
            _ => Act::Take { cost },
        }
    }

    fn note(&mut self, table: &Table) {
        let name: Box<[u8]> = self.random.below(200).to_le_bytes().into();
        let edit = match self.random.below(3) {
            0 => NoteEdit::Remove { name },
            _ => NoteEdit::Put(Note {
                name,
                value: vec![0; usize::try_from(self.random.below(300)).unwrap()].into(),
                until: Some(Micros::new(self.now + self.random.below(2 * SECOND))),
            }),
        };
        drop(table.note(edit, When::At(Micros::new(self.now))));
    }

    fn step(&mut self, table: &Table) {
        self.now += match self.random.below(2_000) {
            0 => SECOND,
            1 => 30 * SECOND,
            _ => self.random.below(200),
        };
        if self.random.below(20) == 0 {
            return self.note(table);
        }
        let many = [1, 1, 1, 2, 4][usize::try_from(self.random.below(5)).unwrap()];
        // Half of the traffic is of a few keys, so that their logs grow long.
        let range = [5, self.keys][usize::try_from(self.random.below(2)).unwrap()];
        let start = self.random.below(range);
        let names: [[u8; 8]; 4] = core::array::from_fn(|n| (start + n as u64).to_le_bytes());
        let quotas = self.quotas;
        let kinds: [usize; 4] =
            core::array::from_fn(|_| usize::try_from(self.random.below(8)).unwrap());
        let acts: [Act; 4] = core::array::from_fn(|n| self.act(&quotas[kinds[n]]));
        let op = |n: usize| Op::new(RuleId::new(1), &names[n], &quotas[kinds[n]], acts[n]);
        let ops: [Op<'_>; 4] = core::array::from_fn(op);
        self.answers.clear();
        let plan = Plan::new(&ops[..many]).unwrap();
        table.decide(plan, Micros::new(self.now), &mut (), &mut self.answers);
        let receipt = self.answers.plan(0).1[0].receipt;
        if receipt.cost > 0 && self.receipts.len() < 64 {
            self.receipts.push(receipt);
        } else if receipt.cost > 0 {
            self.receipts[usize::try_from(self.random.below(64)).unwrap()] = receipt;
        }
    }
}

/// Holds the figure that a table states to what it has from the allocator.
#[test]
fn a_table_never_weighs_more_than_it_says_nor_than_it_may() {
    for (seed, max_bytes) in (0..).zip([LEAST_MEMORY_BYTES, 100_000, 200_000, 1 << 20]) {
        for policy in [Overflow::Share, Overflow::Deny, Overflow::Allow] {
            let mut traffic = Traffic::new(seed, 20_000);
            // The buffers of the traffic itself are as large as they get.
            let other = table(1_000, 1 << 20, policy);
            (0..1_000).for_each(|_| traffic.step(&other));
            let mut kept = None;
            let new = measure(|| kept = Some(table(1_000_000, max_bytes, policy)));
            let table = kept.unwrap();
            let most = i64::try_from(max_bytes).unwrap();
            let mut allocated = new.bytes_current;
            let mut full = 0;
            for _ in 0..300 {
                let part = measure(|| (0..100).for_each(|_| traffic.step(&table)));
                // What a step has for itself: a name and a value, an answer that is pending.
                let peak = allocated + i64::try_from(part.bytes_max).unwrap() - 1_000;
                assert!(peak <= most, "{peak} of {most} bytes, {policy:?}");
                allocated += part.bytes_current;
                let stated = bytes(&table);
                assert!(stated <= most, "{stated} of {most}");
                assert!(allocated <= stated, "{allocated} bytes, {stated} stated");
                full = full.max(stated);
            }
            assert!(
                full > most / 4,
                "{full} of {most}: the bound was never near"
            );
            assert!(max_bytes > 200_000 || table.stats().overflowed > 100);
        }
    }
}

/// One log that takes all the memory there is, growing by half each time.
#[test]
fn one_log_that_grows_until_nothing_is_left_stays_within_the_bound_while_it_moves() {
    let (max_bytes, quota) = (4 << 20, log(1_000_000_000, HOUR));
    let mut kept = None;
    let new = measure(|| kept = Some(table(1_000, max_bytes, Overflow::Deny)));
    let table = kept.unwrap();
    let grown = measure(|| {
        for us in 0..400_000 {
            table.take(RuleId::new(1), b"k", &quota, Cost::ONE, Micros::new(us));
        }
    });
    let peak = u64::try_from(new.bytes_current).unwrap() + grown.bytes_max;
    assert!(peak <= max_bytes, "{peak} of {max_bytes} bytes");
    // It has taken 400 000 charges of 16 bytes, all of them counted, in 4 MiB.
    assert!(table.stats().bytes > max_bytes / 4);
    let left = table.take(
        RuleId::new(1),
        b"k",
        &quota,
        Cost::ONE,
        Micros::new(400_000),
    );
    assert_eq!(left.remaining, 1_000_000_000 - 400_001);
}

/// The numbers in one line of the table in the docs.
fn documented(what: &str) -> Vec<u64> {
    let docs = include_str!("../../../../docs/memory.md");
    let line = docs
        .lines()
        .find(|line| line.starts_with(&format!("| {what}")))
        .expect("the docs say what it weighs");
    let weight = line.rsplit('|').nth(1).unwrap();
    let numbers = weight.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

fn fill(table: &Table, keys: u64, quota: &Quota) {
    for n in 0..keys {
        let act = match quota.lease() {
            Some(_) => Act::Hold { cost: Cost::ONE },
            None => Act::Take { cost: Cost::ONE },
        };
        let name = n.to_le_bytes();
        let op = Op::new(RuleId::new(1), &name, quota, act);
        let mut answers = Answers::new();
        table.decide(Plan::one(&op), Micros::new(n), &mut (), &mut answers);
    }
    assert_eq!(table.stats().keys, keys);
}

#[test]
fn keys_and_regions_weigh_what_the_docs_say() {
    let new = || table(1 << 17, 64 << 20, Overflow::Share);
    let empty = new().stats().bytes;
    let [region, shared] = documented("a region")[..] else {
        panic!("a region has two numbers")
    };
    assert_eq!(empty, new().regions() as u64 * (region + shared));
    let [slot, .., least, most] = documented("a key of `fixed-window`")[..] else {
        panic!("a key has a slot and two bounds")
    };
    assert_eq!(slot, 32);
    let keys = 1 << 16;
    for quota in [bucket(1, HOUR, 9), fixed(9, HOUR), counter(9, HOUR)] {
        let table = new();
        fill(&table, keys, &quota);
        let all = table.stats().bytes - empty;
        assert!((keys * least..=keys * most).contains(&all), "{all} bytes");
    }
    let row = *documented("a key of `sliding-log`").last().unwrap();
    let [entry, most_entry, allocation] = documented("an entry of a log")[..] else {
        panic!("an entry has three numbers")
    };
    assert_eq!(size_of::<jeton_core::Entry>() as u64, entry);
    // One entry in a row of four, and rows are made sixteen at a time.
    let tail = row + 4 * entry + allocation;
    for quota in [log(9, HOUR), concurrency(9, HOUR)] {
        let table = new();
        fill(&table, keys, &quota);
        let all = table.stats().bytes - empty;
        let bounds = keys * (least + tail)..=keys * (most + tail + 1);
        assert!(bounds.contains(&all), "{all} bytes, {bounds:?}");
    }
    let table = new();
    for us in 0..100_000 {
        table.take(
            RuleId::new(1),
            b"k",
            &log(1_000_000, HOUR),
            Cost::ONE,
            Micros::new(us),
        );
    }
    let all = table.stats().bytes - empty;
    // And a slot for the key, with the first rows beside its own.
    let bounds = 100_000 * entry..=100_000 * most_entry + 1_000;
    assert!(bounds.contains(&all), "{all} bytes");
}

#[test]
fn notes_weigh_what_the_docs_say() {
    let table = table(1_000, 1 << 20, Overflow::Share);
    let before = table.stats().bytes;
    let note = Note {
        name: (*b"a name").into(),
        value: vec![0; 100].into(),
        until: None,
    };
    drop(table.note(NoteEdit::Put(note), When::At(Micros::new(5))));
    let fixed = documented("a block")[0];
    assert_eq!(table.stats().bytes - before, fixed + 6 + 100);
}
