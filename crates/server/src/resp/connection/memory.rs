//! Memory that the clients of a thread use in turn.

use std::cell::Cell;

use super::super::protocol::MAX_COMMAND;
use super::super::session::Turn;

/// The head of an argument that will be refused has to fit behind the longest command.
pub(super) const INPUT_BYTES: usize = MAX_COMMAND + 64;

/// What one turn works on.
pub(super) struct Memory {
    pub(super) input: Box<[u8]>,
    /// How much of it has come.
    pub(super) filled: usize,
    pub(super) turn: Turn,
    pub(super) out: Vec<u8>,
}

thread_local! {
    static MEMORY: Cell<Option<Box<Memory>>> = const { Cell::new(None) };
}

/// Lends `body` the memory of this thread.
pub(super) fn with_memory<R>(body: impl FnOnce(&mut Memory) -> R) -> R {
    let mut memory = MEMORY.take().unwrap_or_else(|| {
        Box::new(Memory {
            input: vec![0; INPUT_BYTES].into(),
            filled: 0,
            turn: Turn::default(),
            out: Vec::new(),
        })
    });
    let result = body(&mut memory);
    MEMORY.set(Some(memory));
    result
}
