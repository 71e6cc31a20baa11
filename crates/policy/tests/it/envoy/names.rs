//! What limits are called, and that their counters are told apart by what they are for.

use std::collections::BTreeMap;

use jeton_core::RuleId;
use jeton_policy::{CompiledRule, Policy};

use super::{RLS, load, try_load};

const LIMIT: &str = "rate_limit: { unit: day, requests_per_unit: 1 }";

/// The path and the name of each limit.
fn names(policy: &Policy) -> BTreeMap<String, String> {
    let limits = policy.told_rules().iter();
    limits
        .map(|rule| (path(rule), rule.name().to_owned()))
        .collect()
}

fn ids(policy: &Policy) -> BTreeMap<String, RuleId> {
    let limits = policy.told_rules().iter();
    limits.map(|rule| (path(rule), rule.id())).collect()
}

fn path(rule: &CompiledRule) -> String {
    rule.rule().descriptor.as_ref().unwrap().to_string()
}

fn of(descriptors: &[&str]) -> Policy {
    let list: Vec<String> = descriptors
        .iter()
        .map(|own| format!("  - {{ {own}, {LIMIT} }}\n"))
        .collect();
    load(&format!("domain: d\ndescriptors:\n{}", list.concat()))
}

#[test]
fn names_that_would_be_the_same_carry_a_hash_in_whatever_order_they_stand() {
    let (one, other) = ("key: a, value: b_c", "key: a_b, value: c");
    let (there, back) = (of(&[one, other]), of(&[other, one]));
    assert_eq!(names(&there), names(&back));
    assert_eq!(ids(&there), ids(&back));
    for name in names(&there).values() {
        assert!(
            name.starts_with("rls:d.a_b_c~") && name.len() == 12 + 16,
            "{name}"
        );
    }
    // A key that looks like another one with its hash does not take its name.
    let hashed = names(&there)["(a=b_c) of the domain d"].clone();
    let sly = format!("key: {}", hashed.strip_prefix("rls:d.").unwrap());
    let all = names(&of(&[one, other, &sly]));
    let apart: std::collections::BTreeSet<_> = all.values().collect();
    assert_eq!(apart.len(), 3, "{all:?}");
    assert_eq!(all["(a=b_c) of the domain d"], hashed);
}

#[test]
fn a_limit_keeps_its_counter_when_another_comes_that_is_called_alike() {
    let one = "key: a, value: b_c";
    let (before, after) = (of(&[one]), of(&["key: a_b, value: c", one]));
    let path = "(a=b_c) of the domain d";
    assert_eq!(ids(&before)[path], ids(&after)[path]);
    assert_ne!(ids(&after)["(a_b=c) of the domain d"], ids(&after)[path]);
    let told = after.diff(&before).to_string();
    assert!(
        told.contains(": added")
            && told.contains(": changed, counters kept: name rls:d.a_b_c -> rls:d.a_b_c~"),
        "{told}"
    );
    assert!(!told.contains("removed"), "{told}");
}

#[test]
fn points_in_domains_and_keys_make_no_two_limits_one() {
    let nested = format!(
        "domain: d\ndescriptors: [{{ key: f, descriptors: [{{ key: g, {LIMIT} }}] }}, {{ key: f.g, {LIMIT} }}]\n"
    );
    let domain = format!("domain: d.f\ndescriptors: [{{ key: g, {LIMIT} }}]\n");
    let loaded = try_load(RLS, &[("a.yaml", &nested), ("b.yaml", &domain)]);
    let policy = loaded.unwrap().policy;
    let ids: std::collections::HashSet<_> = ids(&policy).into_values().collect();
    assert_eq!(ids.len(), 3);
    let all = names(&policy);
    let apart: std::collections::BTreeSet<_> = all.values().collect();
    assert_eq!(apart.len(), 3);
    assert!(apart.iter().all(|name| name.starts_with("rls:d.f.g~")));
}

#[test]
fn a_value_is_told_from_none_and_a_counter_for_all_from_one_for_each() {
    let ids = |own: &str| ids(&of(&[own])).into_values().next().unwrap();
    let all = [
        "key: k",
        "key: k, value: v",
        "key: k, value: '*'",
        "key: k, value: '*', share_threshold: true",
        "key: k=v",
    ];
    let apart: std::collections::HashSet<_> = all.iter().map(|own| ids(own)).collect();
    assert_eq!(apart.len(), all.len());
    // For ever: what is counted on a shared store outlives every process.
    assert_eq!(ids("key: k, value: v").get(), 13_955_308_420_850_946_610);
}
