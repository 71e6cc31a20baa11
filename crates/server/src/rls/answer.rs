//! What the gate ruled, in Envoy's words.

use jeton::policy::Unit;
use jeton::{Decision, Quota, Ruled, RuledDescriptor, Span, Standing};

use super::headers;
use super::messages::{Code, DescriptorStatus, RateLimit, RateLimitRequest, RateLimitResponse};
use super::metadata;

/// The answer to a request.
pub(super) fn of(request: &RateLimitRequest, ruled: &Ruled) -> RateLimitResponse {
    let policy = ruled.answered.policy();
    let rls = policy.settings().rls.as_ref();
    let allowed = ruled.answered.allowed();
    let statuses = ruled.descriptors.iter().map(|one| status(ruled, one));
    let wants_metadata = rls.is_some_and(|rls| rls.dynamic_metadata);
    RateLimitResponse {
        overall_code: code(!allowed),
        statuses: statuses.collect(),
        response_headers_to_add: headers::of(&ruled.answered),
        request_headers_to_add: headers::for_upstream(&ruled.answered),
        raw_body: Vec::new(),
        dynamic_metadata: wants_metadata.then(|| metadata::of(request, ruled)),
    }
}

const fn code(over: bool) -> i32 {
    if over {
        Code::OverLimit as i32
    } else {
        Code::Ok as i32
    }
}

fn status(ruled: &Ruled, one: &RuledDescriptor) -> DescriptorStatus {
    let code = code(one.over);
    let bare = DescriptorStatus {
        code,
        ..DescriptorStatus::default()
    };
    let name = one.limit.and_then(|limit| {
        let limits = ruled.answered.policy().descriptors().limits();
        limits.get(limit)?.name.as_deref()
    });
    let limit = |requests_per_unit, unit: Unit, name: Option<&str>| RateLimit {
        requests_per_unit,
        unit: unit as i32,
        name: name.unwrap_or_default().to_owned(),
    };
    let of_window = |requests, unit: Unit, remaining, at: u64| DescriptorStatus {
        code,
        current_limit: Some(limit(requests, unit, name)),
        limit_remaining: remaining,
        duration_until_reset: Some(until_window_ends(unit, at)),
    };
    match one.standing {
        Standing::Free | Standing::Refused(None) => bare,
        Standing::Unlimited => DescriptorStatus {
            limit_remaining: u32::MAX,
            ..bare
        },
        Standing::Refused(Some((requests, unit))) => {
            of_window(requests, unit, 0, ruled.answered.at().get())
        }
        Standing::Decided {
            requests,
            unit,
            decision,
        } => of_window(requests, unit, decision.remaining, decision.at.get()),
        Standing::ByRule(at) => {
            let Some(rule) = ruled.answered.decisions().nth(at) else {
                return bare;
            };
            DescriptorStatus {
                code,
                current_limit: Some(limit(
                    rule.quota.limit(),
                    nearest_unit(rule.quota),
                    Some(rule.rule.name()),
                )),
                limit_remaining: rule.decision.remaining,
                duration_until_reset: Some(whole_seconds(until_reset(rule.decision))),
            }
        }
    }
}

/// Rules can have any window, and Envoy knows a few.
fn nearest_unit(quota: &Quota) -> Unit {
    quota.window().map_or(Unit::Second, Unit::nearest)
}

/// Whoever is refused may come again then.
fn until_reset(decision: &Decision) -> Span {
    let wait = decision.fit.retry_after().unwrap_or_default();
    decision.reset_after.max(wait)
}

/// Until the window of now is over, used or not.
fn until_window_ends(unit: Unit, at: u64) -> prost_types::Duration {
    let window = unit.span().as_micros().max(1);
    let left = window - at % window;
    seconds(left.div_ceil(1_000_000))
}

/// Envoy tells its clients the seconds and drops what is behind the point.
fn whole_seconds(span: Span) -> prost_types::Duration {
    seconds(span.as_secs_ceil())
}

fn seconds(seconds: u64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
        nanos: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_where_the_epoch_has_them() {
        const S: u64 = 1_000_000;
        const DAY: u64 = 86_400;
        // 2026-12-01, a Tuesday, at 03:04:05.5; days of the epoch are counted from a Thursday.
        let at = (20_788 * DAY + 3 * 3_600 + 4 * 60 + 5) * S + S / 2;
        let left = |unit: Unit| until_window_ends(unit, at);
        let of_day = DAY - (3 * 3_600 + 4 * 60 + 5);
        for (unit, seconds) in [
            (Unit::Second, 1),
            (Unit::Minute, 55),
            (Unit::Hour, 3_600 - 4 * 60 - 5),
            (Unit::Day, of_day),
            // The next Thursday, 20 790 = 7 x 2970.
            (Unit::Week, DAY + of_day),
            // Months of 30 days, and years of 365: 20 790 = 30 x 693, 20 805 = 365 x 57.
            (Unit::Month, DAY + of_day),
            (Unit::Year, 16 * DAY + of_day),
        ] {
            let seconds = i64::try_from(seconds).expect("few");
            assert_eq!(
                (left(unit).seconds, left(unit).nanos),
                (seconds, 0),
                "{unit:?}"
            );
        }
        assert_eq!(
            until_window_ends(Unit::Day, 20_788 * DAY * S).seconds,
            86_400
        );
    }
}
