//! One event: a line of a trace, an entry of a batch, or the body of a call to the API.

mod read;
mod tagged;

use jeton::{Cost, Span};
use smallvec::SmallVec;

use super::fields::{Text, Texts};
use super::input::InputError;
use super::op::Op;
use super::request::Request;

/// What is asked for.
#[derive(Debug)]
pub struct Event<'a> {
    /// The instant it happens at, in microseconds since the Unix epoch; 0 outside of traces.
    pub at_us: u64,
    pub(super) ask: Ask<'a>,
}

/// What is asked for, of what.
#[derive(Debug)]
pub(super) enum Ask<'a> {
    /// [`Op::Take`], [`Op::Check`], [`Op::Refund`], [`Op::Reset`].
    Decide {
        op: Op,
        subject: Subject<'a>,
        /// Whether decisions come with receipts.
        receipts: bool,
    },
    Reserve {
        subject: Subject<'a>,
        ttl: Option<Span>,
        /// What a trace calls the reservation.
        handle: Option<Text<'a>>,
    },
    Extend {
        handle: Text<'a>,
        ttl: Option<Span>,
    },
    Commit {
        handle: Text<'a>,
        actual: Cost,
    },
    Cancel {
        handle: Text<'a>,
    },
    Block {
        of: Counters<'a>,
        lasting: Option<Span>,
    },
    Unblock(Counters<'a>),
    /// Reset without a rule.
    ResetEverywhere(Counters<'a>),
}

/// A key, in one rule or in every rule that has such keys.
#[derive(Debug)]
pub(super) struct Counters<'a> {
    pub(super) rule: Option<Text<'a>>,
    pub(super) key: Texts<'a>,
}

/// What is decided about.
#[derive(Debug)]
pub(super) enum Subject<'a> {
    /// `rule`, `key` and `cost` beside each other.
    One(Charge<'a>),
    /// `charges`.
    Several(Vec<Charge<'a>>),
    /// `request`: whatever it would be charged.
    Request(Box<Request<'a>>, Option<Cost>),
}

/// A charge that the event names.
#[derive(Debug)]
pub(super) struct Charge<'a> {
    pub(super) rule: Text<'a>,
    pub(super) key: Texts<'a>,
    pub(super) cost: Option<Cost>,
    pub(super) plan: Option<Text<'a>>,
    pub(super) receipt: Option<Text<'a>>,
}

impl<'a> Event<'a> {
    /// Reads a line of a trace.
    ///
    /// ```
    /// use jeton_server::engine::Event;
    /// let event = Event::from_trace(br#"{"at_us":1500000,"rule":"api","key":"alice"}"#).unwrap();
    /// assert_eq!(event.at_us, 1_500_000);
    /// let wrong = Event::from_trace(br#"{"at_us":0,"rule":"api","key":"alice","cost":-1}"#);
    /// assert_eq!(wrong.unwrap_err().field, "cost");
    /// ```
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_trace(json: &'a [u8]) -> Result<Self, InputError> {
        tagged::trace_line(json)
    }

    /// Reads an entry of a batch: a body that also says its op.
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_entry(json: &'a [u8]) -> Result<Self, InputError> {
        tagged::entry(json)
    }

    /// Reads the body of a call to the API that does `op`.
    ///
    /// # Errors
    /// [`InputError`] for anything but exactly one event, naming the member.
    pub fn from_body(json: &'a [u8], op: Op) -> Result<Self, InputError> {
        let ask = read::ask(json, op, &[])?;
        Ok(Self { at_us: 0, ask })
    }

    /// What a trace calls the reservation that this makes.
    pub fn reservation(&self) -> Option<&str> {
        match &self.ask {
            Ask::Reserve { handle, .. } => handle.as_ref().map(Text::as_str),
            _ => None,
        }
    }

    /// What is asked for.
    pub const fn op(&self) -> Op {
        match &self.ask {
            Ask::Decide { op, .. } => *op,
            Ask::Reserve { .. } => Op::Reserve,
            Ask::Extend { .. } => Op::Extend,
            Ask::Commit { .. } => Op::Commit,
            Ask::Cancel { .. } => Op::Cancel,
            Ask::Block { .. } => Op::Block,
            Ask::Unblock(_) => Op::Unblock,
            Ask::ResetEverywhere(_) => Op::Reset,
        }
    }
}

impl Charge<'_> {
    pub(super) fn parts(&self) -> SmallVec<[&str; 2]> {
        self.key.iter().collect()
    }
}

impl Counters<'_> {
    pub(super) fn parts(&self) -> SmallVec<[&str; 2]> {
        self.key.iter().collect()
    }
}

#[cfg(test)]
mod tests;
