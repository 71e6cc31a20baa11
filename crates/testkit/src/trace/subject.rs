//! What is compared with the models, and what it says.

use super::Event;
use crate::model::Verdict;

/// What a subject answered; the fields are those of [`Answer`](crate::model::Answer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The answer to the act itself.
    pub verdict: Verdict,
    /// The limit it was judged by.
    pub limit: u64,
    /// The largest cost that would be allowed now, after the act.
    pub remaining: u64,
    /// Time until the reset instant.
    pub reset_us: u64,
    /// Time until something comes back, where the subject tells it.
    pub next_us: Option<u64>,
    /// The instant at which the state it now has may be forgotten, where the subject tells it.
    pub until_us: Option<u64>,
}

/// Whether a subject still has its state; it may forget one that is fresh again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It has.
    Kept,
    /// It has not.
    Forgotten,
    /// It does not say: both are tried.
    Unknown,
}

/// Something that decides, with one key's state in it: the engine, or a store.
pub trait Subject {
    /// Does what the event asks. The subject keeps the receipts of its own takes and holds by
    /// [`Event::number`]; a settle only ever names one that it allowed.
    fn answer(&mut self, event: &Event) -> Told;

    /// Whether the subject still has its state at the time of this event. Asked before
    /// [`Subject::answer`].
    fn memory(&mut self, _event: &Event) -> Memory {
        Memory::Kept
    }
}
