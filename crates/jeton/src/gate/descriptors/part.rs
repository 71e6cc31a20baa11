//! What is said of one descriptor before any counter is asked.

use jeton_policy::{Counter, Denied, Ruling, Rulings, Unit};

use super::Hits;
use crate::answered::Disposition;
use crate::gate::Live;
use crate::gate::asked::Seed;

/// What is said of one descriptor before any counter is asked.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a word of the file, or of the request"
)]
pub(super) struct Part {
    /// Which of the wanted charges it is, and later which of the lines.
    pub(super) line: Option<usize>,
    /// Whether it only counts.
    pub(super) is_shadow: bool,
    /// Whether it refuses only together with all others of its kind.
    pub(super) is_quota: bool,
    /// Whether it gives back.
    pub(super) gives: bool,
    /// Whether it is refused by a word.
    pub(super) refused: Option<Disposition>,
    pub(super) is_unlimited: bool,
    pub(super) limit: Option<usize>,
    pub(super) per: Option<(u32, Unit)>,
}

/// A part, and the rule that its limit is.
pub(super) struct OfRule {
    pub(super) part: Part,
    pub(super) rule: usize,
    /// Whether it would be refused by a word, if it had a vote.
    pub(super) denied: Option<Denied>,
}

impl Part {
    pub(super) fn of_limit(live: &Live, rulings: &Rulings, at: usize, hits: Hits) -> OfRule {
        let limits = live.policy.descriptors().limits();
        let (limit, rule, per) = match rulings.list().get(at) {
            Some(Ruling::Limit { limit, .. } | Ruling::Unlimited(limit)) => {
                let found = limits.get(*limit);
                (
                    Some(*limit),
                    found.map(|own| own.rule),
                    found.and_then(|own| own.per),
                )
            }
            Some(Ruling::Own(own)) => (None, Some(own.rule), Some((own.requests, own.unit))),
            _ => (None, None, None),
        };
        let of_limit = limit.and_then(|limit| limits.get(limit));
        OfRule {
            rule: rule.unwrap_or(usize::MAX),
            denied: None,
            part: Self {
                line: None,
                is_shadow: false,
                is_quota: of_limit.is_some_and(|own| own.quota_mode),
                gives: matches!(hits, Hits::Refund(_)),
                refused: None,
                is_unlimited: false,
                limit,
                per,
            },
        }
    }

    /// Whether it refuses the request by a word, alone.
    pub(super) fn votes_down(&self) -> bool {
        self.refused.is_some() && !self.is_shadow && !self.is_quota
    }
}

/// Which counter a charge is on decides nothing about whom it belongs to.
pub(super) const fn is_trial(seed: &Seed) -> bool {
    matches!(seed.counter, Counter::Trial)
}
