//! Rules in words, with the most that they can let through.

mod describe;
mod disk;
mod doors;
mod leases;
mod outage;
mod promise;
mod settling;
mod store;
mod table;
mod whom;
mod worst;

pub use describe::RuleWords;
pub(crate) use describe::{allows, at_most};
pub use doors::DoorWords;
pub use promise::LimitWords;
use store::span;
pub use store::{Apart, StoreWords};
pub use table::PolicyTable;
pub(crate) use whom::part;
pub use worst::worst_case;
