//! Many threads at once against the plainest store: there must be one order of all plans, each at an
//! instant between its call and its return, in which the model gives every single answer that the table
//! gave (Herlihy and Wing's linearizability).
//!
//! The order need not be searched for. A journal is told of a change under the locks of all states that the
//! plan is on, and there draws a number: plans that change something stand in the order of their first
//! numbers. One that changes nothing must agree with the model at some number between those that had been
//! drawn when it was called and when it returned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use jeton_core::{
    Act, Answers, Cell, Cells, Decision, Edit, Entry, Kind, Micros, Mode, OnDeny, Op, Plan, Quota,
    Reading, RuleId, Verdict, View, decide_all,
};
use jeton_memory::{Journal, Overflow, Place, Standing, Table};

use crate::differential::Traffic;
use crate::{Random, SECOND, bucket, concurrency, counter, first, fixed, log, table, ticket};

const THREADS: u64 = 4;
const START: u64 = 1_000_000 * SECOND;

fn plans_each() -> u64 {
    if jeton_testkit::laws::full_size() {
        100_000
    } else {
        3_000
    }
}

/// Draws a number at each change; the first one places the plan.
struct Order<'a> {
    next: &'a AtomicU64,
    first: Option<u64>,
    random: Random,
}

impl Journal for Order<'_> {
    fn changes(&mut self, _: Place, _: Option<Standing<'_>>) -> u8 {
        let drawn = self.next.fetch_add(1, SeqCst);
        self.first.get_or_insert(drawn);
        // With the locks held, so that others run into them.
        if self.random.below(8) == 0 {
            thread::yield_now();
        }
        0
    }
}

type Part = (RuleId, Quota, Act, Mode, OnDeny);

/// One plan, when it was called and answered, and the answer.
struct Call {
    names: Vec<[u8; 8]>,
    parts: Vec<Part>,
    /// Numbers drawn by then.
    called: u64,
    returned: u64,
    first: Option<u64>,
    reading: Reading,
    verdict: Verdict,
    decisions: Vec<Decision>,
}

fn ops<'a>(names: &'a [[u8; 8]], parts: &'a [Part]) -> Vec<Op<'a>> {
    let op = |(key, (rule, quota, act, mode, on_deny)): (&'a [u8; 8], &'a Part)| Op {
        rule: *rule,
        key,
        quota,
        act: *act,
        mode: *mode,
        on_deny: *on_deny,
    };
    names.iter().zip(parts).map(op).collect()
}

type Key = (RuleId, Kind, Vec<u8>);
type State = (Cell, Micros, Vec<Entry>);

#[derive(Default)]
struct Model(HashMap<Key, State>);

struct Held<'a> {
    model: &'a mut Model,
    keys: Vec<Key>,
    now: Micros,
    /// Only asked what it would answer.
    looks: bool,
}

impl Held<'_> {
    fn standing(&self, op: usize) -> Option<&State> {
        let state = self.model.0.get(&self.keys[op]);
        state.filter(|(_, until, _)| *until > self.now)
    }
}

impl Cells for Held<'_> {
    fn view(&self, op: usize) -> View<'_> {
        self.standing(op)
            .map_or(View::ABSENT, |(cell, _, tail)| View {
                cell: Some(*cell),
                tail,
            })
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        if self.looks {
            // It was seen before that it writes nothing.
            return;
        }
        match edit {
            Edit::Keep => {}
            Edit::Erase => drop(self.model.0.remove(&self.keys[op])),
            Edit::Put { cell, until, tail } => {
                let mut entries = self.standing(op).map_or(vec![], |(.., tail)| tail.clone());
                tail.apply(&mut entries);
                let key = self.keys[op].clone();
                self.model.0.insert(key, (cell, until, entries));
            }
        }
    }
}

impl Model {
    /// Whether it answers as the table did.
    fn agrees(&mut self, call: &Call) -> bool {
        let ops = ops(&call.names, &call.parts);
        let now = call.decisions[0].at;
        let mut answers = Answers::new();
        let key = |op: &Op<'_>| (op.rule, op.quota.kind(), op.key.to_vec());
        let mut held = Held {
            keys: ops.iter().map(key).collect(),
            model: self,
            now,
            looks: call.first.is_none(),
        };
        if held.looks && would_write(&ops, &held, now) {
            return false;
        }
        decide_all(Plan::new(&ops).unwrap(), &mut held, now, &mut answers);
        answers.plan(0) == (Ok(call.verdict), call.decisions.as_slice())
    }
}

/// Whether the model would change something here, so that this is not where the plan belongs.
fn would_write(ops: &[Op<'_>], held: &Held<'_>, now: Micros) -> bool {
    struct Watch<'a, 'b>(&'a Held<'b>, bool);
    impl Cells for Watch<'_, '_> {
        fn view(&self, op: usize) -> View<'_> {
            self.0.view(op)
        }
        fn apply(&mut self, op: usize, edit: Edit) {
            // Erasing what is not there, or is over, changes nothing; it may be told or not.
            let nothing =
                edit == Edit::Keep || edit == Edit::Erase && self.0.standing(op).is_none();
            self.1 |= !nothing;
        }
    }
    let mut watch = Watch(held, false);
    decide_all(
        Plan::new(ops).unwrap(),
        &mut watch,
        now,
        &mut Answers::new(),
    );
    watch.1
}

