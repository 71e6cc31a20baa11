//! Limits of descriptors as rules, and rules about domains and descriptors.

use jeton_policy::{Buffers, DoorWords, Mode, Policy, PolicyTable, Verdict};

use super::{RLS, load, try_load};
use crate::common::{NOTHING, NOW, refused, try_load as try_load_alone};

#[test]
fn limits_are_rules_with_names_modes_and_words() {
    let policy = load(
        "domain: shop\ndescriptors:\n  - key: user\n    shadow_mode: true\n    \
         rate_limit: { unit: week, requests_per_unit: 70 }\n  - key: \"q\\\"q\"\n    \
         rate_limit: { unit: day, requests_per_unit: 1 }\n",
    );
    let [user, odd, _own] = policy.rules() else {
        panic!("{:?}", policy.rules())
    };
    assert_eq!((user.name(), user.mode()), ("rls:shop.user", Mode::Shadow));
    assert!(odd.name().starts_with("rls:shop.q?q~"), "{}", odd.name());
    let window = user.quota().and_then(jeton_core::Quota::window).unwrap();
    assert_eq!(window.as_micros(), 7 * 86_400_000_000);
    let words = user.words();
    assert_eq!(words.scope, "descriptors (user=*) of the domain shop");
    assert_eq!(words.missing, "");
}

#[test]
fn names_are_short_and_the_same_in_every_process() {
    let long = "x".repeat(100);
    let yaml = format!(
        "domain: {long}\ndescriptors:\n  - {{ key: a, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n  \
         - {{ key: b, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"
    );
    let names = |policy: &Policy| -> Vec<String> {
        policy
            .rules()
            .iter()
            .map(|rule| rule.name().to_owned())
            .collect()
    };
    let policy = load(&yaml);
    assert_eq!(names(&policy), names(&load(&yaml)));
    assert_ne!(names(&policy)[0], names(&policy)[1]);
    assert!(names(&policy).iter().all(|name| name.len() <= 64));
}

#[test]
fn a_reload_tells_what_becomes_of_each_limit() {
    let yaml = |limits: &str| {
        let yaml = format!("domain: d\ndescriptors:\n{limits}");
        try_load(RLS, &[("a.yaml", &yaml)]).unwrap().policy
    };
    let old = yaml(
        "  - { key: a, rate_limit: { unit: day, requests_per_unit: 1 } }\n  \
         - { key: b, rate_limit: { unit: day, requests_per_unit: 1 } }\n",
    );
    let new = yaml("  - { key: a, rate_limit: { unit: day, requests_per_unit: 2 } }\n");
    let changes = new.diff(&old);
    assert!(changes.refused().is_empty());
    let told = changes.to_string();
    assert!(!told.contains("limits of requests"), "{told}");
    assert!(
        told.contains("rule rls:d.a: changed, counters kept: limit 1 -> 2"),
        "{told}"
    );
    assert!(told.contains("rule rls:d.b: removed"), "{told}");
}

