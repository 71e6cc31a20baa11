//! Rules in words, with the most that they can let through.

mod describe;
mod outage;
mod promise;
mod settling;
mod table;
mod worst;

pub use describe::RuleWords;
pub(crate) use describe::{allows, at_most, part};
pub use promise::LimitWords;
pub use table::PolicyTable;
pub use worst::worst_case;
