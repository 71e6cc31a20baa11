//! `MULTI` … `EXEC`: commands that are kept until all of them have come, and are then decided as one batch.
//!
//! Clients wrap pipelines so of their own accord. What it promises here: nothing is charged before `EXEC`,
//! and nothing at all if one of the commands was a mistake. Each is still decided by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jeton::policy::Policy;
use smallvec::SmallVec;

use super::super::commands::{Entry, Name};
use super::super::protocol::Arguments;
use super::{House, Session, Turn};

/// The most commands of one transaction.
const MOST_COMMANDS: usize = 1_000;
/// The most bytes of one.
const MOST_BYTES: usize = 256 << 10;
/// The most bytes of all that are open at the door.
const MOST_IN_ALL: usize = 64 << 20;

/// Room for the commands of all open transactions.
#[derive(Debug, Default)]
pub(in crate::resp) struct Shelf(AtomicUsize);

impl Shelf {
    fn take(&self, bytes: usize) -> bool {
        let before = self.0.fetch_add(bytes, Relaxed);
        let fits = before.saturating_add(bytes) <= MOST_IN_ALL;
        if !fits {
            self.0.fetch_sub(bytes, Relaxed);
        }
        fits
    }
}

/// Commands that wait for `EXEC`.
#[derive(Debug)]
pub(super) struct Transaction {
    /// One behind the other: how many arguments, and each behind its length.
    bytes: Vec<u8>,
    count: usize,
    /// One of them was a mistake.
    is_spoiled: bool,
    shelf: Arc<Shelf>,
    /// What was taken of the shelf.
    taken: usize,
}

impl Transaction {
    fn new(shelf: &Arc<Shelf>) -> Self {
        Self {
            bytes: Vec::new(),
            count: 0,
            is_spoiled: false,
            shelf: Arc::clone(shelf),
            taken: 0,
        }
    }

    /// Whether there was room.
    fn keep(&mut self, command: &[&[u8]]) -> bool {
        let length = |text: &&[u8]| LENGTH_BYTES + text.len();
        let bytes = LENGTH_BYTES + command.iter().map(length).sum::<usize>();
        let fits = self.count < MOST_COMMANDS && self.bytes.len() + bytes <= MOST_BYTES;
        if !fits || !self.shelf.take(bytes) {
            return false;
        }
        self.taken += bytes;
        self.count += 1;
        push_length(command.len(), &mut self.bytes);
        for argument in command {
            push_length(argument.len(), &mut self.bytes);
            self.bytes.extend_from_slice(argument);
        }
        true
    }

    fn commands(&self) -> Commands<'_> {
        Commands(&self.bytes)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.shelf.0.fetch_sub(self.taken, Relaxed);
    }
}

const LENGTH_BYTES: usize = size_of::<u32>();

/// Commands are far shorter than that.
fn push_length(length: usize, bytes: &mut Vec<u8>) {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
}

struct Commands<'a>(&'a [u8]);

impl<'a> Commands<'a> {
    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    fn argument(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (argument, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(argument)
    }
}

impl<'a> Iterator for Commands<'a> {
    type Item = Arguments<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let arguments = self.length()?;
        let arguments: SmallVec<_> = (0..arguments).map_while(|_| self.argument()).collect();
        Some(arguments)
    }
}

impl Session {
    /// `MULTI`.
    pub(super) fn open(&mut self, house: &House, turn: &mut Turn) {
        if self.transaction.is_some() {
            return self.say(turn, |out| {
                out.error("ERR", "MULTI calls can not be nested");
            });
        }
        self.transaction = Some(Box::new(Transaction::new(&house.shelf)));
        self.say(turn, |out| out.simple("OK"));
    }

    /// `DISCARD`.
    pub(super) fn discard(&mut self, turn: &mut Turn) {
        let was_open = self.transaction.take().is_some();
        self.say(turn, |out| {
            if was_open {
                out.simple("OK");
            } else {
                out.error("ERR", "DISCARD without MULTI");
            }
        });
    }

    /// `EXEC`.
    pub(super) fn execute(&mut self, house: &House, policy: &Policy, turn: &mut Turn) {
        match self.transaction.take() {
            None => self.say(turn, |out| out.error("ERR", "EXEC without MULTI")),
            Some(kept) if kept.is_spoiled => self.say(turn, |out| {
                out.error(
                    "EXECABORT",
                    "Transaction discarded because of previous errors.",
                );
            }),
            Some(kept) => {
                self.say(turn, |out| out.array(kept.count));
                for command in kept.commands() {
                    self.carry_out(&command, house, policy, turn);
                }
            }
        }
    }

    /// Keeps a command for `EXEC`, if it may stand in a transaction: only what is decided, and what
    /// answers no more than was asked, so that the answers are bounded too.
    pub(super) fn keep(&mut self, entry: &Entry, command: &[&[u8]], turn: &mut Turn) {
        let may_stand = entry.charges() || matches!(entry.name, Name::Ping | Name::Echo);
        let keep = |open: &mut Box<Transaction>| open.keep(command);
        let refused = if !may_stand {
            format!("'{}' is not allowed in a transaction", entry.word)
        } else if self.transaction.as_mut().is_some_and(keep) {
            return self.say(turn, |out| out.simple("QUEUED"));
        } else {
            let kib = MOST_BYTES >> 10;
            format!(
                "this transaction is too long: it may have {MOST_COMMANDS} commands and {kib} KiB"
            )
        };
        self.spoil();
        self.say(turn, |out| out.error("ERR", refused));
    }

    /// A mistake: if a transaction is open, nothing of it will be done.
    pub(super) fn spoil(&mut self) {
        if let Some(open) = &mut self.transaction {
            open.is_spoiled = true;
        }
    }
}
