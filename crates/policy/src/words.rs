//! Rules in words, with the most that they can let through.

mod describe;
mod table;
mod worst;

pub use describe::RuleWords;
pub use table::PolicyTable;
pub use worst::worst_case;
