//! What became of an event.

use jeton::policy::{Policy, StoreKind};
use jeton::{Answered, Handle, RuleDecision, Span, StoreErrorKind};

use crate::engine::input::InputError;

/// What became of an event.
#[derive(Debug)]
pub enum Outcome {
    /// It was decided about.
    Decided {
        /// The decision.
        answered: Answered,
        /// Whether receipts were asked for.
        receipts: bool,
    },
    /// It was decided about, and is to be settled.
    Reserved {
        /// The decision.
        answered: Answered,
        /// How long the handle is good for, if there is one.
        ttl: Span,
    },
    /// A reservation was settled or kept for longer.
    Settled {
        /// The decision.
        answered: Answered,
        /// Whether it had been settled before, so that nothing was done again.
        repeated: bool,
        /// How long its handle is good for from now on; none if it is over.
        ttl: Option<Span>,
    },
    /// There is no such reservation: never made, expired, or forgotten by its store.
    Unknown,
    /// A key was forgotten in several rules.
    Reset(Vec<Answered>),
    /// An operator's order was carried out.
    Ordered {
        /// The rules that it concerns. Of an order that was lifted: those that had one.
        rules: Vec<String>,
        /// Whose, a text for each part; a fingerprint where keys are secret.
        key: Vec<String>,
        /// For how long; none if until it is lifted.
        lasting: Option<Span>,
    },
}

impl Outcome {
    /// The decision, where there is one.
    pub const fn answered(&self) -> Option<&Answered> {
        match self {
            Self::Decided { answered, .. }
            | Self::Reserved { answered, .. }
            | Self::Settled { answered, .. } => Some(answered),
            Self::Unknown | Self::Reset(_) | Self::Ordered { .. } => None,
        }
    }

    /// Whether it may pass, or was carried out.
    pub(in crate::engine) const fn is_carried_out(&self) -> bool {
        match self {
            Self::Decided { answered, .. } | Self::Reserved { answered, .. } => answered.allowed(),
            Self::Settled { .. } | Self::Reset(_) | Self::Ordered { .. } => true,
            Self::Unknown => false,
        }
    }

    /// What each counter says.
    pub(in crate::engine) fn decisions(&self) -> impl Iterator<Item = RuleDecision<'_>> {
        let several: &[Answered] = match self {
            Self::Reset(answers) => answers,
            _ => &[],
        };
        let all = self.answered().into_iter().chain(several);
        all.flat_map(Answered::decisions)
    }

    pub(in crate::engine) const fn has_receipts(&self) -> bool {
        matches!(self, Self::Decided { receipts: true, .. })
    }

    pub(in crate::engine) const fn is_repeated(&self) -> bool {
        matches!(self, Self::Settled { repeated: true, .. })
    }

    /// The rules that an order concerns.
    pub(in crate::engine) fn rules(&self) -> Option<&[String]> {
        match self {
            Self::Ordered { rules, .. } => Some(rules),
            _ => None,
        }
    }

    /// The key that an order concerns, as it may be shown.
    pub(in crate::engine) fn key(&self) -> Option<&[String]> {
        match self {
            Self::Ordered { key, .. } => Some(key),
            _ => None,
        }
    }

    /// How long a handle is good for, or an order holds.
    pub(in crate::engine) fn lasting(&self) -> Option<Span> {
        match self {
            Self::Reserved { ttl, .. } => self.handle().map(|_| *ttl),
            Self::Settled { ttl, .. } => *ttl,
            Self::Ordered { lasting, .. } => *lasting,
            _ => None,
        }
    }

    /// The reservation that was made.
    pub fn handle(&self) -> Option<&Handle> {
        self.answered().and_then(Answered::handle)
    }
}

/// Why an event was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It cannot be.
    Input(InputError),
    /// The store gave no answer, or did not take it.
    Store {
        /// Why.
        why: StoreErrorKind,
        /// Whether it is a server, and not the memory of this process.
        is_server: bool,
    },
}

impl Failed {
    /// What the store of `policy` did not do.
    pub(crate) fn of_store(why: StoreErrorKind, policy: &Policy) -> Self {
        let is_server = matches!(policy.settings().store.kind, StoreKind::Redis(_));
        Self::Store { why, is_server }
    }
}

impl From<InputError> for Failed {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Store {
                why: StoreErrorKind::OutOfMemory,
                is_server,
            } => f.write_str(if *is_server {
                "the store is full; raise `maxmemory` of its server"
            } else {
                "the store is full; raise `max_memory`"
            }),
            Self::Store { .. } => f.write_str("the store gave no answer; try again"),
        }
    }
}

impl std::error::Error for Failed {}
