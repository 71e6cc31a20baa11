//! What doors have in common: who may come in, and how much is decided at once.

mod keeper;
mod tokens;

pub(crate) use jeton::Asking;
pub(crate) use keeper::{Doorkeeper, Guest};
pub(crate) use tokens::{Caller, Known};
