//! Fields for the client, and for the service behind.

use jeton::{Answered, Span};

use super::messages::HeaderValue;

/// The fields that tell a client of its limits, in the dialects of the policy; refused, also when it may
/// come again.
pub(crate) fn of(answered: &Answered) -> Vec<HeaderValue> {
    let fields = answered.limit_fields().into_iter();
    let mut all: Vec<HeaderValue> = fields
        .filter_map(|(name, value)| {
            Some(HeaderValue {
                key: name.as_str().to_owned(),
                value: value.to_str().ok()?.to_owned(),
            })
        })
        .collect();
    if !answered.allowed()
        && let Some(seconds) = wait(answered)
    {
        all.push(HeaderValue {
            key: "retry-after".to_owned(),
            value: seconds.to_string(),
        });
    }
    all
}

/// Whole seconds, rounded up. What no store decided may be asked again in a second.
fn wait(answered: &Answered) -> Option<u64> {
    let wait = answered.retry_after().map(Span::as_secs_ceil);
    let outage = (answered.is_degraded() && !answered.impossible()).then_some(1);
    wait.or(outage).map(|seconds| seconds.max(1))
}

/// Rules in mode `mark` that would have refused.
pub(super) fn for_upstream(answered: &Answered) -> Vec<HeaderValue> {
    let marked: Vec<&str> = answered.marked().collect();
    if marked.is_empty() || !answered.allowed() {
        return Vec::new();
    }
    vec![HeaderValue {
        key: "x-jeton-limited".to_owned(),
        value: marked.join(", "),
    }]
}
