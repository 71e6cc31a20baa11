//! What a table holds and what it had to refuse.

/// Figures of one table. Each is exact for some instant during the call, not all for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// States held. A state that is over counts until its slot is cleaned or used again.
    pub keys: u64,
    /// The most that may be held.
    pub max_keys: u64,
    /// Memory in use, in bytes: slots, log entries (and 16 bytes for each allocation of them), and
    /// the fixed part of every region.
    pub bytes: u64,
    /// The most that may be used, in bytes.
    pub max_bytes: u64,
    /// Charges that found no room, and were answered as [`Overflow`](crate::Overflow) says.
    pub overflowed: u64,
    /// Refunds and settles that could not be carried out because their charge has no state of its
    /// own.
    pub dropped: u64,
}
