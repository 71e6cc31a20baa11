//! One slow, exact model per algorithm, written from its definition.
//!
//! A model says only what the definition says: how a state looks at a later instant, how much of
//! the limit is in use, what a charge or a refund does to it. Everything a caller is told beyond
//! that (`remaining`, the wait of a denial, the time of the next unit) is *found* by trying: a
//! wait is the smallest one after which the same take on a copy would be allowed. The engine
//! computes these in closed form; that is what the comparison is for.

pub mod bucket;
pub mod concurrency;
mod drive;
pub mod fixed_window;
pub mod plan;
pub mod sliding_counter;
pub mod sliding_log;
pub mod ticket;

use crate::exact::Ratio;

/// The last instant that is ever told, in microseconds: 2^52, in September 2112. A wait that would
/// end later is told as ending then.
pub const LAST_TOLD_US: u64 = 1 << 52;

/// What a key may use, in plain integers; times in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelQuota {
    /// `token-bucket` and `gcra`: `units` come back per `per_us`, at most `burst` are held.
    Bucket {
        /// Units per period.
        units: u64,
        /// The period in microseconds.
        per_us: u64,
        /// Capacity in units.
        burst: u64,
    },
    /// `fixed-window`.
    FixedWindow {
        /// Units per window.
        limit: u64,
        /// Length of a window in microseconds.
        window_us: u64,
        /// True: windows are `[kW, (k+1)W)`. False: a window opens with its first charge.
        epoch: bool,
    },
    /// `sliding-counter`.
    SlidingCounter {
        /// Units per weighted window.
        limit: u64,
        /// Length of a window in microseconds.
        window_us: u64,
    },
    /// `sliding-log`.
    SlidingLog {
        /// Units in any window.
        limit: u64,
        /// Length of the window in microseconds.
        window_us: u64,
    },
    /// `concurrency`.
    Concurrency {
        /// Units held at once.
        limit: u64,
        /// How long they are held if nobody renews them, in microseconds.
        lease_us: u64,
    },
    /// The record of a reservation.
    Ticket {
        /// How long it is kept if nobody renews it, in microseconds.
        ttl_us: u64,
    },
}

impl ModelQuota {
    /// Whether its units belong to whoever holds them, and are never just taken.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Concurrency { .. } | Self::Ticket { .. })
    }

    /// The most that can ever be charged at once: the limit, or the burst of a bucket.
    pub fn limit(&self) -> u64 {
        match *self {
            Self::Bucket { burst, .. } => burst,
            Self::FixedWindow { limit, .. }
            | Self::SlidingCounter { limit, .. }
            | Self::SlidingLog { limit, .. }
            | Self::Concurrency { limit, .. } => limit,
            Self::Ticket { .. } => 1,
        }
    }

    /// The time after which nothing of a full state without debt is left, in microseconds.
    pub fn memory_us(&self) -> u64 {
        match *self {
            Self::Bucket {
                units,
                per_us,
                burst,
            } => {
                let fill = Ratio::from(burst) * Ratio::new(per_us.into(), units.into());
                u64::try_from(fill.ceil()).expect("admissible buckets fill within 14 years")
            }
            Self::FixedWindow { window_us, .. } | Self::SlidingLog { window_us, .. } => window_us,
            Self::SlidingCounter { window_us, .. } => 2 * window_us,
            Self::Concurrency { lease_us, .. } => lease_us,
            Self::Ticket { ttl_us } => ttl_us,
        }
    }
}

/// What is asked of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Charge `cost` units if they fit.
    Take {
        /// Units asked for.
        cost: u64,
    },
    /// The answer a take would get; changes nothing.
    Peek {
        /// Units asked for.
        cost: u64,
    },
    /// A take that will be settled later.
    Hold {
        /// Units asked for.
        cost: u64,
    },
    /// A refund without a receipt.
    Give {
        /// Units given back.
        units: u64,
    },
    /// Replaces the cost of an earlier take or hold by what was really used.
    Settle {
        /// What that take or hold returned.
        receipt: Receipt,
        /// Units really used.
        actual: u64,
        /// The most debt there may be afterwards; never more than one limit.
        max_debt: u64,
    },
    /// Keeps a holder, or an open ticket, for as long again.
    Renew {
        /// What the hold returned.
        receipt: Receipt,
    },
    /// Forgets the key.
    Reset,
    /// What stays of an act that its plan does not carry out: a clock that went back is noticed.
    Notice,
}

/// What an allowed take or hold returns: enough to give back exactly its own units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Units charged.
    pub cost: u64,
    /// The instant of the charge.
    pub at_us: u64,
    /// Where the charge went; nowhere for a cost of 0.
    pub mark: Option<Mark>,
}

/// What identifies a charge in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Bucket: the instant its last unit comes back, and the `units` of the rate it was read under.
    Due(Ratio, u64),
    /// Fixed window: the end of its window.
    WindowEnd(u64),
    /// Sliding counter: the start of its window.
    WindowStart(u64),
    /// Sliding log: the name of its entry.
    Entry(i128),
    /// Concurrency: what the holder is called.
    Holder(u64),
}

