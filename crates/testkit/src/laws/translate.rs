//! Between the models' words and the engine's.

use jeton_core::{Act, Anchor, Cost, Decision, Fit, Quota, Rate, Receipt};

use super::desk::span;
use crate::model::{ModelQuota, Verdict};
use crate::trace::{Ask, Told};

/// The engine's quota of the same meaning.
pub fn quota_of(quota: &ModelQuota) -> Quota {
    let quota = match *quota {
        ModelQuota::Bucket {
            units,
            per_us,
            burst,
        } => Rate::new(units, span(per_us)).and_then(|rate| Quota::bucket(rate, burst)),
        ModelQuota::FixedWindow {
            limit,
            window_us,
            epoch,
        } => {
            let anchor = if epoch {
                Anchor::Epoch
            } else {
                Anchor::FirstRequest
            };
            Quota::fixed_window(limit, span(window_us), anchor)
        }
        ModelQuota::SlidingCounter { limit, window_us } => {
            Quota::sliding_counter(limit, span(window_us))
        }
        ModelQuota::SlidingLog { limit, window_us } => Quota::sliding_log(limit, span(window_us)),
        ModelQuota::Concurrency { limit, lease_us } => Quota::concurrency(limit, span(lease_us)),
        ModelQuota::Ticket { ttl_us } => Quota::ticket(span(ttl_us)),
    };
    quota.expect("traces only hold admissible quotas")
}

/// The engine's act of the same meaning, with the receipt that the event it is about was
/// given.
pub fn act_of(ask: &Ask, receipt_of: impl Fn(usize) -> Receipt) -> Act {
    match *ask {
        Ask::Take { cost } => Act::Take {
            cost: Cost::new(cost),
        },
        Ask::Peek { cost } => Act::Peek {
            cost: Cost::new(cost),
        },
        Ask::Hold { cost } => Act::Hold {
            cost: Cost::new(cost),
        },
        Ask::Give { units } => Act::Give {
            units: Cost::new(units),
        },
        Ask::Settle {
            of,
            actual,
            max_debt,
        } => Act::Settle {
            receipt: receipt_of(of),
            actual: Cost::new(actual),
            max_debt: Cost::new(max_debt),
        },
        Ask::Renew { of } => Act::Renew {
            receipt: receipt_of(of),
        },
        Ask::Reset => Act::Reset,
    }
}

/// What the engine's decision says in the models' words.
pub fn told_of(ask: &Ask, decision: &Decision) -> Told {
    let nothing_to_count = matches!(ask, Ask::Give { .. } | Ask::Reset);
    let verdict = match decision.fit {
        Fit::Allowed => Verdict::Allowed,
        Fit::Denied { retry_after } => Verdict::Denied {
            retry_us: retry_after.as_micros(),
        },
        Fit::Impossible => Verdict::Impossible,
        Fit::Settled { .. } if nothing_to_count => Verdict::Done,
        Fit::Settled { actual } => Verdict::Settled {
            actual: actual.into(),
        },
        Fit::Repeated { actual } => Verdict::Repeated {
            actual: actual.into(),
        },
        Fit::Unknown => Verdict::Unknown,
    };
    Told {
        verdict,
        limit: decision.limit.into(),
        remaining: decision.remaining.into(),
        reset_us: decision.reset_after.as_micros(),
        next_us: Some(decision.next_after.as_micros()),
        until_us: None,
    }
}
