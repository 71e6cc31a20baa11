//! The store beside the engine: every step is asked of both, and afterwards the answer, the state at
//! the key and the time it has left must be the same.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jeton_core::codec::Stored;
use jeton_core::{
    Act, Answers, Cell, Cells, Cost, Decision, Edit, Kind, Micros, Op, Plan, Verdict, View, When,
    decide_all,
};
use jeton_redis::{RedisStore, state};
use jeton_testkit::redis_server::Server;

use crate::server::{open, settings, submit};

/// Under a virtual clock a key stays for a minute at least.
const LEAST_MS: i64 = 60_000;
/// How long ago a key can have been written, at the most.
const GRACE: Duration = Duration::from_secs(30);

/// A store on a server, with a prefix that nobody else has.
pub(crate) fn store(server: &Server) -> RedisStore {
    open(&settings(server.url()))
}

pub(crate) struct Mirror {
    pub(crate) store: RedisStore,
    client: redis::Connection,
    states: HashMap<Vec<u8>, State>,
}

struct State {
    stored: Stored,
    /// When it was written, by the virtual clock and by the real one.
    now_us: u64,
    written: Instant,
}

impl State {
    fn is_over(&self, now_us: u64) -> bool {
        self.stored.until.get() <= now_us
    }
}

impl Mirror {
    pub(crate) fn new(server: &Server) -> Self {
        let (store, client) = (store(server), server.client());
        Self {
            store,
            client,
            states: HashMap::new(),
        }
    }

    /// Whether a state stands that is over.
    pub(crate) fn is_any_over(&self, now_us: u64) -> bool {
        self.states.values().any(|state| state.is_over(now_us))
    }

    /// One plan; what both answer.
    pub(crate) fn plan(&mut self, ops: &[Op<'_>], now_us: u64) -> (Verdict, Vec<Decision>) {
        let plan = Plan::new(ops).unwrap();
        let asked = Instant::now();
        let by_store = submit(&self.store, &[plan], When::At(Micros::new(now_us)));
        let (verdict, decisions) = by_store.plan(0);
        let verdict = verdict.unwrap_or_else(|error| panic!("{error} at {now_us}: {ops:?}"));

        let keys: Vec<Vec<u8>> = ops.iter().map(|op| self.store.key_of(op)).collect();
        let kinds: Vec<Kind> = ops.iter().map(|op| op.quota.kind()).collect();
        let mut cells = Mirrored {
            states: &mut self.states,
            keys: &keys,
            kinds,
            now_us,
            asked,
        };
        let mut by_engine = Answers::new();
        decide_all(plan, &mut cells, Micros::new(now_us), &mut by_engine);
        let (expected, expected_decisions) = by_engine.plan(0);
        assert_eq!(verdict, expected.unwrap(), "at {now_us}: {ops:?}");
        assert_eq!(decisions, expected_decisions, "at {now_us}: {ops:?}");
        // What is over and would have been replaced is let go of.
        let passed = decisions.iter().map(|decision| decision.fit.passes());
        for ((key, op), passed) in keys.iter().zip(ops).zip(passed) {
            let is_over = self.states.get(key).is_some_and(|it| it.is_over(now_us));
            if is_over && passed && !verdict.allowed && opens(op) {
                self.states.remove(key);
            }
        }
        for (key, op) in keys.iter().zip(ops) {
            self.compare(key, op, now_us);
        }
        (verdict, decisions.to_vec())
    }

    pub(crate) fn op(&mut self, op: &Op<'_>, now_us: u64) -> Decision {
        self.plan(&[*op], now_us).1[0]
    }

    /// The state that stands at a key is the engine's, to the last digit, and lives long enough and not
    /// for ever.
    fn compare(&mut self, key: &[u8], op: &Op<'_>, now_us: u64) {
        let mut ask = redis::pipe();
        let (bytes, left_ms): (Option<Vec<u8>>, i64) =
            ask.get(key).pttl(key).query(&mut self.client).unwrap();
        let stored = bytes.map(|bytes| state::decode(&bytes).unwrap());
        let expected = self.states.get(key);
        let place = || format!("at {now_us} after {op:?}");
        assert_eq!(
            stored.as_ref(),
            expected.map(|state| &state.stored),
            "{}",
            place()
        );
        if let Some(state) = expected {
            let remaining_us = state.stored.until.get().saturating_sub(state.now_us);
            let life_ms = LEAST_MS.max(i64::try_from(remaining_us.div_ceil(1000)).unwrap());
            let elapsed = state.written.elapsed() + Duration::from_millis(2);
            assert!(elapsed < GRACE, "a step takes no time");
            let least_ms = life_ms - i64::try_from(elapsed.as_millis()).unwrap();
            assert!(
                (least_ms..=life_ms).contains(&left_ms),
                "{left_ms}, not {life_ms} ms {}",
                place()
            );
        }
    }
}

/// Whether an op writes where there was no state.
fn opens(op: &Op<'_>) -> bool {
    match op.act {
        Act::Take { cost } | Act::Hold { cost } => cost != Cost::ZERO,
        Act::Settle {
            receipt, actual, ..
        } => actual.get() > receipt.cost && !op.quota.kind().is_held(),
        _ => false,
    }
}

struct Mirrored<'a> {
    states: &'a mut HashMap<Vec<u8>, State>,
    keys: &'a [Vec<u8>],
    kinds: Vec<Kind>,
    now_us: u64,
    asked: Instant,
}

impl Cells for Mirrored<'_> {
    fn view(&self, op: usize) -> View<'_> {
        self.states
            .get(&self.keys[op])
            .filter(|state| !state.is_over(self.now_us))
            .map_or(View::ABSENT, |state| View {
                cell: Some(state.stored.cell),
                tail: &state.stored.tail,
            })
    }

    fn apply(&mut self, op: usize, edit: Edit) {
        let key = &self.keys[op];
        match edit {
            Edit::Keep => {}
            Edit::Erase => drop(self.states.remove(key)),
            Edit::Put { cell, until, tail } => {
                let old = self.states.remove(key);
                let old = old.filter(|state| !state.is_over(self.now_us));
                let mut entries = old.map_or_else(Vec::new, |state| state.stored.tail);
                tail.apply(&mut entries);
                let cell: Cell = cell;
                let stored = Stored {
                    kind: self.kinds[op],
                    until,
                    cell,
                    tail: entries,
                };
                let state = State {
                    stored,
                    now_us: self.now_us,
                    written: self.asked,
                };
                self.states.insert(key.clone(), state);
            }
        }
    }
}
