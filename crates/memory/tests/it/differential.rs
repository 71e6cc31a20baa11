//! The table against the plainest store there is: one lock, one map, and every state forgotten the
//! moment it is over.

use std::collections::HashMap;

use jeton_core::{
    Act, Answers, Cell, Cells, Cost, Decision, Edit, Entry, Kind, Micros, Mode, OnDeny, Op, Plan,
    Quota, Receipt, RuleId, Span, Store, Submitted, View, When, decide_all,
};
use jeton_memory::Overflow;

use crate::{Random, SECOND, bucket, concurrency, counter, first, fixed, log, table, ticket};

type Key = (RuleId, Kind, Vec<u8>);

#[derive(Default, Clone)]
struct State {
    cell: Option<Cell>,
    until: u64,
    tail: Vec<Entry>,
}

#[derive(Default)]
struct Plain {
    states: HashMap<Key, State>,
    /// States that are over, and until when they were not: the table may still have them.
    over: HashMap<Key, u64>,
}

struct Held<'a> {
    states: &'a mut HashMap<Key, State>,
    keys: Vec<Key>,
}

impl Cells for Held<'_> {
    fn view(&self, op: usize) -> View<'_> {
        self.states
            .get(&self.keys[op])
            .map_or(View::ABSENT, |state| View {
                cell: state.cell,
                tail: &state.tail,
            })
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        let key = &self.keys[op];
        match edit {
            Edit::Keep => {}
            Edit::Erase => drop(self.states.remove(key)),
            Edit::Put { cell, until, tail } => {
                let state = self.states.entry(key.clone()).or_default();
                state.cell = Some(cell);
                state.until = until.get();
                tail.apply(&mut state.tail);
            }
        }
    }
}

fn key_of(op: &Op<'_>) -> Key {
    let (rule, kind, key) = op.place();
    (rule, kind, key.to_vec())
}

impl Plain {
    fn decide(&mut self, plan: Plan<'_>, now: Micros, out: &mut Answers) {
        let mut held = Held {
            states: &mut self.states,
            keys: plan.ops().iter().map(key_of).collect(),
        };
        decide_all(plan, &mut held, now, out);
    }

    fn forget(&mut self, now: u64) {
        for (key, state) in self.states.extract_if(|_, state| state.until <= now) {
            self.over.insert(key, state.until);
        }
    }

    /// A state that was over and is not any more, as the clock went back: the table has it or not.
    fn is_uncertain(&mut self, op: &Op<'_>, now: u64) -> bool {
        let again = self.over.get(&key_of(op)).is_some_and(|&until| until > now);
        again && self.over.remove(&key_of(op)).is_some()
    }
}

pub(crate) struct Traffic {
    random: Random,
    now: u64,
    /// Whether the clock jumps to any instant there is, now and then.
    jumps: bool,
    keys: u64,
    quotas: Vec<Quota>,
    receipts: Vec<Receipt>,
}

impl Traffic {
    fn new(seed: u64, keys: u64) -> Self {
        let mut quotas = vec![concurrency(3, SECOND), ticket(SECOND)];
        for limit in [1, 2, 20] {
            for us in [1_000, SECOND] {
                quotas.extend([
                    bucket(limit, us, limit * 2),
                    fixed(limit, us),
                    first(limit, us),
                    counter(limit, us),
                    log(limit, us),
                    log(limit * 50, us),
                ]);
            }
        }
        Self::of(seed, keys, quotas)
    }

    /// Traffic under these quotas.
    pub(crate) fn of(seed: u64, keys: u64, quotas: Vec<Quota>) -> Self {
        Self {
            random: Random(seed),
            now: 1_000 * SECOND,
            jumps: false,
            keys,
            quotas,
            receipts: Vec::new(),
        }
    }

    fn step(&mut self) {
        let (now, random) = (self.now, &mut self.random);
        let last = Micros::MAX.get();
        let next = match random.below(100) {
            0 if self.jumps => random.below(last + 2 * SECOND),
            1 if self.jumps => last - random.below(3 * SECOND),
            0 => now + 10 * SECOND,
            1 => now - random.below(2 * SECOND).min(now),
            2..4 => now + random.below(SECOND),
            4..60 => now + random.below(200),
            _ => now,
        };
        self.now = next.min(last);
    }

    fn act(&mut self, quota: &Quota) -> Act {
        let random = &mut self.random;
        let limit = u64::from(quota.limit().min(2_000));
        let cost = Cost::new(match random.below(10) {
            0 => 0,
            1 => limit + 1,
            2 => random.below(limit + 1),
            _ => 1,
        });
        match (random.below(40), quota) {
            (0, _) => Act::Reset,
            (1..4, _) => Act::Give {
                units: Cost::new(random.below(4)),
            },
            (4..8, _) if !self.receipts.is_empty() => Act::Settle {
                receipt: *random.pick(&self.receipts),
                actual: Cost::new(random.below(2 * limit)),
                max_debt: Cost::new(random.below(3 * limit)),
            },
            (16..20, _) if !self.receipts.is_empty() => Act::Renew {
                receipt: *random.pick(&self.receipts),
            },
            (20.., quota) if quota.lease().is_some() => Act::Hold { cost },
            (8..12, _) => Act::Peek { cost },
            (12..16, _) => Act::Hold { cost },
            _ => Act::Take { cost },
        }
    }

