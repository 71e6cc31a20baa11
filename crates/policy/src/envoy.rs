//! Files of envoyproxy/ratelimit, read as they are: limits of descriptors in domains.
//!
//! Each limit becomes a rule, which is found by walking down a tree instead of asking every rule. What
//! the reference service does with such files is kept, and where this is better by default it is said:
//! descriptors are tuples, so that `a: b_c` and `a_b: c` are two; and keys that have no effect where
//! they stand are refused. What is charged is the gate's affair.

#[cfg(feature = "toml")]
mod doubts;
#[cfg(feature = "toml")]
mod faults;
#[cfg(feature = "toml")]
mod folder;
#[cfg(feature = "toml")]
mod hints;
mod limit;
mod metric;
mod names;
mod path;
mod pattern;
#[cfg(feature = "toml")]
mod read;
mod rules;
mod ruling;
mod tree;
mod unit;
#[cfg(feature = "toml")]
mod yaml;

#[cfg(feature = "toml")]
pub(crate) use folder::load;
pub use limit::Metadata;
pub(crate) use names::PREFIX;
pub use path::{DescriptorPath, PathEntry};
pub(crate) use rules::{Domain, compile};
pub use ruling::{AskedDescriptor, OwnLimit, Ruling, Rulings};
pub use tree::{DescriptorLimit, Descriptors};
pub use unit::Unit;

/// Without a reader of files there is nothing to read.
#[cfg(not(feature = "toml"))]
pub(crate) fn load(
    _: &mut crate::raw::Context<'_>,
    _: &str,
    _: crate::source::Mark,
    _: bool,
) -> Option<Vec<Domain>> {
    None
}
