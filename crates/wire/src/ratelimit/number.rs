//! Fields of single numbers, which one rule alone can be told in: the tightest, which is the first.
//!
//! What counts as the reset is the end of the effective window, as in the other dialects: clients
//! of these fields sleep until then when nothing remains.

use super::{
    LimitItem, PolicyItem, Report,
    list::{push_integer, push_separator, push_string},
    measure::{MAX_EPOCH_S, MAX_SPAN_S},
};
use crate::{decimal::push_decimal, retry_after::ceil_s};

/// The rule that is told; none when the store did not answer.
fn told<'a>(report: &Report<'a>) -> Option<(&'a PolicyItem<'a>, &'a LimitItem<'a>)> {
    report.policies.first().zip(report.limits.first())
}

/// `100`.
pub(super) fn write_limit(report: &Report<'_>, out: &mut String) {
    if let Some((policy, _)) = told(report) {
        push_integer(out, "", policy.quota);
    }
}

/// `50`.
pub(super) fn write_remaining(report: &Report<'_>, out: &mut String) {
    if let Some((_, limit)) = told(report) {
        push_integer(out, "", limit.remaining);
    }
}

/// `30`: whole seconds from now, rounded up.
pub(super) fn write_reset_delta(report: &Report<'_>, out: &mut String) {
    if let Some(reset_s) = told(report).and_then(|(_, limit)| limit.effective_window_s()) {
        push_decimal(out, reset_s.min(MAX_SPAN_S));
    }
}

/// `1800000030`: seconds of the Unix epoch, rounded up.
pub(super) fn write_reset_epoch(report: &Report<'_>, out: &mut String) {
    if let Some(span_us) = told(report).and_then(|(_, limit)| limit.effective_window_us) {
        let reset_s = ceil_s(report.now_us.saturating_add(span_us));
        push_decimal(out, reset_s.min(MAX_EPOCH_S));
    }
}

/// `limit=100, remaining=50, reset=30`: the Dictionary of draft -07.
pub(super) fn write_dictionary(report: &Report<'_>, out: &mut String) {
    if let Some((policy, limit)) = told(report) {
        push_integer(out, "limit=", policy.quota);
        push_integer(out, ", remaining=", limit.remaining);
        if let Some(reset_s) = limit.effective_window_s() {
            push_integer(out, ", reset=", reset_s.min(MAX_SPAN_S));
        }
    }
}

/// `10;w=1, 1000;w=86400`: the policies of drafts -03 to -07. They have no names, and a policy
/// without a window cannot be told.
pub(super) fn write_quotas(report: &Report<'_>, out: &mut String) {
    let timed = report.policies.iter();
    let timed = timed.filter_map(|policy| Some((policy.quota, policy.window_s?)));
    for (index, (quota, window_s)) in timed.enumerate() {
        push_separator(out, index);
        push_integer(out, "", quota);
        push_integer(out, ";w=", window_s.max(1));
    }
}

/// `10, 10;w=1;name="burst", 1000;w=86400;name="day"`: the tightest limit, then all policies, as
/// Envoy writes them.
pub(super) fn write_limit_and_quotas(report: &Report<'_>, out: &mut String) {
    let Some((tightest, _)) = told(report) else {
        return;
    };
    push_integer(out, "", tightest.quota);
    for policy in report.policies {
        if let Some(window_s) = policy.window_s {
            push_integer(out, ", ", policy.quota);
            push_integer(out, ";w=", window_s.max(1));
            out.push_str(";name=");
            push_string(out, policy.name);
        }
    }
}
