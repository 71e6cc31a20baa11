//! What a table tells the one who keeps its states elsewhere.

use jeton_core::{Micros, TailEdit, View};

use crate::Place;

/// Hears of every change of a state, in the order in which the changes of one state happen.
///
/// It is called while the state's region is locked: note the change and return, and do slow work
/// elsewhere. A state that merely dies is not told, since its `until` tells that; nor are the
/// estimates that keys without room share. A plan's changes are told one by one before
/// [`Table::decide`](crate::Table::decide) returns: a journal that must not be torn keeps them
/// together itself.
///
/// The keys themselves are not told: [`Place::hash`] and [`Place::kind`] are all that
/// [`Table::restore`](crate::Table::restore) needs, under the same [`Seed`](crate::Seed). More bits
/// would buy nothing, as keys that share a hash share their state in the table already.
pub trait Journal {
    /// A state was written: it is now `after`, and may vanish at `until`. `tail` is how its entries
    /// became those of `after`, for a journal that keeps differences.
    fn wrote(&mut self, place: Place, after: View<'_>, until: Micros, tail: &TailEdit);

    /// A state was erased; there may have been none.
    fn erased(&mut self, place: Place);
}

/// No journal.
impl Journal for () {
    #[inline]
    fn wrote(&mut self, _: Place, _: View<'_>, _: Micros, _: &TailEdit) {}

    #[inline]
    fn erased(&mut self, _: Place) {}
}
