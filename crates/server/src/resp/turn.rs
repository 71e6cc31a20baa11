//! Answers in the order of their commands: those that are known at once, and between them those that are
//! going to be decided together.

use jeton::Decided;

use super::answer::{self, Form};
use super::protocol::{Version, Writer};

/// The answers to commands that came in a row.
#[derive(Debug, Default)]
pub(super) struct Answers {
    order: Vec<Slot>,
    /// What is known at once.
    text: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    /// The text up to here.
    Text(usize),
    /// The next decision.
    Decision(Form),
}

/// About as long is a decision that is written.
const DECISION_BYTES: usize = 40;

impl Answers {
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.text.clear();
    }

    /// How much they are going to be, about.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.order.len() * DECISION_BYTES
    }

    /// An answer that is known.
    pub(super) fn say(&mut self, version: Version, what: impl FnOnce(&mut Writer<'_>)) {
        what(&mut Writer::new(&mut self.text, version));
        let end = self.text.len();
        match self.order.last_mut() {
            Some(Slot::Text(before)) => *before = end,
            _ => self.order.push(Slot::Text(end)),
        }
    }

    /// An answer that the next decision will be.
    #[inline]
    pub(super) fn decision(&mut self, form: Form) {
        self.order.push(Slot::Decision(form));
    }

    /// Appends all to `out`; `decided` holds as many decisions as there are to be.
    pub(super) fn write(&self, decided: Option<&Decided>, out: &mut Vec<u8>) {
        let mut decisions = decided.into_iter().flat_map(Decided::answers);
        let mut from = 0;
        for slot in &self.order {
            match *slot {
                Slot::Text(to) => {
                    out.extend_from_slice(self.text.get(from..to).unwrap_or_default());
                    from = to;
                }
                Slot::Decision(form) => {
                    // Answers to decisions are the same in both versions.
                    let mut writer = Writer::new(out, Version::Two);
                    match decisions.next() {
                        Some(answer) => answer::write(form, &answer, &mut writer),
                        None => writer.error("ERR", "there is no decision: a fault of this server"),
                    }
                }
            }
        }
    }
}
