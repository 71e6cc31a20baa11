//! What doors have in common: who may come in, and how much is decided at once.

mod keeper;
mod tokens;

pub(crate) use keeper::{Asking, Doorkeeper, Guest};
pub(crate) use tokens::{Caller, Known};