/// What the threads share beside the table.
struct Shared {
    clock: AtomicU64,
    /// The number that is drawn next.
    next: AtomicU64,
    steady: bool,
}

/// Calls of one thread, in its order.
fn run(table: &Table, shared: &Shared, seed: u64, mut traffic: Traffic) -> Vec<Call> {
    let mut random = Random(seed);
    let Shared {
        clock,
        next,
        steady,
    } = shared;
    let (mut calls, mut answers) = (Vec::new(), Answers::new());
    for _ in 0..plans_each() {
        let mut names = Vec::new();
        let parts = traffic.ops(&mut names);
        let ops = ops(&names, &parts);
        let Ok(plan) = Plan::new(&ops) else {
            continue;
        };
        let now = clock.fetch_add(random.below(300), SeqCst);
        let old = random.below(3) * random.below(1_000);
        let at = Micros::new(START + now.saturating_sub(old));
        let reading = if *steady {
            Reading::steady(at)
        } else {
            at.into()
        };
        let mut order = Order {
            next,
            first: None,
            random: Random(random.next()),
        };
        answers.clear();
        let called = next.load(SeqCst);
        table.decide(plan, reading, &mut order, &mut answers);
        let returned = next.load(SeqCst);
        let (verdict, decisions) = answers.plan(0);
        traffic.remember(decisions);
        calls.push(Call {
            called,
            returned,
            first: order.first,
            reading,
            verdict: verdict.unwrap(),
            decisions: decisions.to_vec(),
            names,
            parts,
        });
    }
    calls
}

/// How many calls changed something and how many did not.
fn check(quotas: &[Quota], keys: u64, seed: u64, steady: bool) -> (usize, usize) {
    let table = table(200_000, 64 << 20, Overflow::Deny);
    let shared = Shared {
        clock: AtomicU64::new(0),
        next: AtomicU64::new(0),
        steady,
    };
    let calls: Vec<Call> = thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let seed = seed * THREADS + thread;
            let traffic = Traffic::of(seed, keys, quotas.to_vec());
            let (table, shared) = (&table, &shared);
            scope.spawn(move || run(table, shared, seed, traffic))
        });
        let threads: Vec<_> = threads.collect();
        let calls = threads.into_iter().map(|thread| thread.join().unwrap());
        calls.flatten().collect()
    });
    for call in &calls {
        let reading = call.reading.at();
        let at = call.decisions[0].at;
        assert!(call.decisions.iter().all(|decision| decision.at == at));
        assert!(if steady { at >= reading } else { at == reading });
    }
    let (mut changes, looks): (Vec<Call>, Vec<Call>) =
        calls.into_iter().partition(|call| call.first.is_some());
    changes.sort_by_key(|call| call.first);
    let mut open: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for (number, look) in looks.iter().enumerate() {
        // After so many changes it may have been answered at the earliest, and at the latest.
        let before = |drawn| changes.partition_point(|change| change.first.unwrap() < drawn);
        let (from, to) = (before(look.called), before(look.returned));
        open.entry(from).or_default().push((number, to));
    }
    let mut model = Model::default();
    for done in 0..=changes.len() {
        for (number, to) in open.remove(&done).unwrap_or_default() {
            let look = &looks[number];
            if model.agrees(look) {
                continue;
            }
            assert!(
                done < to,
                "no place for {:?} {:?} {:?}",
                look.names,
                look.parts,
                look.decisions
            );
            open.entry(done + 1).or_default().push((number, to));
        }
        if let Some(change) = changes.get(done) {
            assert!(
                model.agrees(change),
                "{:?} {:?} {:?}",
                change.names,
                change.parts,
                change.decisions
            );
        }
    }
    assert_eq!(table.stats().overflowed, 0);
    (changes.len(), looks.len())
}

#[test]
fn a_steady_clock_gives_all_answers_one_order() {
    let mut quotas = vec![concurrency(3, 5_000), ticket(20_000)];
    for (limit, us) in [(1, 1_000), (3, 10_000), (20, SECOND)] {
        quotas.extend([
            bucket(limit, us, limit * 2),
            fixed(limit, us),
            first(limit, us),
            counter(limit, us),
            log(limit, us),
            log(limit * 20, us),
        ]);
    }
    for (seed, keys) in (0..).zip([2, 5, 30]) {
        let (changes, looks) = check(&quotas, keys, seed, true);
        assert!(changes > 1_000 && looks > 500, "{changes} {looks}");
    }
}

/// Threads whose clocks go to and fro: each plan goes by its own reading, and states stay so long that
/// none is over for one and not for another.
#[test]
fn clocks_that_go_to_and_fro_give_all_answers_one_order() {
    let mut quotas = vec![concurrency(3, 86_400 * SECOND), ticket(86_400 * SECOND)];
    for limit in [1, 20, 400] {
        let us = 400 * 86_400 * SECOND;
        quotas.extend([
            bucket(limit, us, limit * 2),
            fixed(limit, us),
            first(limit, us),
            counter(limit, us),
            log(limit, us),
        ]);
    }
    for (seed, keys) in (0..).zip([2, 5, 30]) {
        let (changes, looks) = check(&quotas, keys, seed, false);
        assert!(changes > 1_000 && looks > 500, "{changes} {looks}");
    }
}
