//! One client: what it has said of itself, and what becomes of its commands. No sockets.

mod about;
mod charge;
mod client;
mod hello;
mod standing;
mod transaction;

use std::sync::Arc;
use std::time::Instant;

use jeton::policy::{Policy, Secret};
use jeton::{Batch, BatchMemory, Gate};

use super::commands::{self, Entry, Name};
use super::protocol::{Arguments, Found, Version, Writer, read};
use super::throttle::Latest;
use super::turn::Answers;
use crate::doors::{Caller, Doorkeeper};
use client::ClientName;
use standing::{Needs, Refused, Standing};
pub(super) use transaction::Shelf;
use transaction::Transaction;

/// Commands are read until their answers are about so long; the others wait until those are sent.
const MOST_ANSWERS: usize = 16 << 10;

/// What all clients of the door share.
#[derive(Debug)]
pub(super) struct House {
    pub(super) gate: Gate,
    pub(super) keeper: Arc<Doorkeeper>,
    pub(super) started: Instant,
    pub(super) shelf: Arc<Shelf>,
}

/// One client.
#[derive(Debug)]
pub(super) struct Session {
    id: u64,
    version: Version,
    /// The token it has shown, which was known then.
    shown: Option<Secret>,
    /// Who it is by that.
    caller: Caller,
    name: ClientName,
    latest: Latest,
    transaction: Option<Box<Transaction>>,
}

/// Commands that were read together.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) answers: Answers,
    /// What has to be decided for the answers.
    pub(super) batch: Option<Batch>,
    pub(super) memory: BatchMemory,
}

impl Turn {
    /// The batch of these commands: one reading of the clock, and one call to the store, for all.
    #[inline]
    fn batch(&mut self, house: &House) -> &mut Batch {
        let memory = &mut self.memory;
        let begin = || house.gate.batch(std::mem::take(memory));
        self.batch.get_or_insert_with(begin)
    }
}

/// How far the reading of commands got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// So many bytes were commands.
    pub(super) taken: usize,
    pub(super) why: Stopped,
}

/// Why it got no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// What is left is part of a command, or nothing.
    NoMore,
    /// The answers so far are enough to send.
    Enough,
    /// The client has said farewell, or what nobody can read on from.
    End,
}

impl Session {
    pub(super) fn new(id: u64) -> Self {
        Self {
            id,
            version: Version::default(),
            shown: None,
            caller: Caller::Nobody,
            name: ClientName::default(),
            latest: Latest::default(),
            transaction: None,
        }
    }

    /// Carries out the commands that `input` begins with, as far as it can without decisions.
    pub(super) fn read(&mut self, input: &[u8], house: &House, turn: &mut Turn) -> Read {
        let policy = house.gate.policy();
        self.caller = standing::still(self.shown.as_ref(), &policy);
        let mut arguments = Arguments::new();
        let mut taken = 0;
        loop {
            let rest = input.get(taken..).unwrap_or_default();
            let why = match read(rest, &mut arguments) {
                Ok(Found::Command(length)) => {
                    taken += length;
                    let is_over = self.carry_out(&arguments, house, &policy, turn);
                    match is_over {
                        true => Stopped::End,
                        false if turn.answers.len() >= MOST_ANSWERS => Stopped::Enough,
                        false => continue,
                    }
                }
                Ok(Found::Part) => Stopped::NoMore,
                Err(mistake) => {
                    turn.answers
                        .say(self.version, |out| out.error("ERR", mistake));
                    Stopped::End
                }
            };
            return Read { taken, why };
        }
    }

    /// Whether the client leaves.
    #[inline]
    fn carry_out(
        &mut self,
        command: &[&[u8]],
        house: &House,
        policy: &Policy,
        turn: &mut Turn,
    ) -> bool {
        let Some((word, arguments)) = command.split_first() else {
            return false;
        };
        let standing = Standing::of(policy, self.caller);
        let entry = match vet(word, arguments, standing) {
            Ok(entry) => entry,
            Err(mistake) => {
                self.spoil();
                self.say(turn, |out| mistake.write(out));
                return false;
            }
        };
        if self.transaction.is_some() && !entry.is_never_kept() {
            self.keep(entry, command, turn);
            return false;
        }
        match entry.name {
            Name::ClThrottle
            | Name::Throttle
            | Name::Take
            | Name::Check
            | Name::Refund
            | Name::Reset => self.charge(entry, arguments, house, turn),
            Name::Multi => self.open(house, turn),
            Name::Exec => self.execute(house, policy, turn),
            Name::Discard => self.discard(turn),
            Name::Quit => {
                self.say(turn, |out| out.simple("OK"));
                return true;
            }
            Name::Hello => self.hello(arguments, standing, policy, turn),
            Name::Auth => self.auth(arguments, policy, turn),
            Name::Client => self.client(arguments, turn),
            Name::Command => self.say(turn, |out| commands::tell(arguments, out)),
            Name::Info => self.say(turn, |out| about::info(house, out)),
            Name::Ping => self.say(turn, |out| match arguments.first() {
                None => out.simple("PONG"),
                Some(message) => out.bulk(message),
            }),
            Name::Echo => self.say(turn, |out| {
                out.bulk(arguments.first().copied().unwrap_or_default());
            }),
            Name::Select => self.say(turn, |out| match arguments {
                [b"0"] => out.simple("OK"),
                _ => out.error("ERR", "DB index is out of range: there is one database, 0"),
            }),
        }
        false
    }

    fn say(&self, turn: &mut Turn, what: impl FnOnce(&mut Writer<'_>)) {
        turn.answers.say(self.version, what);
    }
}

/// Why a command is not carried out.
enum Mistake<'a> {
    Unknown(&'a [u8]),
    Refused(Refused),
    WrongNumber(&'static Entry),
}

/// The command of that name, if its client may call it so.
#[inline]
fn vet<'a>(
    word: &'a [u8],
    arguments: &[&[u8]],
    standing: Standing,
) -> Result<&'static Entry, Mistake<'a>> {
    let entry = commands::named(word).ok_or(Mistake::Unknown(word))?;
    standing.may(needs(entry.name)).map_err(Mistake::Refused)?;
    if arguments.len() < entry.least || arguments.len() > entry.most {
        return Err(Mistake::WrongNumber(entry));
    }
    Ok(entry)
}

impl Mistake<'_> {
    #[cold]
    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Unknown(word) => about::unknown(word, out),
            Self::Refused(refused) => refused.write(out),
            Self::WrongNumber(Entry { word, usage, .. }) => {
                let what =
                    format!("wrong number of arguments for '{word}' command: {word} {usage}");
                out.error("ERR", what);
            }
        }
    }
}

const fn needs(name: Name) -> Needs {
    match name {
        Name::Hello | Name::Auth | Name::Quit => Needs::Nothing,
        Name::Reset => Needs::Operator,
        _ => Needs::User,
    }
}