#[test]
fn a_rule_speaks_of_domains_and_of_descriptors() {
    const RULE: &str = "[[rule]]\nname = \"a\"\nkey = [\"descriptor:user\"]\nalgorithm = \"gcra\"\n\
                        rate = \"5/s\"\nmatch = { domain = [\"shop\", \"edge\"] }\n";
    struct Asked(Option<&'static str>);
    impl jeton_policy::Facts for Asked {
        fn client_ip(&self) -> Option<std::net::IpAddr> {
            None
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
            self.0
        }
        fn descriptor(&self, name: &str) -> Option<&str> {
            (name == "user").then_some("anna")
        }
    }
    let policy = try_load(&format!("{RLS}{RULE}"), &[]).unwrap().policy;
    let mut buffers = Buffers::default();
    let mut keys = |domain| {
        let evaluation = policy.evaluate(&Asked(domain), &NOTHING, NOW, &mut buffers);
        assert_eq!(evaluation.verdict(), Verdict::Charges);
        evaluation
            .charges()
            .map(|charge| charge.key.to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(Some("shop")), [b"\x01\0\0\0\x04anna".to_vec()]);
    assert_eq!(keys(Some("edge")).len(), 1);
    assert_eq!(keys(Some("Shop")).len() + keys(None).len(), 0);
}

#[test]
fn what_the_service_can_never_do_is_refused_unless_there_is_another_door() {
    const RLS: &str = "[rls]\nlisten = \"127.0.0.1:8081\"\n";
    const RULE: &str = "[[rule]]\nname = \"a\"\nkey = [\"global\"]\n";
    const BUCKET: &str = "algorithm = \"gcra\"\nrate = \"50/s\"\n";
    for (rest, what) in [
        (
            format!("{BUCKET}count = {{ status = 401 }}\n"),
            "counts answers, which [rls] does not see",
        ),
        (
            format!("{BUCKET}cost = {{ response = \"header:x-units\", estimate = 5 }}\n"),
            "costs what answers say, which [rls] does not see",
        ),
        (
            "algorithm = \"concurrency\"\nlimit = 5\nlease = \"9s\"\n".to_owned(),
            "needs somebody who gives units back",
        ),
    ] {
        let said = refused(&format!("{RLS}{RULE}{rest}")).to_string();
        assert!(said.contains(what), "{said}");
        let proxy = "[proxy]\nlisten = \"127.0.0.1:8080\"\nupstream = \"http://127.0.0.1:1\"\n";
        assert!(
            try_load_alone(&format!("{proxy}{RLS}{RULE}{rest}")).is_ok(),
            "{rest}"
        );
    }
}

#[test]
fn the_door_is_told_with_its_files_and_who_may_ask() {
    let yaml = "domain: d\ndescriptors:\n  - { key: a, rate_limit: { unit: day, requests_per_unit: 1 } }\n  \
                - { key: b, rate_limit: { unit: day, requests_per_unit: 1 } }\n";
    let told = |more: &str, address: &str| {
        let policy = format!("{}{more}", RLS.replace("127.0.0.1", address));
        let files = [("a.yaml", yaml), ("b.yaml", "domain: e\n")];
        let policy = try_load(&policy, &files).unwrap().policy;
        let table = PolicyTable::new("jeton.toml", &policy).to_string();
        let all = DoorWords::all(&policy);
        let words: Vec<String> = all.into_iter().map(|door| door.meaning).collect();
        (words, table.replace("\n      ", " "))
    };
    let (words, table) = told("", "127.0.0.1");
    let limits = "at most 10000 connections, 10000 decisions at once";
    let files = "2 files in ratelimit, with 2 limits in 2 domains";
    let wanted = format!("Envoy at 127.0.0.1:8081, open to this machine; {files}; {limits}");
    assert_eq!(words, [&wanted[..]]);
    assert!(table.contains(&format!("  rls: {wanted}")), "{table}");
    let (words, _) = told("open = true\n", "0.0.0.0");
    let open = "open: everybody who reaches it may ask, and spend what clients have left";
    assert!(words[0].contains(open), "{words:?}");
    let tls = "tls = { cert = \"c.pem\", key = \"k.pem\", client_ca = \"mesh.pem\" }\n";
    let (words, _) = told(tls, "0.0.0.0");
    let by = "Envoy at 0.0.0.0:8081 by TLS, for callers with a certificate of mesh.pem;";
    assert!(words[0].starts_with(by), "{words:?}");
    let every = "[proxy]\nlisten = \"127.0.0.1:8080\"\nupstream = \"http://127.0.0.1:1\"\n\
                 [api]\nlisten = \"127.0.0.1:7070\"\n[resp]\nlisten = \"127.0.0.1:6380\"\n";
    let (words, _) = told(every, "127.0.0.1");
    assert_eq!(words.len(), 4);
    assert_eq!(
        words[0],
        "clients at 127.0.0.1:8080, in front of http://127.0.0.1:1"
    );
    assert_eq!(
        words[1],
        "callers of the API at 127.0.0.1:7070, open to this machine"
    );
}
