//! What a policy says of a request without asking any counter.

use std::sync::Arc;

use jeton_core::Micros;
use jeton_policy::{Evaluation, Verdict};
use smallvec::SmallVec;

use super::Live;
use crate::answered::{Answered, Disposition};
use crate::meters::{Event, RuleOutcome};

/// What becomes of a request that no counter decides about; none if counters have to.
pub(super) fn of(evaluation: &Evaluation<'_>) -> Option<Disposition> {
    Some(match evaluation.verdict() {
        Verdict::Charges if evaluation.charges().next().is_some() => return None,
        Verdict::Charges if evaluation.is_unmatched() => Disposition::Unmatched,
        Verdict::Charges => Disposition::Unlimited,
        Verdict::Exempt => Disposition::Exempt,
        Verdict::Blocked => Disposition::Blocked,
        Verdict::BlockedUntil { rule, until } => Disposition::BlockedUntil { rule, until },
        Verdict::Denied(denied) => Disposition::Refused {
            rule: denied.rule,
            reason: denied.reason,
        },
        Verdict::BadCost { rule } => Disposition::BadCost { rule },
        _ => Disposition::TooManyRules,
    })
}

/// The answer, noted in the meters.
pub(super) fn without_counter(
    live: &Arc<Live>,
    disposition: Disposition,
    is_metered: bool,
    at: Micros,
) -> Answered {
    if is_metered {
        let (event, denied_by) = match disposition {
            Disposition::Unmatched => (Some(Event::Unmatched), None),
            Disposition::Unlimited => (Some(Event::Unlimited), None),
            Disposition::Exempt => (Some(Event::Exempt), None),
            Disposition::Blocked => (Some(Event::Blocked), None),
            Disposition::BlockedUntil { rule, .. } => (Some(Event::OrderBlocked), Some(rule)),
            Disposition::Refused { rule, .. } => (Some(Event::Refused), Some(rule)),
            Disposition::BadCost { .. } => (Some(Event::BadCost), None),
            Disposition::TooManyRules => (Some(Event::TooManyRules), None),
            Disposition::NeedsHold { .. }
            | Disposition::Decided(_)
            | Disposition::Degraded { .. } => (None, None),
        };
        if let Some(event) = event {
            live.tally.happened(event);
        }
        if let Some(rule) = denied_by {
            live.tally.decided(rule, RuleOutcome::Denied);
        }
    }
    Answered::new(Arc::clone(live), disposition, at, SmallVec::new())
}
