//! What is allowed in files of descriptors, and hardly meant: told, and nothing more.

use super::{RLS, try_load};

/// The warnings of a policy that loads.
fn warned(policy: &str, files: &[(&str, &str)]) -> Vec<String> {
    let loaded = try_load(policy, files).unwrap_or_else(|report| panic!("{report}"));
    let doubts = loaded.report.iter();
    let doubts = doubts.filter(|found| ["W109", "W121"].contains(&found.code.id()));
    doubts
        .map(|found| format!("{}:{}: {}", found.file, found.line, found.what))
        .collect()
}

fn of(yaml: &str) -> Vec<String> {
    warned(
        RLS,
        &[("a.yaml", &format!("domain: d\ndescriptors:\n{yaml}"))],
    )
}

#[test]
fn an_empty_folder_is_told_where_it_is_named() {
    let told = warned(RLS, &[]);
    assert_eq!(told, ["jeton.toml:3: the folder \"ratelimit\" is empty"]);
}

#[test]
fn a_limit_without_a_number_lets_nothing_pass() {
    let told = of("  - key: a\n    rate_limit: { unit: day }\n");
    assert_eq!(
        told,
        ["ratelimit/a.yaml:4: `rate_limit` without `requests_per_unit` lets nothing pass"]
    );
    assert!(of("  - { key: a, rate_limit: { unit: day, requests_per_unit: 0 } }\n").is_empty());
    assert!(of("  - { key: a, rate_limit: { unlimited: true } }\n").is_empty());
}

#[test]
fn a_name_that_no_limit_of_the_domain_has_replaces_nothing() {
    let limit = |more: &str| format!("rate_limit: {{ unit: day, requests_per_unit: 1, {more} }}");
    let (named, replacing) = (limit("name: smal"), limit("replaces: [{ name: small }]"));
    let told = of(&format!(
        "  - {{ key: a, {named} }}\n  - {{ key: b, {replacing} }}\n"
    ));
    assert_eq!(
        told,
        ["ratelimit/a.yaml:4: no limit of this domain has the `name` \"small\""]
    );
    // It may stand in another file of the domain, or deeper in this one.
    let named = limit("name: small");
    let of_domain = |own: &str| format!("domain: d\ndescriptors:\n  - {{ key: {own} }}\n");
    let replaces = of_domain(&format!("b, {replacing}"));
    let has = of_domain(&format!("a, descriptors: [{{ key: c, {named} }}]"));
    let merging = format!("{RLS}merge_domains = true\n");
    let files = [("1.yaml", &replaces[..]), ("2.yaml", &has[..])];
    assert_eq!(warned(&merging, &files), [""; 0]);
    let elsewhere = has.replace("domain: d", "domain: e");
    let files = [("1.yaml", &replaces[..]), ("2.yaml", &elsewhere[..])];
    assert_eq!(warned(&merging, &files).len(), 1);
}

#[test]
fn a_descriptor_that_leads_nowhere_is_told_unless_it_takes_values_out() {
    const LIMIT: &str = "rate_limit: { unit: day, requests_per_unit: 1 }";
    assert_eq!(
        of("  - { key: a, value: b }\n"),
        ["ratelimit/a.yaml:3: the descriptor \"a\" limits nothing"]
    );
    assert_eq!(of("  - { key: a, descriptors: [{ key: b }] }\n").len(), 1);
    for wide in [
        format!("{{ key: a, {LIMIT} }}"),
        format!("{{ key: a, value: 'b*', {LIMIT} }}"),
        format!("{{ key: '*', {LIMIT} }}"),
    ] {
        let told = of(&format!("  - {wide}\n  - {{ key: a, value: b }}\n"));
        assert!(told.is_empty(), "{told:?}");
    }
    let other = of(&format!("  - {{ key: c, {LIMIT} }}\n  - {{ key: a }}\n"));
    assert_eq!(other.len(), 1);
}

const EDGE: &str = "domain: messaging\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }]\n";

fn rule(condition: &str) -> String {
    format!(
        "{RLS}[[rule]]\nname = \"r\"\nmatch = {{ {condition} }}\nkey = [\"descriptor:a\"]\n\
         algorithm = \"gcra\"\nrate = \"5/s\"\n"
    )
}

#[test]
fn rules_about_what_envoy_does_not_send_never_apply() {
    for (condition, what) in [
        ("path = \"/login\"", "no path"),
        ("method = \"POST\"", "no method"),
        ("host = \"a.example\"", "no host"),
        ("header = { x-a = \"1\" }", "no header"),
        ("with = [\"query:q\"]", "no query:q"),
    ] {
        let policy = rule(condition);
        let told = warned(&policy, &[("a.yaml", EDGE)]);
        assert!(
            told.len() == 1 && told[0].ends_with(what) && told[0].contains("never applies"),
            "{condition}: {told:?}"
        );
        let api = "[api]\nlisten = \"127.0.0.1:7070\"\n";
        assert!(warned(&format!("{api}{policy}"), &[("a.yaml", EDGE)]).is_empty());
    }
    assert!(warned(&rule("with = [\"descriptor:b\"]"), &[("a.yaml", EDGE)]).is_empty());
}

#[test]
fn a_domain_that_is_almost_one_of_the_files_is_told() {
    let told = warned(&rule("domain = \"mesaging\""), &[("a.yaml", EDGE)]);
    assert_eq!(
        told,
        ["jeton.toml:5: \"r\" is for the domain mesaging, of which no file of [rls] speaks"]
    );
    // A domain of rules alone is a use of its own.
    for domain in ["messaging", "shop"] {
        let policy = rule(&format!("domain = \"{domain}\""));
        assert!(warned(&policy, &[("a.yaml", EDGE)]).is_empty(), "{domain}");
    }
}
