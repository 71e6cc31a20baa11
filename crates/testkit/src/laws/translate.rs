//! Between the models' words and the engine's.

use jeton_core::{Anchor, Decision, Fit, Quota, Rate};

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
    };
    quota.expect("traces only hold admissible quotas")
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
        Fit::Repeated { .. } | Fit::Unknown => unreachable!("only of tickets and holders"),
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
