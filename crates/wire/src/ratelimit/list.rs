//! Lists of String Items (RFC 9651), one item for each policy: draft-ietf-httpapi-ratelimit-headers
//! from -08 on. All rules stand in one list.
//!
//! The editors' next version (pull request 166) renames the parameters of `RateLimit`, and adds one.

use super::{LimitItem, PolicyItem, Unit, measure::MAX_INTEGER};
use crate::decimal::push_decimal;

/// Appends the value of `RateLimit-Policy`. An empty list is no field: then nothing is written.
///
/// ```
/// # use jeton_wire::ratelimit::{PolicyItem, write_policies};
/// let mut value = String::new();
/// let policies = [
///     PolicyItem::window("burst", 10, 1_000_000),
///     PolicyItem::window("day", 1000, 86_400_000_000),
/// ];
/// write_policies(&policies, &mut value);
/// assert_eq!(value, r#""burst";q=10;w=1, "day";q=1000;w=86400"#);
/// ```
pub fn write_policies(items: &[PolicyItem<'_>], out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        push_separator(out, index);
        push_string(out, item.name);
        push_integer(out, ";q=", item.quota);
        if item.unit != Unit::Requests {
            out.push_str(";qu=\"");
            out.push_str(item.unit.word());
            out.push('"');
        }
        if let Some(window_s) = item.window_s {
            push_integer(out, ";w=", window_s.max(1));
        }
    }
}

/// Appends the value of `RateLimit` of draft -11. An empty list is no field: then nothing is
/// written.
///
/// ```
/// # use jeton_wire::ratelimit::{PolicyItem, write_limits};
/// let mut value = String::new();
/// let policy = PolicyItem::bucket("default", 100, 60_000_000, 100);
/// write_limits(&[policy.limit(50, 30_000_000)], &mut value);
/// assert_eq!(value, r#""default";r=50;t=30"#);
/// ```
pub fn write_limits(items: &[LimitItem<'_>], out: &mut String) {
    push_limits(items, out, &IETF_11);
}

/// Appends the value of `RateLimit` as the next draft will have it: `"default";a=50;w=30;c=5`.
pub(super) fn write_limits_next(items: &[LimitItem<'_>], out: &mut String) {
    push_limits(items, out, &IETF_NEXT);
}

/// What the parameters of a limit are called.
struct Keys {
    remaining: &'static str,
    effective_window: &'static str,
    cost: Option<&'static str>,
}

const IETF_11: Keys = Keys {
    remaining: ";r=",
    effective_window: ";t=",
    cost: None,
};

const IETF_NEXT: Keys = Keys {
    remaining: ";a=",
    effective_window: ";w=",
    cost: Some(";c="),
};

fn push_limits(items: &[LimitItem<'_>], out: &mut String, keys: &Keys) {
    for (index, item) in items.iter().enumerate() {
        push_separator(out, index);
        push_string(out, item.name);
        push_integer(out, keys.remaining, item.remaining);
        if let Some(effective_window_s) = item.effective_window_s() {
            push_integer(out, keys.effective_window, effective_window_s);
        }
        if let (Some(key), Some(cost)) = (keys.cost, item.cost) {
            push_integer(out, key, cost);
        }
    }
}

pub(super) fn push_separator(out: &mut String, index: usize) {
    if index > 0 {
        out.push_str(", ");
    }
}

/// A String (RFC 9651 section 4.1.6). Names are checked when a policy is loaded; whatever gets
/// here all the same is escaped or shown as `?`, since one bad name must not spoil the list.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='~' => out.push(character),
            _ => out.push('?'),
        }
    }
    out.push('"');
}

/// An Integer (RFC 9651 section 4.1.4) behind `key`.
pub(super) fn push_integer(out: &mut String, key: &str, value: u64) {
    out.push_str(key);
    push_decimal(out, value.min(MAX_INTEGER));
}
