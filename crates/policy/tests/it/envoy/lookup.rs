//! Which limit a descriptor of a request gets, and on which counter.

use jeton_policy::{AskedDescriptor, Buffers, Charge, Named, Policy, Ruling, Rulings, Unit};

use super::load;
use crate::common::{NOTHING, NOW};

type Entries<'a> = &'a [(&'a str, &'a str)];

/// What is charged for one descriptor: the name of the rule and the key; nothing if nothing limits it.
fn counter(policy: &Policy, domain: &str, entries: Entries<'_>) -> Option<(String, Vec<u8>)> {
    let asked = AskedDescriptor {
        entries,
        limit: None,
    };
    let mut rulings = Rulings::default();
    policy.descriptors().rule(domain, &[asked], &mut rulings);
    charged(policy, &rulings, 0)
}

fn charged(policy: &Policy, rulings: &Rulings, at: usize) -> Option<(String, Vec<u8>)> {
    let mut found = None;
    let mut keep = |charge: Charge<'_>| {
        let name = policy.rules()[charge.rule].name().to_owned();
        found = Some((name, charge.key.to_vec()));
    };
    let named = policy.descriptor_charge(&NOTHING, NOW, rulings, at, &mut keep);
    assert_eq!(found.is_some(), named == Some(Named::Charged));
    found
}

fn rule(policy: &Policy, entries: Entries<'_>) -> Option<String> {
    counter(policy, "d", entries).map(|(name, _)| name)
}

/// `limit` for `per` under the words of a flow map.
fn of(descriptors: &str) -> Policy {
    let limit = "rate_limit: { unit: hour, requests_per_unit: 5 }";
    load(&format!(
        "domain: d\ndescriptors:\n{}",
        descriptors.replace("LIMIT", limit)
    ))
}

#[test]
fn a_value_is_looked_for_before_wildcards_and_those_before_the_key_alone() {
    let policy = of(
        "  - { key: path, LIMIT }\n  - { key: path, value: '/api/*', LIMIT }\n  \
         - { key: path, value: '/api/v1*', LIMIT }\n  - { key: path, value: /api/v1/x, LIMIT }\n",
    );
    for (path, name) in [
        ("/api/v1/x", "rls:d.path_/api/v1/x"),
        // The first of the file, be it the wider one.
        ("/api/v1/y", "rls:d.path_/api/*"),
        ("/api", "rls:d.path"),
        ("", "rls:d.path"),
    ] {
        assert_eq!(
            rule(&policy, &[("path", path)]).as_deref(),
            Some(name),
            "{path}"
        );
    }
    assert_eq!(rule(&policy, &[("paths", "/api/v1/x")]), None);
}

#[test]
fn a_limit_counts_at_the_last_entry_only() {
    let policy = of(
        "  - key: a\n    LIMIT\n    descriptors:\n      - { key: b, LIMIT }\n      - key: c\n        descriptors:\n          - { key: e, LIMIT }\n",
    );
    let name = |entries: Entries<'_>| rule(&policy, entries);
    assert_eq!(name(&[("a", "1")]).as_deref(), Some("rls:d.a"));
    assert_eq!(
        name(&[("a", "1"), ("b", "2")]).as_deref(),
        Some("rls:d.a.b")
    );
    assert_eq!(name(&[("a", "1"), ("b", "2"), ("c", "3")]), None);
    assert_eq!(name(&[("a", "1"), ("c", "3")]), None);
    assert_eq!(
        name(&[("a", "1"), ("c", "3"), ("e", "4")]).as_deref(),
        Some("rls:d.a.c.e")
    );
    assert_eq!(name(&[("b", "2")]), None);
    assert_eq!(name(&[("b", "2"), ("a", "1")]), None);
    assert_eq!(name(&[]), None);
}

#[test]
fn there_is_no_way_back_out_of_a_branch() {
    let policy = of(
        "  - key: a\n    value: x\n    descriptors:\n      - { key: b, LIMIT }\n  - key: a\n    descriptors:\n      - { key: c, LIMIT }\n",
    );
    assert_eq!(rule(&policy, &[("a", "x"), ("c", "1")]), None);
    assert_eq!(
        rule(&policy, &[("a", "y"), ("c", "1")]).as_deref(),
        Some("rls:d.a.c")
    );
}

