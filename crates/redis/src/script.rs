//! The scripts, assembled from one file per algorithm and one for the plan.
//!
//! A script runs from its top for every call. So each algorithm is a function that makes it, called
//! only when a plan has an op of its kind.

use std::sync::LazyLock;

/// A script, and the hash by which the server knows it once it has seen it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) sha1: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        let sha1 = redis::Script::new(text).get_hash().to_owned();
        Self { text, sha1 }
    }
}

/// Decides plans.
pub(crate) static PLANS: LazyLock<Script> = LazyLock::new(|| {
    Script::new(concat!(
        include_str!("../lua/number.lua"),
        include_str!("../lua/state.lua"),
        include_str!("../lua/algorithm.lua"),
        include_str!("../lua/bucket.lua"),
        include_str!("../lua/fixed_window.lua"),
        include_str!("../lua/sliding_counter.lua"),
        include_str!("../lua/sliding_log.lua"),
        include_str!("../lua/concurrency.lua"),
        include_str!("../lua/ticket.lua"),
        include_str!("../lua/plan.lua"),
    ))
});

/// Sets, removes and lists notes.
pub(crate) static NOTES: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../lua/notes.lua")));
