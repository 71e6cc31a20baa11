//! A store against the slow exact models, on awkward random traffic, with other keys around.

use std::collections::HashMap;

use jeton_core::{Quota, Receipt};

use super::desk::{DAY, Desk, Key, SECOND, kinds};
use super::translate::{act_of, quota_of, told_of};
use super::{Make, full_size, repeats};
use crate::trace::{Ask, Event, Family, Memory, Subject, Told, compare};

/// Every act on one key is answered as the model of its algorithm answers it: decision, remaining,
/// reset and wait, over backward clocks, changed quotas, refunds, settles and debt.
pub fn the_store_equals_the_models(make: Make<'_>) {
    let traces = repeats(make, 150, 2500);
    let steps = if full_size() { 200 } else { 60 };
    for family in Family::ALL.into_iter().chain(Family::HELD) {
        let subject = || OneKey {
            desk: Desk::with_keys(make, 1000),
            receipts: HashMap::new(),
            around: [kinds(3, SECOND), kinds(1000, DAY)],
        };
        if let Err(difference) = compare(family, 0..traces, steps, subject) {
            panic!("{difference}");
        }
    }
}

/// One key of a store as a subject, among others that come and go.
struct OneKey {
    desk: Desk,
    receipts: HashMap<usize, Receipt>,
    around: [[Quota; 5]; 2],
}

impl OneKey {
    fn disturb(&self, desk: &Desk, number: usize) {
        let quotas = &self.around[number % 2];
        let name = (number % 40).to_be_bytes();
        desk.take(&Key::new(2, &name, &quotas[number % quotas.len()]), 1);
    }
}

impl Subject for OneKey {
    fn memory(&mut self, _event: &Event) -> Memory {
        Memory::Unknown
    }

    fn answer(&mut self, event: &Event) -> Told {
        let desk = self.desk.at(event.now_us);
        self.disturb(&desk, event.number);
        let act = act_of(&event.ask, |of| self.receipts[&of]);
        let quota = quota_of(&event.quota);
        let decision = desk.act(&Key::new(1, b"key", &quota), act);
        assert!(!decision.approximate, "a store with room counts every key");
        let charging = matches!(event.ask, Ask::Take { .. } | Ask::Hold { .. });
        if charging && decision.fit.passes() {
            self.receipts.insert(event.number, decision.receipt);
        }
        told_of(&event.ask, &decision)
    }
}
