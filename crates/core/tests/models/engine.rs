//! The engine as a subject of comparison.

use std::collections::HashMap;

use jeton_core::codec::{Stored, decode, encode};
use jeton_core::{Edit, Fit, Micros, Receipt, View};
use jeton_testkit::laws::{act_of, quota_of, told_of};
use jeton_testkit::trace::{Ask, Event, Memory, Subject, Told};

/// One state decided by the engine, kept as the bytes a store would keep.
pub(crate) struct Engine {
    bytes: Option<Vec<u8>>,
    receipts: HashMap<usize, Receipt>,
    /// Whether a state is forgotten as soon as it may be, or kept as long as possible.
    forgetful: bool,
}

impl Engine {
    pub(crate) fn new(forgetful: bool) -> Self {
        Self {
            bytes: None,
            receipts: HashMap::new(),
            forgetful,
        }
    }

    fn stored(&self) -> Option<Stored> {
        self.bytes.as_ref().map(|bytes| decode(bytes).unwrap())
    }
}

impl Subject for Engine {
    fn memory(&mut self, event: &Event) -> Memory {
        let over = |stored: Stored| stored.until <= Micros::new(event.now_us);
        if self.forgetful && self.stored().is_some_and(over) {
            self.bytes = None;
            return Memory::Forgotten;
        }
        Memory::Kept
    }

    fn answer(&mut self, event: &Event) -> Told {
        let quota = quota_of(&event.quota);
        let act = act_of(&event.ask, |of| self.receipts[&of]);
        let mut tail = self.stored().map_or_else(Vec::new, |stored| stored.tail);
        let cell = self.stored().map(|stored| stored.cell);
        let view = View { cell, tail: &tail };
        let outcome = quota.decide(view, &act, Micros::new(event.now_us));
        match outcome.edit {
            Edit::Keep => {}
            Edit::Erase => self.bytes = None,
            Edit::Put {
                cell,
                until,
                tail: edit,
            } => {
                edit.apply(&mut tail);
                let mut bytes = Vec::new();
                encode(quota.kind(), until, &cell, &tail, &mut bytes);
                self.bytes = Some(bytes);
            }
        }
        let decision = outcome.decision;
        let charging = matches!(event.ask, Ask::Take { .. } | Ask::Hold { .. });
        if charging && decision.fit == Fit::Allowed {
            self.receipts.insert(event.number, decision.receipt);
        }
        let until_us = self.stored().map(|stored| stored.until.get());
        Told {
            until_us,
            ..told_of(&event.ask, &decision)
        }
    }
}