/// The answer to the act itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits (and was charged, unless only looked at).
    Allowed,
    /// It does not fit now.
    Denied {
        /// The smallest wait after which it would, in microseconds.
        retry_us: u64,
    },
    /// It can never fit.
    Impossible,
    /// A settle or a renewal was done.
    Settled {
        /// What has really been charged for it in the end, or is still held.
        actual: u64,
    },
    /// The ticket was settled before.
    Repeated {
        /// At what.
        actual: u64,
    },
    /// There is no such ticket or holder.
    Unknown,
    /// A refund, a reset or a notice was done.
    Done,
}

/// Everything the definition says about one act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer to the act itself.
    pub verdict: Verdict,
    /// The limit it was judged by.
    pub limit: u64,
    /// The largest cost that would be allowed now, after the act.
    pub remaining: u64,
    /// Time until the algorithm's reset instant; 0 when nothing is used.
    pub reset_us: u64,
    /// Time until something comes back; 0 when nothing is used.
    pub next_us: u64,
    /// The receipt of an allowed take or hold.
    pub receipt: Option<Receipt>,
}

impl Answer {
    /// Whether a take, hold or peek was allowed.
    pub fn allowed(&self) -> bool {
        self.verdict == Verdict::Allowed
    }

    /// The wait of a denial.
    pub fn retry_us(&self) -> Option<u64> {
        match self.verdict {
            Verdict::Denied { retry_us } => Some(retry_us),
            _ => None,
        }
    }
}

/// The state of one key, one per algorithm: changing the algorithm of a rule starts a new counter.
///
/// ```
/// use jeton_testkit::model::{Act, Model, ModelQuota};
/// let quota = ModelQuota::SlidingLog { limit: 1, window_us: 10 };
/// let mut model = Model::default();
/// assert!(model.act(&quota, &Act::Take { cost: 1 }, 100).allowed());
/// assert_eq!(model.act(&quota, &Act::Take { cost: 1 }, 104).retry_us(), Some(6));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    bucket: Option<bucket::State>,
    fixed_window: Option<fixed_window::State>,
    sliding_counter: Option<sliding_counter::State>,
    sliding_log: Option<sliding_log::State>,
    concurrency: Option<concurrency::State>,
    ticket: Option<ticket::State>,
}

impl Model {
    /// Does `act` under `quota` at `now_us` and says everything the definition says about it.
    pub fn act(&mut self, quota: &ModelQuota, act: &Act, now_us: u64) -> Answer {
        match *quota {
            ModelQuota::Bucket {
                units,
                per_us,
                burst,
            } => {
                let law = bucket::Bucket {
                    units,
                    per_us,
                    burst,
                };
                drive::act(&law, &mut self.bucket, act, now_us)
            }
            ModelQuota::FixedWindow {
                limit,
                window_us,
                epoch,
            } => {
                let law = fixed_window::FixedWindow {
                    limit,
                    window_us,
                    epoch,
                };
                drive::act(&law, &mut self.fixed_window, act, now_us)
            }
            ModelQuota::SlidingCounter { limit, window_us } => {
                let law = sliding_counter::SlidingCounter { limit, window_us };
                drive::act(&law, &mut self.sliding_counter, act, now_us)
            }
            ModelQuota::SlidingLog { limit, window_us } => {
                let law = sliding_log::SlidingLog { limit, window_us };
                drive::act(&law, &mut self.sliding_log, act, now_us)
            }
            ModelQuota::Concurrency { limit, lease_us } => {
                let law = concurrency::Concurrency { limit, lease_us };
                law.act(&mut self.concurrency, act, now_us)
            }
            ModelQuota::Ticket { ttl_us } => ticket::act(ttl_us, &mut self.ticket, act, now_us),
        }
    }

    /// The first instant, not before `now_us`, from which on the state answers as if it had never
    /// been: when a store may forget it. `None` when there is nothing to forget.
    pub fn fresh_at_us(&self, quota: &ModelQuota, now_us: u64) -> Option<u64> {
        match *quota {
            ModelQuota::Bucket {
                units,
                per_us,
                burst,
            } => drive::fresh_at_us(
                &bucket::Bucket {
                    units,
                    per_us,
                    burst,
                },
                self.bucket,
                now_us,
            ),
            ModelQuota::FixedWindow {
                limit,
                window_us,
                epoch,
            } => drive::fresh_at_us(
                &fixed_window::FixedWindow {
                    limit,
                    window_us,
                    epoch,
                },
                self.fixed_window,
                now_us,
            ),
            ModelQuota::SlidingCounter { limit, window_us } => drive::fresh_at_us(
                &sliding_counter::SlidingCounter { limit, window_us },
                self.sliding_counter,
                now_us,
            ),
            ModelQuota::SlidingLog { limit, window_us } => drive::fresh_at_us(
                &sliding_log::SlidingLog { limit, window_us },
                self.sliding_log.clone(),
                now_us,
            ),
            ModelQuota::Concurrency { .. } => {
                concurrency::fresh_at_us(self.concurrency.as_ref(), now_us)
            }
            ModelQuota::Ticket { .. } => ticket::fresh_at_us(self.ticket, now_us),
        }
    }

    /// Forgets everything, as a store may once the state is fresh again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