#[test]
fn domains_are_apart_and_unknown_ones_have_no_limit() {
    let policy = of("  - { key: a, LIMIT }\n");
    assert!(counter(&policy, "d", &[("a", "1")]).is_some());
    for other in ["D", "e", ""] {
        assert_eq!(counter(&policy, other, &[("a", "1")]), None);
    }
}

#[test]
fn each_value_has_a_counter_unless_it_is_shared() {
    let policy = of(
        "  - { key: any, LIMIT }\n  - { key: wild, value: 'a*', LIMIT }\n  \
         - { key: shared, value: 'a*', share_threshold: true, LIMIT }\n  - { key: fixed, value: a, LIMIT }\n  \
         - key: deep\n    value: 'a*'\n    share_threshold: true\n    descriptors:\n      - { key: user, LIMIT }\n",
    );
    let key = |entries: Entries<'_>| counter(&policy, "d", entries).unwrap().1;
    assert_ne!(key(&[("any", "a1")]), key(&[("any", "a2")]));
    assert_ne!(key(&[("wild", "a1")]), key(&[("wild", "a2")]));
    assert_eq!(key(&[("shared", "a1")]), key(&[("shared", "a2")]));
    assert!(key(&[("fixed", "a")]).is_empty());
    let deep = |path, user| key(&[("deep", path), ("user", user)]);
    assert_eq!(deep("a1", "anna"), deep("a2", "anna"));
    assert_ne!(deep("a1", "anna"), deep("a1", "bert"));
}

#[test]
fn descriptors_are_tuples() {
    let policy = of(
        "  - { key: a, value: b_c, LIMIT }\n  - { key: a_b, value: c, LIMIT }\n  - key: x\n    descriptors: [{ key: y, LIMIT }]\n",
    );
    let [one, two] = [("a", "b_c"), ("a_b", "c")].map(|entry| rule(&policy, &[entry]).unwrap());
    assert_ne!(one, two);
    let ids: Vec<_> = policy
        .rules()
        .iter()
        .map(jeton_policy::CompiledRule::id)
        .collect();
    assert!(
        ids.iter()
            .enumerate()
            .all(|(at, id)| !ids[..at].contains(id))
    );
    let key = |x, y| counter(&policy, "d", &[("x", x), ("y", y)]).unwrap().1;
    assert_ne!(key("1", "2_3"), key("1_2", "3"));
    assert_ne!(key("", "12"), key("12", ""));
}

#[test]
fn stars_in_a_key_match_keys() {
    let policy = of("  - { key: 'x-*', LIMIT }\n  - { key: 'y*', value: 'a*', LIMIT }\n");
    let counter = |key, value| counter(&policy, "d", &[(key, value)]);
    assert!(counter("x-a", "1").is_some() && counter("x", "1").is_none());
    assert_ne!(counter("x-a", "1"), counter("x-b", "1"));
    assert_ne!(counter("x-a", "1"), counter("x-a", "2"));
    assert!(counter("yy", "ab").is_some() && counter("yy", "b").is_none());
}

