//! Durations, rates and sizes as people write them, and back again.

mod duration;
mod number;
mod rate;
mod size;

pub(crate) use duration::{duration_words, in_words, short};
pub use duration::{parse_duration, print_duration};
pub(crate) use number::grouped;
pub(crate) use rate::zero;
pub use rate::{Pace, parse_rate};
pub use size::parse_size;
pub(crate) use size::size_words;
