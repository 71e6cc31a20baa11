//! Why a limit of a file applies to descriptors, and why not.

use jeton_policy::{
    AskedDescriptor, Explained, Facts, Fingerprints, Order, Orders, Outcome, Policy, TermsFrom,
};

use super::{RLS, load, try_load};
use crate::common::{NOTHING, NOW};

/// What descriptors tell rules.
struct Told<'a>(&'a str, &'a [&'a [(&'a str, &'a str)]]);

impl Facts for Told<'_> {
    fn client_ip(&self) -> Option<std::net::IpAddr> {
        self.descriptor("remote_address")?.parse().ok()
    }
    fn method(&self) -> Option<&str> {
        None
    }
    fn host(&self) -> Option<&str> {
        None
    }
    fn path(&self) -> Option<&str> {
        None
    }
    fn query(&self) -> Option<&str> {
        None
    }
    fn header(&self, _: &str, _: &mut dyn FnMut(&[u8])) {}
    fn domain(&self) -> Option<&str> {
        Some(self.0)
    }
    fn descriptor(&self, name: &str) -> Option<&str> {
        let mut entries = self.1.iter().flat_map(|one| one.iter());
        entries
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

type Entries<'a> = &'a [&'a [(&'a str, &'a str)]];

fn explain(policy: &Policy, orders: &Orders, domain: &str, all: Entries<'_>) -> Explained {
    let asked: Vec<AskedDescriptor<'_>> = all
        .iter()
        .map(|entries| AskedDescriptor {
            entries,
            limit: None,
        })
        .collect();
    let fingerprints = Fingerprints::new(b"random bytes");
    let facts = Told(domain, all);
    policy.explain_descriptors(&facts, (domain, &asked), orders, NOW, &fingerprints)
}

/// A line for each rule and limit.
fn told(policy: &Policy, domain: &str, all: Entries<'_>) -> Vec<String> {
    let explained = explain(policy, &NOTHING, domain, all);
    let line = |rule: &jeton_policy::RuleExplained| format!("{}: {}", rule.rule, rule.outcome);
    explained.rules.iter().map(line).collect()
}

#[test]
fn each_limit_says_whether_a_descriptor_leads_to_it() {
    let policy = load(
        "domain: d\ndescriptors:\n  \
         - { key: user, rate_limit: { unit: day, requests_per_unit: 5 } }\n  \
         - { key: user, value: root, rate_limit: { unlimited: true } }\n  \
         - { key: user, value: 'r*', rate_limit: { unit: day, requests_per_unit: 0 } }\n  \
         - key: user\n    value: deep\n    descriptors:\n      \
         - { key: path, rate_limit: { unit: day, requests_per_unit: 1 } }\n  \
         - { key: other, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 0 } }\n",
    );
    let anna = told(&policy, "d", &[&[("user", "anna")], &[("other", "x")]]);
    assert_eq!(
        anna,
        [
            "rls:d.user: charged",
            "rls:d.user_root: no descriptor is (user=root)",
            "rls:d.user_r*: no descriptor is (user=r*)",
            "rls:d.user_deep.path: no descriptor is (user=deep, path=*)",
            "rls:d.other: would refuse, and has no vote: limit = \"deny\"",
        ]
    );
    let root = told(&policy, "d", &[&[("user", "root")]]);
    assert_eq!(
        &root[..3],
        [
            "rls:d.user: rls:d.user_root is found before it",
            "rls:d.user_root: unlimited",
            "rls:d.user_r*: rls:d.user_root is found before it",
        ]
    );
    let robert = told(&policy, "d", &[&[("user", "robert")]]);
    assert_eq!(robert[2], "rls:d.user_r*: refuses: limit = \"deny\"");
    // The value leads to a branch that has no limit itself.
    let deep = told(&policy, "d", &[&[("user", "deep")]]);
    let nothing = "a descriptor is found before it that has no limit there";
    assert_eq!(deep[0], format!("rls:d.user: {nothing}"));
    let elsewhere = told(&policy, "e", &[&[("user", "anna")]]);
    assert!(
        elsewhere.len() == 5
            && elsewhere
                .iter()
                .all(|line| line.ends_with("domain is not d")),
        "{elsewhere:?}"
    );
}

#[test]
fn limits_that_are_replaced_name_the_one_that_does() {
    let policy = load(
        "domain: d\ndescriptors:\n  \
         - { key: a, rate_limit: { unit: day, requests_per_unit: 5, name: small } }\n  \
         - { key: b, rate_limit: { unit: day, requests_per_unit: 9, replaces: [{ name: small }] } }\n",
    );
    let all: Entries<'_> = &[&[("a", "1")], &[("b", "2")]];
    let lines = told(&policy, "d", all);
    assert_eq!(
        lines,
        ["rls:d.a: replaced by rule rls:d.b", "rls:d.b: charged"]
    );
}

#[test]
fn what_a_limit_allows_is_told_with_its_key_and_what_operators_set() {
    let policy = load(
        "domain: d\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 5 } }]\n",
    );
    let all: Entries<'_> = &[&[("user", "anna")]];
    let of = |orders: &Orders| explain(&policy, orders, "d", all).rules.pop().unwrap();
    let speaks = of(&NOTHING).speaks.unwrap();
    assert_eq!(speaks.allows, "5 per UTC day");
    assert_eq!(speaks.at_most, "at most 10 in any 1 day");
    assert_eq!(speaks.key[0].to_string(), "anna");
    assert_eq!(speaks.key[0].part, "descriptor:user");

    let (_, rule) = policy.rule("rls:d.user").unwrap();
    let mut key = Vec::new();
    rule.named_key(&["anna"], &mut key).unwrap();
    let rule = "rls:d.user".to_owned();
    let block = Order::Block {
        rule,
        key,
        until: None,
    };
    let (orders, left_out) = policy.orders(&[block]);
    assert!(left_out.is_empty());
    let blocked = of(&orders);
    assert!(
        matches!(blocked.outcome, Outcome::Refuses(_)),
        "{blocked:?}"
    );
    assert_eq!(blocked.speaks.unwrap().terms, TermsFrom::Rule);
}

#[test]
fn a_list_decides_before_limits_of_files() {
    let policy = format!("{RLS}[lists]\nblock = [\"192.0.2.7\"]\n");
    let yaml = "domain: d\ndescriptors: [{ key: remote_address, rate_limit: { unit: day, requests_per_unit: 5 } }]\n";
    let policy = try_load(&policy, &[("a.yaml", yaml)]).unwrap().policy;
    let lines = told(&policy, "d", &[&[("remote_address", "192.0.2.7")]]);
    assert_eq!(
        lines,
        ["rls:d.remote_address: a list decides before any rule"]
    );
}
