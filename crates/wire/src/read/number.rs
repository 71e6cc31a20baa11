//! Fields of single numbers: draft -07, draft -06, and what `X-RateLimit-…` has come to mean.

use super::{Reading, items, list::Quota};
use crate::{
    ratelimit::{Dialect, MAX_INTEGER, MAX_SPAN_S},
    structured::{Bare, read_item, read_member},
};

const MICROS_PER_SECOND: u64 = 1_000_000;

/// Above it, an instant is in milliseconds.
const MAX_EPOCH_S: u64 = 1_000_000_000_000;

/// `RateLimit: limit=100, remaining=50, reset=30`. The last of several members of a name counts.
pub(super) fn read_dictionary<'a>(
    now_us: u64,
    lines: impl Iterator<Item = &'a [u8]>,
) -> Option<Reading<'a>> {
    let mut found = Reading::new(Dialect::Draft7);
    for (key, value) in items(lines).filter_map(read_member) {
        match key {
            "limit" => found.limit = value.whole(),
            "remaining" => found.remaining = value.whole(),
            "reset" => {
                let reset = value.whole().map(Number::from);
                found.effective_window_us = reset.map(|reset| reset.span_us(now_us));
            }
            _ => {}
        }
    }
    tells_something(found)
}

/// `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.
pub(super) fn read_draft_6<'a, I>(
    now_us: u64,
    lines: &impl Fn(&'static str) -> I,
) -> Option<Reading<'a>>
where
    I: Iterator<Item = &'a [u8]>,
{
    let (found, _) = read_numbers(
        Dialect::Draft6,
        now_us,
        lines("ratelimit-limit"),
        lines("ratelimit-remaining"),
        lines("ratelimit-reset"),
    );
    tells_something(found)
}

/// Gives the windows of unnamed policies to the readings from `from` on that have such a limit;
/// policies that are left stand last.
pub(super) fn join_quotas(mut quotas: Vec<Quota>, from: usize, readings: &mut Vec<Reading<'_>>) {
    let mut dialect = Dialect::Draft6;
    for reading in readings.iter_mut().skip(from) {
        dialect = reading.dialect;
        let own = quotas
            .iter()
            .position(|quota| Some(quota.limit) == reading.limit);
        if let Some(quota) = own.map(|index| quotas.remove(index)) {
            reading.window_s = quota.window_s;
        }
    }
    readings.extend(quotas.into_iter().map(|quota| Reading {
        limit: Some(quota.limit),
        window_s: quota.window_s,
        ..Reading::new(dialect)
    }));
}

/// `X-RateLimit-…`, or `X-Rate-Limit-…` where there are none.
pub(super) fn read_legacy<'a, I>(
    now_us: u64,
    lines: &impl Fn(&'static str) -> I,
    readings: &mut Vec<Reading<'a>>,
) where
    I: Iterator<Item = &'a [u8]>,
{
    for [limit, remaining, reset] in [
        [
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ],
        [
            "x-rate-limit-limit",
            "x-rate-limit-remaining",
            "x-rate-limit-reset",
        ],
    ] {
        let (mut found, is_instant) = read_numbers(
            Dialect::LegacyDelta,
            now_us,
            lines(limit),
            lines(remaining),
            lines(reset),
        );
        if is_instant {
            found.dialect = Dialect::LegacyEpoch;
        }
        let mut policies = read_envoy(lines(limit));
        if !policies.is_empty() {
            found.dialect = Dialect::Envoy;
        }
        let own = policies
            .iter()
            .position(|policy| policy.limit == found.limit);
        if let Some(policy) = own.map(|index| policies.remove(index)) {
            found.name = policy.name;
            found.window_s = policy.window_s;
        }
        let from = readings.len();
        readings.extend(tells_something(found));
        readings.append(&mut policies);
        if readings.len() > from {
            return;
        }
    }
}

/// The policies behind the number in Envoy's limit: `10, 10;w=1;name="per-ip"`.
fn read_envoy<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<Reading<'a>> {
    let mut policies = Vec::new();
    for item in items(lines) {
        let mut found = Reading::new(Dialect::Envoy);
        let bare = read_item(item, |key, value| match (key, value) {
            ("w", value) => found.window_s = value.whole().map(|w| w.min(MAX_SPAN_S)),
            ("name", Bare::Text(name)) => found.name = Some(name),
            _ => {}
        });
        found.limit = bare.and_then(|bare| bare.whole());
        if found.limit.is_some() && found.window_s.is_some() {
            policies.push(found);
        }
    }
    policies
}

/// The reading, and whether its reset was an instant.
fn read_numbers<'a>(
    dialect: Dialect,
    now_us: u64,
    limit: impl Iterator<Item = &'a [u8]>,
    remaining: impl Iterator<Item = &'a [u8]>,
    reset: impl Iterator<Item = &'a [u8]>,
) -> (Reading<'a>, bool) {
    let mut found = Reading::new(dialect);
    found.limit = items(limit).filter_map(Number::whole).min();
    found.remaining = items(remaining).filter_map(Number::whole).min();
    let resets = items(reset).filter_map(Number::read);
    let latest = resets.max_by_key(|reset| reset.span_us(now_us));
    found.effective_window_us = latest.map(|reset| reset.span_us(now_us));
    (
        found,
        latest.is_some_and(|reset| reset.seconds > MAX_SPAN_S),
    )
}

/// A reset alone limits nothing.
fn tells_something(found: Reading<'_>) -> Option<Reading<'_>> {
    (found.limit.is_some() || found.remaining.is_some()).then_some(found)
}

/// A non-negative decimal number, with microseconds where it means seconds.
#[derive(Debug, Clone, Copy)]
struct Number {
    seconds: u64,
    micros: u64,
}

impl From<u64> for Number {
    fn from(seconds: u64) -> Self {
        Self { seconds, micros: 0 }
    }
}

impl Number {
    fn read(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let point = text.iter().position(|byte| *byte == b'.');
        let (whole, decimals) = text.split_at(point.unwrap_or(text.len()));
        let decimals = match decimals {
            [] => decimals,
            [_, digits @ ..] if !digits.is_empty() => digits,
            _ => return None,
        };
        let all_digits = [whole, decimals]
            .iter()
            .all(|digits| digits.iter().all(u8::is_ascii_digit));
        if whole.is_empty() || !all_digits {
            return None;
        }
        let micros = decimals.iter().chain(&[b'0'; 6]).take(6);
        Some(Self {
            seconds: saturating(whole.iter()),
            micros: saturating(micros),
        })
    }

    /// A number that counts something.
    fn whole(text: &[u8]) -> Option<u64> {
        let number = Self::read(text)?;
        Some(number.seconds.min(MAX_INTEGER))
    }

    /// Microseconds from now until the reset.
    fn span_us(self, now_us: u64) -> u64 {
        let us = |seconds: u64| seconds.saturating_mul(MICROS_PER_SECOND);
        let span_us = match self.seconds {
            instant_ms if instant_ms > MAX_EPOCH_S => {
                instant_ms.saturating_mul(1000).saturating_sub(now_us)
            }
            instant if instant > MAX_SPAN_S => us(instant)
                .saturating_add(self.micros)
                .saturating_sub(now_us),
            seconds => us(seconds).saturating_add(self.micros),
        };
        span_us.min(us(MAX_SPAN_S))
    }
}

fn saturating<'a>(digits: impl Iterator<Item = &'a u8>) -> u64 {
    digits.fold(0, |number: u64, digit| {
        let digit = u64::from(digit.saturating_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    })
}
