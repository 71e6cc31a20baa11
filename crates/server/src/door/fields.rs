//! Decisions as the fields of the policy's dialect.

use http::{HeaderName, HeaderValue};
use jeton::wire::ratelimit::{LimitItem, PolicyItem, Report};
use jeton::{Answered, RuleDecision, Span};
use smallvec::SmallVec;

/// The limit fields of an answer; none if no counter that clients are told of decided.
pub(super) fn of(answered: &Answered) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let mut fields = SmallVec::<[(HeaderName, HeaderValue); 2]>::new();
    let told = answered.told();
    if !told.is_empty() {
        let policies: SmallVec<[PolicyItem<'_>; 3]> = told.iter().map(policy).collect();
        let limits: SmallVec<[LimitItem<'_>; 3]> = policies
            .iter()
            .zip(&told)
            .map(|(policy, decision)| limit(policy, decision))
            .collect();
        let report = Report {
            policies: &policies,
            limits: &limits,
        };
        let dialect = answered.policy().settings().answer.headers;
        dialect.write_fields(&report, &mut String::with_capacity(64), |name, value| {
            // Names and values are printable ASCII by construction.
            if let Ok(value) = HeaderValue::from_str(value) {
                fields.push((HeaderName::from_static(name), value));
            }
        });
    }
    fields.into_iter()
}

/// A rule as clients see it.
fn policy<'a>(decision: &RuleDecision<'a>) -> PolicyItem<'a> {
    let (name, quota) = (decision.rule.name(), decision.quota);
    let limit = u64::from(quota.limit());
    if let Some(rate) = quota.rate() {
        PolicyItem::bucket(name, u64::from(rate.units()), rate.per().as_micros(), limit)
    } else {
        PolicyItem::window(name, limit, quota.window().map_or(0, Span::as_micros))
    }
}

/// What is left of it. The time told is that to the next unit, for a bucket; for everything else
/// that is when the state starts over.
fn limit<'a>(policy: &PolicyItem<'a>, decision: &RuleDecision<'_>) -> LimitItem<'a> {
    let decision = decision.decision;
    policy.limit(
        u64::from(decision.remaining),
        decision.next_after.as_micros(),
    )
}
