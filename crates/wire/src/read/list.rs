//! Lists with an item for each policy: drafts -08 and later.

use super::{Reading, items};
use crate::{
    ratelimit::{Dialect, MAX_SPAN_S, Unit},
    structured::{Bare, is_member, read_item},
};

const MICROS_PER_SECOND: u64 = 1_000_000;

/// A policy without a name: drafts -03 to -07.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) limit: u64,
    pub(super) window_s: Option<u64>,
}

/// `RateLimit-Policy`, in both of its forms.
#[derive(Debug, Default)]
pub(super) struct Policies<'a> {
    pub(super) named: Vec<Reading<'a>>,
    pub(super) quotas: Vec<Quota>,
}

impl<'a> Policies<'a> {
    pub(super) fn read(lines: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut policies = Self::default();
        for item in items(lines) {
            let mut found = Reading::new(Dialect::Ietf11);
            let bare = read_item(item, |key, value| match key {
                "q" => found.limit = value.whole(),
                "w" => found.window_s = window_s(&value),
                "qu" => found.unit = unit(&value),
                "pk" => found.partition_key = partition_key(&value),
                _ => {}
            });
            match bare {
                // The quota is required.
                Some(Bare::Text(name)) if found.limit.is_some() => {
                    found.name = Some(name);
                    policies.named.push(found);
                }
                Some(number) => policies.quotas.extend(number.whole().map(|limit| Quota {
                    limit,
                    window_s: found.window_s,
                })),
                None => {}
            }
        }
        policies
    }
}

/// `RateLimit` as a list. Each limit takes the first policy of its name and partition that is not
/// taken yet; policies that are left stand last.
pub(super) fn read_limits<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    mut policies: Vec<Reading<'a>>,
    readings: &mut Vec<Reading<'a>>,
) {
    for item in items(lines).filter(|item| !is_member(item)) {
        let Some(mut limit) = read_limit(item) else {
            continue;
        };
        let partition_is_same = |policy: &Reading<'_>| {
            let (ours, theirs) = (limit.partition_key, policy.partition_key);
            ours.is_none() || theirs.is_none() || ours == theirs
        };
        let policy = policies
            .iter()
            .position(|policy| policy.name == limit.name && partition_is_same(policy));
        if let Some(policy) = policy.map(|index| policies.remove(index)) {
            limit.limit = policy.limit;
            limit.window_s = policy.window_s;
            limit.unit = policy.unit;
            limit.partition_key = limit.partition_key.or(policy.partition_key);
        }
        readings.push(limit);
    }
    let dialect = readings.last().map_or(Dialect::Ietf11, |last| last.dialect);
    readings.extend(
        policies
            .into_iter()
            .map(|policy| Reading { dialect, ..policy }),
    );
}

fn read_limit(item: &[u8]) -> Option<Reading<'_>> {
    let mut found = Reading::new(Dialect::Ietf11);
    let (mut r, mut a, mut t, mut w) = (None, None, None, None);
    let bare = read_item(item, |key, value| match key {
        "r" => r = value.whole(),
        "a" => a = value.whole(),
        "t" => t = value.whole(),
        "w" => w = value.whole(),
        "c" => found.cost = value.whole(),
        "pk" => found.partition_key = partition_key(&value),
        _ => {}
    })?;
    let Bare::Text(name) = bare else {
        return None;
    };
    if a.is_some() {
        found.dialect = Dialect::IetfNext;
    }
    found.name = Some(name);
    // What is left is required.
    found.remaining = Some(a.or(r)?);
    found.effective_window_us = w
        .or(t)
        .map(|window_s| window_s.min(MAX_SPAN_S) * MICROS_PER_SECOND);
    Some(found)
}

/// A window of zero is none.
fn window_s(value: &Bare<'_>) -> Option<u64> {
    let window_s = value.whole()?;
    (window_s > 0).then_some(window_s.min(MAX_SPAN_S))
}

fn unit(value: &Bare<'_>) -> Option<Unit> {
    match value {
        Bare::Text(word) => Unit::from_word(word),
        _ => None,
    }
}

fn partition_key<'a>(value: &Bare<'a>) -> Option<&'a str> {
    match value {
        Bare::Bytes(encoded) => Some(encoded),
        _ => None,
    }
}
