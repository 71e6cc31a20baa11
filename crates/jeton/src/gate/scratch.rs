//! Memory that decisions reuse, one per thread, so that they allocate nothing.

use std::cell::Cell;

use jeton_core::Answers;
use jeton_policy::{Buffers, Rulings};

#[derive(Default)]
pub(super) struct Scratch {
    pub(super) buffers: Buffers,
    pub(super) answers: Answers,
    pub(super) rulings: Rulings,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

pub(super) fn with_scratch<R>(body: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let result = body(&mut scratch);
    SCRATCH.set(Some(scratch));
    result
}
