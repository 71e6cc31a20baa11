//! What a table tells the one who keeps its states elsewhere.

use jeton_core::{Cell, Entry, Micros};

use crate::Place;

/// What stands at a place.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The small state.
    pub cell: Cell,
    /// Its entries.
    pub tail: &'a [Entry],
    /// The instant from which on it may vanish, which may be past.
    pub until: Micros,
    /// What the journal has marked it with; 0 if it has not been asked yet.
    pub mark: u8,
}

/// Hears of every change of a state before it happens, in the order in which the changes of one
/// state happen.
///
/// It is called while the state's region is locked: note the change and return, and do slow work
/// elsewhere, with [`Table::show`](crate::Table::show) for what the state is then. A state that
/// merely dies is not told, since its `until` tells that, and its mark dies with it; nor are the
/// estimates that keys without room share. A plan's changes are told one by one before
/// [`Table::decide`](crate::Table::decide) returns, and all its regions stay locked meanwhile.
///
/// The keys themselves are not told: [`Place::hash`] and [`Place::kind`] are all that
/// [`Table::restore`](crate::Table::restore) needs, under the same [`Seed`](crate::Seed). More bits
/// would buy nothing, as keys that share a hash share their state in the table already.
pub trait Journal {
    /// Whether there is anybody to hear.
    const HEARS: bool = true;

    /// The state at `place` is about to be written, or erased if there is one. What this returns, at
    /// most [`MAX_MARK`], is its mark from then on.
    fn changes(&mut self, place: Place, before: Option<Standing<'_>>) -> u8;
}

/// The largest mark.
pub const MAX_MARK: u8 = 3;

/// No journal.
impl Journal for () {
    const HEARS: bool = false;

    #[inline]
    fn changes(&mut self, _: Place, _: Option<Standing<'_>>) -> u8 {
        0
    }
}
