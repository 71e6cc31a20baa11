//! The door without sockets, on a clock that moves by hand: bytes in, bytes out.

mod commands;
mod golden;
mod hostile;
mod model;
mod transactions;

use std::sync::Arc;
use std::time::Instant;

use jeton::policy::{DoorLimits, NoReferences, Policy, Source};
use jeton::{BatchReply, Clock, Gate, Micros, Settings, Table};

use super::session::{House, Read, Session, Stopped, Turn};
use crate::doors::Doorkeeper;

const START_US: u64 = 1_800_000_000_000_000;

/// One client of a door.
struct Client {
    house: House,
    session: Session,
    turn: Turn,
}

impl Client {
    fn new(policy: &str) -> Self {
        let source = Source::new("jeton.toml", policy);
        let policy = Policy::load(&source, &NoReferences).unwrap().policy;
        let table = Arc::new(Table::new(&Settings::default()).unwrap());
        let clock = Clock::fixed(Micros::new(START_US));
        Self {
            house: House {
                gate: Gate::new(policy, table, clock),
                keeper: Doorkeeper::new("resp", DoorLimits::default()),
                started: Instant::now(),
                shelf: Arc::default(),
            },
            session: Session::new(1),
            turn: Turn::default(),
        }
    }

    fn at(&self, us: u64) {
        self.house.gate.clock().set(Micros::new(START_US + us));
    }

    /// Puts another policy into force.
    fn reload(&self, policy: &str) {
        let policy = Policy::load(&Source::new("jeton.toml", policy), &NoReferences);
        self.house.gate.swap(policy.unwrap().policy);
    }

    /// What becomes of these bytes, and what is answered.
    fn hear(&mut self, input: &[u8]) -> (Read, Vec<u8>) {
        self.turn.answers.clear();
        let read = self.session.read(input, &self.house, &mut self.turn);
        let decided = self.turn.batch.take().map(|batch| {
            let BatchReply::Now(decided) = batch.decide(usize::MAX) else {
                panic!("memory answers at once");
            };
            decided
        });
        let mut out = Vec::new();
        self.turn.answers.write(decided.as_ref(), &mut out);
        (read, out)
    }

    /// The answer to lines that are all read.
    fn say(&mut self, lines: &str) -> String {
        let (read, out) = self.hear(format!("{lines}\r\n").as_bytes());
        assert!(read.why != Stopped::Enough, "{lines}");
        String::from_utf8(out).unwrap()
    }

    /// The five numbers of an answer.
    fn five(&mut self, line: &str) -> [i64; 5] {
        five(&self.say(line))
    }
}

fn five(answer: &str) -> [i64; 5] {
    let rest = answer.strip_prefix("*5\r\n");
    let rest = rest.unwrap_or_else(|| panic!("no five numbers: {answer}"));
    let numbers: Vec<i64> = rest
        .split_terminator("\r\n")
        .map(|line| line.strip_prefix(':').unwrap().parse().unwrap())
        .collect();
    numbers.try_into().unwrap()
}

const DOOR: &str = "[resp]\nlisten = \"127.0.0.1:0\"\n";
