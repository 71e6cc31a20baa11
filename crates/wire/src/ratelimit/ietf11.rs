//! draft-ietf-httpapi-ratelimit-headers-11 (May 2026): Lists of String Items (RFC 9651) with `q`,
//! `w`, `qu` in the policy and `r`, `t` in the limit.

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
        push_name(out, index, item.name);
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

/// Appends the value of `RateLimit`. An empty list is no field: then nothing is written.
///
/// ```
/// # use jeton_wire::ratelimit::{PolicyItem, write_limits};
/// let mut value = String::new();
/// let policy = PolicyItem::bucket("default", 100, 60_000_000, 100);
/// write_limits(&[policy.limit(50, 30_000_000)], &mut value);
/// assert_eq!(value, r#""default";r=50;t=30"#);
/// ```
pub fn write_limits(items: &[LimitItem<'_>], out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        push_name(out, index, item.name);
        push_integer(out, ";r=", item.remaining);
        if let Some(effective_window_s) = item.effective_window_s {
            push_integer(out, ";t=", effective_window_s);
        }
    }
}

/// A String (RFC 9651 section 4.1.6). Names are checked when a policy is loaded; whatever gets
/// here all the same is escaped or shown as `?`, since one bad name must not spoil the list.
fn push_name(out: &mut String, index: usize, name: &str) {
    out.push_str(if index == 0 { "\"" } else { ", \"" });
    for character in name.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='~' => out.push(character),
            _ => out.push('?'),
        }
    }
    out.push('"');
}

fn push_integer(out: &mut String, key: &str, value: u64) {
    out.push_str(key);
    push_decimal(out, value.min(MAX_INTEGER));
}
