//! A store that is far away: a table that several gates share, behind a line that counts, takes time
//! and fails as it is told to.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{
    Answered, Answers, Clock, Cost, Decision, Disposition, Gate, Micros, NamedCharge, Note,
    NoteEdit, Pending, Plan, Settings, Store, StoreError, StoreErrorKind, Submitted, Table, Verb,
    When, Written,
};

pub(crate) const MS: u64 = 1_000;
pub(crate) const S: u64 = 1_000 * MS;
/// A whole hour, and so a whole second.
pub(crate) const START: u64 = 1_800_000_000 * S;

/// How the line fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Nothing gets through.
    Away,
    /// What is asked is done, and the answer is lost.
    Lost,
}

/// The line of one gate.
pub(crate) struct Far {
    table: Arc<Table>,
    clock: Clock,
    calls: AtomicUsize,
    plans: AtomicUsize,
    fault: Mutex<Fault>,
    there_us: AtomicU64,
    back_us: AtomicU64,
}

impl Far {
    /// How often it was called since this was last asked.
    pub(crate) fn calls(&self) -> usize {
        self.calls.swap(0, Relaxed)
    }

    /// How many plans it was asked about since this was last asked.
    pub(crate) fn plans(&self) -> usize {
        self.plans.swap(0, Relaxed)
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    /// How long it takes there and back.
    pub(crate) fn takes(&self, there_us: u64, back_us: u64) {
        self.there_us.store(there_us, Relaxed);
        self.back_us.store(back_us, Relaxed);
    }

    fn pass(&self, us: u64) {
        if us > 0 {
            self.clock.set(Micros::new(self.clock.now().get() + us));
        }
    }
}

impl Store for Far {
    fn submit(&self, plans: &[Plan<'_>], when: When, out: &mut Answers) -> Submitted {
        self.calls.fetch_add(1, Relaxed);
        self.plans.fetch_add(plans.len(), Relaxed);
        let fault = *self.fault.lock().unwrap();
        let there_us = self.there_us.load(Relaxed);
        self.pass(there_us);
        let when = match when {
            When::At(at) => When::At(Micros::new(at.get() + there_us)),
            when => when,
        };
        let (kind, written) = match fault {
            Fault::None => {
                let submitted = self.table.submit(plans, when, out);
                self.pass(self.back_us.load(Relaxed));
                return submitted;
            }
            Fault::Away => (StoreErrorKind::Unavailable, Written::No),
            Fault::Lost => {
                let _ = self.table.submit(plans, when, &mut Answers::new());
                (StoreErrorKind::Timeout, Written::Unknown)
            }
        };
        for _ in plans {
            out.push_failed(StoreError { kind, written });
        }
        Submitted::Done
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        self.table.note(edit, when)
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.table.notes(when)
    }
}

/// One process: a gate and its line.
pub(crate) struct Node {
    pub(crate) gate: Gate,
    pub(crate) far: Arc<Far>,
}

/// Processes on one table and one clock, and a gate that asks the table about everything.
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) nodes: Vec<Node>,
    pub(crate) plain: Gate,
}

pub(crate) fn policy(text: &str) -> Policy {
    match Policy::load(&Source::new("jeton.toml", text), &NoReferences) {
        Ok(loaded) => loaded.policy,
        Err(report) => panic!("{report}"),
    }
}

impl World {
    /// `thrift` are lines of `[store]`, `rules` is the rest of the file.
    pub(crate) fn new(nodes: usize, thrift: &str, rules: &str) -> Self {
        Self::on(Clock::fixed(Micros::new(START)), nodes, thrift, rules)
    }

    pub(crate) fn on(clock: Clock, nodes: usize, thrift: &str, rules: &str) -> Self {
        let table = Arc::new(Table::new(&Settings::default()).unwrap());
        let text = format!(
            "[store]\nkind = \"redis\"\nurl = \"redis://localhost\"\non_failure = \"deny\"\n{thrift}\n{rules}"
        );
        let node = |_| {
            let far = Arc::new(Far {
                table: Arc::clone(&table),
                clock: clock.clone(),
                calls: AtomicUsize::new(0),
                plans: AtomicUsize::new(0),
                fault: Mutex::new(Fault::None),
                there_us: AtomicU64::new(0),
                back_us: AtomicU64::new(0),
            });
            let gate = Gate::new(policy(&text), Arc::<Far>::clone(&far), clock.clone());
            Node { gate, far }
        };
        Self {
            nodes: (0..nodes).map(node).collect(),
            plain: Gate::new(policy(rules), Arc::<Table>::clone(&table), clock.clone()),
            clock,
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now().get()
    }

    pub(crate) fn pass(&self, us: u64) {
        self.clock.set(Micros::new(self.now() + us));
    }

    /// Units that the store counts as used of a key, if the limit is that.
    pub(crate) fn used(&self, rule: &str, key: &str) -> u64 {
        let seen = ask(&self.plain, Verb::Check, &[(rule, key, 0)]);
        let seen = one(&seen);
        u64::from(seen.limit - seen.remaining)
    }

    pub(crate) fn drain(&self) {
        for node in &self.nodes {
            futures_executor::block_on(node.gate.drain());
        }
    }

    pub(crate) fn look(&self) {
        for node in &self.nodes {
            futures_executor::block_on(node.gate.look());
        }
    }
}

/// Charges of one call: rule, key, cost.
pub(crate) fn ask(gate: &Gate, verb: Verb, charges: &[(&str, &str, u64)]) -> Answered {
    let keys: Vec<[&str; 1]> = charges.iter().map(|(_, key, _)| [*key]).collect();
    let charges: Vec<NamedCharge<'_>> = charges
        .iter()
        .zip(&keys)
        .map(|((rule, _, cost), key)| NamedCharge::new(rule, key).cost(Cost::new(*cost)))
        .collect();
    gate.charge(verb, &charges).unwrap().now().unwrap()
}

pub(crate) fn take(gate: &Gate, rule: &str, key: &str, cost: u64) -> Answered {
    ask(gate, Verb::Take, &[(rule, key, cost)])
}

pub(crate) fn check(gate: &Gate, rule: &str, key: &str, cost: u64) -> Answered {
    ask(gate, Verb::Check, &[(rule, key, cost)])
}

/// The decision for the only charge.
pub(crate) fn one(answered: &Answered) -> Decision {
    *answered
        .decisions()
        .next()
        .expect("it was decided")
        .decision
}

/// Whether a store decided, now or before, and what.
pub(crate) fn decided(answered: &Answered) -> Option<bool> {
    match answered.disposition() {
        Disposition::Decided(verdict) => Some(verdict.allowed),
        _ => None,
    }
}

pub(crate) fn is_full() -> bool {
    std::env::var_os("JETON_FULL").is_some_and(|it| it == "1")
}
