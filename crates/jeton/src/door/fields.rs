//! Decisions as the fields of dialects.

use http::{HeaderMap, HeaderName, HeaderValue};
use jeton_core::{Decision, Micros, Quota};
use jeton_wire::merge::{Change, merge};
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

/// The fields that tell a client of its limits.
#[derive(Clone, Debug, Default)]
pub struct LimitFields {
    at: Micros,
    fields: SmallVec<[(HeaderName, HeaderValue); 2]>,
}

impl LimitFields {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Brings them into the head of an answer, which may have limit fields of its own: those stay,
    /// unless ours are tighter where only one side can speak
    /// ([`wire::merge`](jeton_wire::merge)).
    ///
    /// ```
    /// use jeton::door::{Told, limit_fields};
    /// use jeton::wire::ratelimit::Dialects;
    /// use jeton::Limiter;
    ///
    /// let limiter = Limiter::bucket("5/s", 20)?;
    /// let decision = limiter.take("alice");
    /// let told = Told { name: "api", quota: limiter.quota(), decision: &decision };
    /// let mut head = http::HeaderMap::new();
    /// head.insert("ratelimit", http::HeaderValue::from_static(r#""inner";r=3;t=9"#));
    /// limit_fields(Dialects::default(), &[told]).merge_into(&mut head);
    /// let lines: Vec<_> = head.get_all("ratelimit").iter().collect();
    /// assert_eq!(lines, [r#""inner";r=3;t=9"#, r#""api";r=19;t=1"#]);
    /// # Ok::<(), jeton::LimiterError>(())
    /// ```
    pub fn merge_into(self, headers: &mut HeaderMap) {
        let told_already = |field: &(HeaderName, HeaderValue)| headers.contains_key(&field.0);
        if !self.fields.iter().any(told_already) {
            headers.extend(self.fields);
            return;
        }
        let mut changes = Vec::new();
        let ours = |name| {
            let lines = self.fields.iter().filter(move |field| field.0 == name);
            lines.map(|field| field.1.as_bytes())
        };
        let theirs = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        merge(self.at.get(), ours, theirs, |change| {
            changes.push(match change {
                Change::Append(name, line) => (name, false, HeaderValue::from_bytes(line).ok()),
                Change::Set(name, line) => (name, true, HeaderValue::from_bytes(line).ok()),
                Change::Remove(name) => (name, true, None),
            });
        });
        for (name, replaces, line) in changes {
            if replaces {
                headers.remove(name);
            }
            if let Some(line) = line {
                headers.append(name, line);
            }
        }
    }
}

impl IntoIterator for LimitFields {
    type Item = (HeaderName, HeaderValue);
    type IntoIter = smallvec::IntoIter<[(HeaderName, HeaderValue); 2]>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}

impl Answered {
    /// The limit fields of this answer, in the dialects of its policy; none if no counter that
    /// clients are told of decided.
    pub fn limit_fields(&self) -> LimitFields {
        let all = self.told();
        let mut told: SmallVec<[Told<'_>; 3]> = SmallVec::new();
        for one in all.iter().map(Told::from) {
            // Of several counters of one rule the one that matters most: an item has a name of its own.
            if !told.iter().any(|before| before.name == one.name) {
                told.push(one);
            }
        }
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
/// let fields: Vec<_> = limit_fields(Dialects::default(), &[told]).into_iter().collect();
/// assert_eq!(fields[0].0, "ratelimit-policy");
/// assert_eq!(fields[0].1, r#""api";q=20;w=4"#);
/// # Ok::<(), jeton::LimiterError>(())
/// ```
pub fn limit_fields(dialects: Dialects, told: &[Told<'_>]) -> LimitFields {
    let exact = || told.iter().filter(|told| !told.decision.approximate);
    let policies: SmallVec<[PolicyItem<'_>; 3]> = exact().map(policy).collect();
    let Some(first) = exact().next() else {
        return LimitFields::default();
    };
    let limits: SmallVec<[LimitItem<'_>; 3]> = policies
        .iter()
        .zip(exact())
        .map(|(policy, told)| limit(policy, told.decision))
        .collect();
    let at = first.decision.at;
    let report = Report {
        policies: &policies,
        limits: &limits,
        now_us: at.get(),
    };
    let mut fields = SmallVec::new();
    dialects.write_fields(&report, &mut String::with_capacity(64), |name, value| {
        // Names and values are printable ASCII by construction.
        if let Ok(value) = HeaderValue::from_str(value) {
            fields.push((HeaderName::from_static(name), value));
        }
    });
    LimitFields { at, fields }
}

/// A rule as clients see it.
fn policy<'a>(told: &Told<'a>) -> PolicyItem<'a> {
    let (name, quota) = (told.name, told.quota);
    let limit = u64::from(quota.limit());
    match (quota.rate(), quota.window()) {
        (Some(rate), _) => {
            PolicyItem::bucket(name, u64::from(rate.units()), rate.per().as_micros(), limit)
        }
        (None, Some(window)) => PolicyItem::window(name, limit, window.as_micros()),
        (None, None) => PolicyItem::concurrent(name, limit),
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