#[test]
fn an_unlimited_descriptor_has_no_counter_and_none_at_all_is_a_denial() {
    let policy = load(
        "domain: d\ndescriptors:\n  - { key: free, rate_limit: { unlimited: true } }\n  \
         - { key: never, rate_limit: { unit: day, requests_per_unit: 0 } }\n",
    );
    let mut rulings = Rulings::default();
    let entries: [Entries<'_>; 2] = [&[("free", "1")], &[("never", "1")]];
    let asked = entries.map(|entries| AskedDescriptor {
        entries,
        limit: None,
    });
    policy.descriptors().rule("d", &asked, &mut rulings);
    assert!(matches!(
        rulings.list(),
        [Ruling::Unlimited(0), Ruling::Limit { limit: 1, .. }]
    ));
    let mut none = |_: Charge<'_>| panic!("nothing is counted");
    let named = |at, none: &mut _| policy.descriptor_charge(&NOTHING, NOW, &rulings, at, none);
    assert_eq!(named(0, &mut none), Some(Named::Unlimited));
    assert!(matches!(named(1, &mut none), Some(Named::Denied(_))));
}

#[test]
fn a_limit_replaces_those_of_its_request_that_it_names() {
    let policy = load(
        "domain: d\ndescriptors:\n  - { key: all, rate_limit: { unit: hour, requests_per_unit: 5, name: base } }\n  \
         - { key: vip, rate_limit: { unit: hour, requests_per_unit: 9, name: vip, replaces: [{ name: base }] } }\n  \
         - { key: staff, rate_limit: { unlimited: true, replaces: [{ name: vip }, { name: base }] } }\n  \
         - { key: free, rate_limit: { unlimited: true, name: base } }\n",
    );
    let ruled = |keys: &[&str]| -> Vec<&str> {
        let entries: Vec<[(&str, &str); 1]> = keys.iter().map(|key| [(*key, "1")]).collect();
        let asked: Vec<_> = entries
            .iter()
            .map(|entries| AskedDescriptor {
                entries,
                limit: None,
            })
            .collect();
        let mut rulings = Rulings::default();
        policy.descriptors().rule("d", &asked, &mut rulings);
        let word = |ruling: &Ruling| match ruling {
            Ruling::Limit { .. } => "limit",
            Ruling::Unlimited(_) => "unlimited",
            Ruling::Replaced => "replaced",
            _ => "none",
        };
        rulings.list().iter().map(word).collect()
    };
    assert_eq!(ruled(&["all", "vip"]), ["replaced", "limit"]);
    assert_eq!(ruled(&["vip", "all"]), ["limit", "replaced"]);
    assert_eq!(ruled(&["all"]), ["limit"]);
    // One that is replaced replaces all the same.
    assert_eq!(
        ruled(&["all", "vip", "staff"]),
        ["replaced", "replaced", "unlimited"]
    );
    assert_eq!(ruled(&["vip", "free"]), ["limit", "unlimited"]);
}

#[test]
fn a_limit_of_the_request_holds_instead_and_shares_the_counter_of_the_same_span() {
    let policy = of("  - { key: a, shadow_mode: true, LIMIT }\n");
    let charge = |domain, key, unit| {
        let entries = [(key, "1")];
        let asked = AskedDescriptor {
            entries: &entries,
            limit: Some((2, unit)),
        };
        let mut rulings = Rulings::default();
        policy.descriptors().rule(domain, &[asked], &mut rulings);
        let mut found = None;
        let mut keep = |charge: Charge<'_>| {
            assert!(charge.overridden && charge.mode.has_vote());
            assert_eq!(charge.quota.limit(), 2);
            found = Some((charge.id, charge.key.to_vec()));
        };
        policy.descriptor_charge(&NOTHING, NOW, &rulings, 0, &mut keep);
        found
    };
    let file = counter(&policy, "d", &[("a", "1")]).unwrap().1;
    let own = charge("d", "a", Unit::Hour).unwrap();
    assert_eq!((own.0, &own.1), (policy.rules()[0].id(), &file));
    let other = charge("d", "a", Unit::Day).unwrap();
    assert_ne!(other.0, own.0);
    assert_eq!(charge("d", "b", Unit::Day).unwrap().0, other.0);
    assert_ne!(charge("d", "b", Unit::Day), charge("d", "b", Unit::Week));
    // As the reference service has it: a domain that no file speaks of has no limits.
    assert_eq!(charge("e", "a", Unit::Hour), None);
}

#[test]
fn limits_of_descriptors_say_nothing_of_requests_elsewhere() {
    let policy = of("  - { key: a, LIMIT }\n");
    let mut buffers = Buffers::default();
    let request = crate::common::Request::get("/");
    let evaluation = policy.evaluate(&request, &NOTHING, NOW, &mut buffers);
    assert!(evaluation.is_unmatched());
}

#[test]
fn values_of_requests_are_in_metrics_where_the_file_wants_them() {
    let policy = of(
        "  - key: plain\n    LIMIT\n  - key: each\n    value_to_metric: true\n    LIMIT\n  \
         - key: wild\n    value: 'a*'\n    value_to_metric: true\n    descriptors: [{ key: user, LIMIT }]\n  \
         - key: shared\n    value: 'a*'\n    share_threshold: true\n    value_to_metric: true\n    descriptors: [{ key: user, detailed_metric: true, LIMIT }]\n  \
         - key: all\n    descriptors: [{ key: user, detailed_metric: true, LIMIT }]\n",
    );
    let metrics: Vec<Option<String>> = policy
        .descriptors()
        .limits()
        .iter()
        .map(|limit| limit.metric("d", &[("k", "a1"), ("user", "anna")]))
        .collect();
    let some = |text: &str| Some(text.to_owned());
    let wanted = [
        None,
        some("d.each_a1"),
        some("d.wild_a1.user"),
        some("d.shared_a*.user_anna"),
        some("d.all_a1.user_anna"),
    ];
    assert_eq!(metrics, wanted);
}