    /// A few ops on distinct states.
    pub(crate) fn ops(
        &mut self,
        names: &mut Vec<[u8; 8]>,
    ) -> Vec<(RuleId, Quota, Act, Mode, OnDeny)> {
        let many = [1, 1, 2, 3, 5, 32][usize::try_from(self.random.below(6)).unwrap()];
        names.clear();
        (0..many)
            .map(|_| {
                names.push(self.random.below(self.keys).to_be_bytes());
                let quota = *self.random.pick(&self.quotas.clone());
                let mode = *self
                    .random
                    .pick(&[Mode::Enforce, Mode::Enforce, Mode::Shadow]);
                let on_deny = *self
                    .random
                    .pick(&[OnDeny::Keep, OnDeny::Keep, OnDeny::Charge]);
                let rule = RuleId::new(self.random.below(2));
                (rule, quota, self.act(&quota), mode, on_deny)
            })
            .collect()
    }

    pub(crate) fn remember(&mut self, decisions: &[Decision]) {
        for decision in decisions.iter().filter(|d| d.receipt.cost > 0) {
            if self.receipts.len() < 64 {
                self.receipts.push(decision.receipt);
            } else {
                let at = usize::try_from(self.random.below(64)).unwrap();
                self.receipts[at] = decision.receipt;
            }
        }
    }
}

/// Runs the same plans on both; how many decisions were exact.
fn compare(seed: u64, keys: u64, steps: u64, max_keys: u64) -> (u64, u64) {
    compare_under(Traffic::new(seed, keys), steps, max_keys)
}

fn compare_under(mut traffic: Traffic, steps: u64, max_keys: u64) -> (u64, u64) {
    let (mut model, table) = (Plain::default(), table(max_keys, 32 << 20, Overflow::Share));
    let (mut expected, mut answers, mut names) = (Answers::new(), Answers::new(), Vec::new());
    let (mut exact, mut refused) = (0, 0);
    for step in 0..steps {
        traffic.step();
        let now = Micros::new(traffic.now);
        let parts = traffic.ops(&mut names);
        let ops: Vec<_> = names
            .iter()
            .zip(&parts)
            .map(|(key, (rule, quota, act, mode, on_deny))| Op {
                rule: *rule,
                key,
                quota,
                act: *act,
                mode: *mode,
                on_deny: *on_deny,
            })
            .collect();
        model.forget(traffic.now);
        for op in &ops {
            if !model.is_uncertain(op, traffic.now) {
                continue;
            }
            let reset = Op::new(op.rule, op.key, op.quota, Act::Reset);
            model.decide(Plan::one(&reset), now, &mut expected);
            table.decide(Plan::one(&reset), now, &mut (), &mut answers);
        }
        let Ok(plan) = Plan::new(&ops) else {
            continue;
        };
        expected.clear();
        answers.clear();
        model.decide(plan, now, &mut expected);
        assert!(matches!(
            table.submit(&[plan], When::At(now), &mut answers),
            Submitted::Done
        ));
        assert_eq!(
            answers.plan(0),
            expected.plan(0),
            "step {step}, {now:?}, {ops:#?}"
        );
        let decisions = answers.plan(0).1;
        exact += decisions.len() as u64;
        refused += decisions
            .iter()
            .filter(|d| d.fit.retry_after().is_some())
            .count() as u64;
        traffic.remember(decisions);
    }
    assert_eq!(table.stats().overflowed, 0);
    (exact, refused)
}

#[test]
fn the_table_decides_as_a_plain_map_would() {
    for (seed, keys) in (0..).zip([3, 3, 20, 20, 200, 200, 5_000, 5_000]) {
        let (exact, refused) = compare(seed, keys, 6_000, 200_000);
        assert!(
            exact > 5_000 && (keys > 200 || refused > 100),
            "{exact} {refused}"
        );
    }
}

#[test]
fn a_table_with_just_enough_room_decides_as_a_plain_map_would() {
    // One region, full at times: what is over must be found in time. Each key has up to two rules
    // times seven kinds of states.
    for seed in 100..104 {
        compare(seed, 10, 4_000, 2 * 7 * 10);
    }
}

/// Instants at the two ends of time, jumps between them, and quotas as long as there are.
#[test]
fn a_clock_that_jumps_to_either_end_of_time_changes_nothing() {
    let longest = Span::LONGEST.as_micros();
    let mut quotas = Traffic::new(0, 1).quotas;
    quotas.extend([
        bucket(1, longest, 1),
        bucket(3, longest / 7, 20),
        fixed(2, longest),
        first(2, longest),
        counter(3, longest),
        log(20, longest),
        concurrency(3, longest),
        ticket(longest),
    ]);
    for (seed, start) in (300..).zip([0, 0, Micros::MAX.get() - 20 * SECOND, Micros::MAX.get()]) {
        for keys in [3, 100] {
            let mut traffic = Traffic::of(seed, keys, quotas.clone());
            (traffic.now, traffic.jumps) = (start, seed % 2 == 0);
            let (exact, refused) = compare_under(traffic, 5_000, 200_000);
            assert!(exact > 5_000 && refused > 10, "{exact} {refused}");
        }
    }
}

#[test]
fn a_table_has_no_clock_of_its_own() {
    let table = table(10, 1 << 20, Overflow::Share);
    let quota = log(1, 1_000);
    let op = Op::take(RuleId::new(1), b"k", &quota, Cost::ONE);
    let mut answers = Answers::new();
    let plans = [Plan::one(&op); 2];
    assert!(matches!(
        table.submit(&plans, When::StoreClock, &mut answers),
        Submitted::Done
    ));
    assert_eq!(answers.len(), 2);
    assert!(answers.plan(1).0.is_err());
    answers.clear();
    assert!(matches!(
        table.submit(&plans, When::At(Micros::new(5)), &mut answers),
        Submitted::Done
    ));
    assert!(answers.plan(0).0.unwrap().allowed && !answers.plan(1).0.unwrap().allowed);
}
