//! Decisions as the fields of dialects.

use http::{HeaderName, HeaderValue};
use jeton_core::{Decision, Quota, Span};
use jeton_wire::ratelimit::{Dialects, LimitItem, PolicyItem, Report};
use smallvec::SmallVec;

use crate::{Answered, RuleDecision};

/// One counter that a client is told of.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The name of its rule: printable ASCII without `"` and `\`, 1 to 64.
    pub name: &'a str,
    /// What it was decided under.
    pub quota: &'a Quota,
    /// What was decided.
    pub decision: &'a Decision,
}

impl<'a> From<&RuleDecision<'a>> for Told<'a> {
    fn from(decided: &RuleDecision<'a>) -> Self {
        Self {
            name: decided.rule.name(),
            quota: decided.quota,
            decision: decided.decision,
        }
    }
}

type Fields = SmallVec<[(HeaderName, HeaderValue); 2]>;

impl Answered {
    /// The limit fields of this answer, in the dialects of its policy; none if no counter that
    /// clients are told of decided.
    pub fn limit_fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        let told: SmallVec<[Told<'_>; 3]> = self.told().iter().map(Told::from).collect();
        limit_fields(self.policy().settings().answer.headers, &told)
    }
}

/// The limit fields for `told`, the counter that matters most first; none if there is none.
/// Estimates are left out: they are nobody's own state.
///
/// ```
/// use jeton::door::{Told, limit_fields};
/// use jeton::wire::ratelimit::Dialects;
/// use jeton::Limiter;
///
/// let limiter = Limiter::bucket("5/s", 20)?;
/// let decision = limiter.take("alice");
/// let told = Told { name: "api", quota: limiter.quota(), decision: &decision };
/// let fields: Vec<_> = limit_fields(Dialects::default(), &[told]).collect();
/// assert_eq!(fields[0].0, "ratelimit-policy");
/// assert_eq!(fields[0].1, r#""api";q=20;w=4"#);
/// # Ok::<(), jeton::LimiterError>(())
/// ```
pub fn limit_fields(
    dialects: Dialects,
    told: &[Told<'_>],
) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
    let mut fields = Fields::new();
    let exact = || told.iter().filter(|told| !told.decision.approximate);
    let policies: SmallVec<[PolicyItem<'_>; 3]> = exact().map(policy).collect();
    if !policies.is_empty() {
        let limits: SmallVec<[LimitItem<'_>; 3]> = policies
            .iter()
            .zip(exact())
            .map(|(policy, told)| limit(policy, told.decision))
            .collect();
        let report = Report {
            policies: &policies,
            limits: &limits,
            now_us: told.first().map_or(0, |told| told.decision.at.get()),
        };
        dialects.write_fields(&report, &mut String::with_capacity(64), |name, value| {
            // Names and values are printable ASCII by construction.
            if let Ok(value) = HeaderValue::from_str(value) {
                fields.push((HeaderName::from_static(name), value));
            }
        });
    }
    fields.into_iter()
}

/// A rule as clients see it.
fn policy<'a>(told: &Told<'a>) -> PolicyItem<'a> {
    let (name, quota) = (told.name, told.quota);
    let limit = u64::from(quota.limit());
    if let Some(rate) = quota.rate() {
        PolicyItem::bucket(name, u64::from(rate.units()), rate.per().as_micros(), limit)
    } else {
        PolicyItem::window(name, limit, quota.window().map_or(0, Span::as_micros))
    }
}

/// What is left of it. The time told is that to the next unit, for a bucket; for everything else
/// that is when the state starts over.
fn limit<'a>(policy: &PolicyItem<'a>, decision: &Decision) -> LimitItem<'a> {
    let remaining = u64::from(decision.remaining);
    let limit = policy.limit(remaining, decision.next_after.as_micros());
    match decision.receipt.cost {
        0 => limit,
        cost => limit.with_cost(u64::from(cost)),
    }
}
