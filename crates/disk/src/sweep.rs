//! What is over leaves the disk a little at a time.
//!
//! The table forgets a state when it is over and tells nobody. So a hand goes round the states on
//! disk, and what is written pays for the way: twice as many as were written, or more if there was
//! time. What has gathered by the time the hand is round is then at most as much again as
//! what is alive.

use std::time::{Duration, Instant};

use jeton_core::{Kind, Micros};
use redb::ReadableTable;

use crate::batch::Key;
use crate::format::until;

/// The most that a state takes up on disk while keys come and go, in bytes; one with more than 64
/// entries takes up 40 bytes for each of them besides.
pub const BYTES_PER_KEY: u64 = 300;
/// What the folder may take up besides, in bytes.
pub const BYTES_AT_LEAST: u64 = 4 << 20;

/// What is looked at besides, at least; and with every second that has passed.
const LEAST: usize = 64;
const PER_SECOND: usize = 10_000;
/// When so many states have been written, or so much time has passed, it goes on.
const OWED: usize = 512;
const REST: Duration = Duration::from_secs(1);

/// Where the hand stands.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    next: (u64, u8),
    round: bool,
    /// How many states have been written since it moved.
    owed: usize,
    moved: Option<Instant>,
}

impl Hand {
    /// So many states have been written.
    pub(crate) fn owe(&mut self, states: usize) {
        self.owed = self.owed.saturating_add(states);
    }

    /// Whether it is to go on.
    pub(crate) fn is_due(&self) -> bool {
        let rested = |moved: Instant| moved.elapsed() >= REST;
        self.owed >= OWED || self.moved.is_none_or(rested)
    }

    /// How many states are looked at now.
    fn pace(&self) -> usize {
        let passed = self.moved.map_or(Duration::ZERO, |moved| moved.elapsed());
        let passed = usize::try_from(passed.as_millis()).unwrap_or(usize::MAX);
        let in_time = passed.min(1_000) * PER_SECOND / 1_000;
        let owed = self.owed.saturating_mul(2);
        owed.saturating_add(LEAST).max(in_time)
    }

    /// Whether the last stretch ended a round.
    pub(crate) fn is_round(&self) -> bool {
        self.round
    }

    /// Goes on; which of the states it has passed are over at `now`.
    pub(crate) fn find(
        &mut self,
        states: &impl ReadableTable<(u64, u8), &'static [u8]>,
        now: Micros,
    ) -> Result<Vec<Key>, redb::Error> {
        let most = self.pace();
        (self.moved, self.owed) = (Some(Instant::now()), 0);
        let mut over = Vec::new();
        self.walk(states, most, |key, until| {
            if until <= now.get() {
                over.push(key);
            }
            true
        })?;
        Ok(over)
    }

    /// Goes on to the next state that is over at `now`, if it is not far.
    pub(crate) fn skip_to_over(
        &mut self,
        states: &impl ReadableTable<(u64, u8), &'static [u8]>,
        now: Micros,
    ) -> Result<bool, redb::Error> {
        let mut found = false;
        self.walk(states, PER_SECOND, |_, until| {
            found = until <= now.get();
            !found
        })?;
        Ok(found)
    }

    /// Shows `each` the next states; it says whether to go on.
    fn walk(
        &mut self,
        states: &impl ReadableTable<(u64, u8), &'static [u8]>,
        most: usize,
        mut each: impl FnMut(Key, u64) -> bool,
    ) -> Result<(), redb::Error> {
        self.round = false;
        let mut rows = states.range(self.next..)?;
        for _ in 0..most {
            let Some(row) = rows.next() else {
                (self.next, self.round) = ((0, 0), true);
                return Ok(());
            };
            let (id, bytes) = row?;
            let (hash, kind) = id.value();
            self.next = (hash, kind);
            let known = Kind::from_number(kind).zip(until(bytes.value()));
            if let Some((kind, until)) = known
                && !each(Key { hash, kind }, until)
            {
                return Ok(());
            }
            self.next = after(hash, kind);
        }
        Ok(())
    }
}

fn after(hash: u64, kind: u8) -> (u64, u8) {
    match kind.checked_add(1) {
        Some(kind) => (hash, kind),
        None => (hash.saturating_add(1), 0),
    }
}

/// What is kept, and what it takes up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) states: u64,
    /// Of entries that are kept apart from their states.
    pub(crate) parts_bytes: u64,
    pub(crate) file_bytes: u64,
}

impl Space {
    /// Whether most of it is not needed.
    pub(crate) fn is_slack(&self) -> bool {
        let needed = self.states * BYTES_PER_KEY / 2 + self.parts_bytes * 2;
        self.file_bytes > BYTES_AT_LEAST + needed
    }
}
