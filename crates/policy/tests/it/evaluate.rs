//! Which rules speak of a request, in which order, and what they charge.

use jeton_core::Quota;
use jeton_policy::{Buffers, Counter, Denied, DenyReason, Mode, Policy, Verdict};
use proptest::prelude::*;

use crate::common::{NOTHING, NOW, Request, load};

const LOG: &str = "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1m\"\n";

fn rule(name: &str, more: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nkey = \"client-ip\"\n{LOG}{more}\n")
}

/// What a policy says, with rules by name.
#[derive(Debug, PartialEq)]
struct Said {
    verdict: Verdict,
    charged: Vec<String>,
    unmatched: bool,
}

fn ask(policy: &Policy, request: &Request) -> Said {
    let mut buffers = Buffers::default();
    let evaluation = policy.evaluate(request, &NOTHING, NOW, &mut buffers);
    let name = |index: usize| policy.rules()[index].name().to_owned();
    Said {
        verdict: evaluation.verdict(),
        charged: evaluation
            .charges()
            .map(|charge| name(charge.rule))
            .collect(),
        unmatched: evaluation.is_unmatched(),
    }
}

fn charged(policy: &Policy, request: &Request) -> Vec<String> {
    let said = ask(policy, request);
    assert_eq!(said.verdict, Verdict::Charges);
    said.charged
}

#[test]
fn all_rules_that_match_are_charged_in_the_order_of_the_file() {
    let policy = load(
        &[
            rule("all", ""),
            rule("get", "match = { method = \"GET\" }"),
            rule("post", "match = { method = \"POST\" }"),
            rule("host", "match = { host = \"api.example\" }"),
            rule("path", "match = { path = \"/a/{x..}\" }"),
            rule(
                "with",
                "match = { with = [\"header:authorization\", \"cookie:sid\"] }",
            ),
            rule("without", "match = { without = \"header:authorization\" }"),
            rule("header", "match = { header = { X-Tier = \"free\" } }"),
        ]
        .concat(),
    );
    let names = |request: Request| charged(&policy, &request);
    assert_eq!(names(Request::get("/b")), ["all", "get", "host", "without"]);
    assert_eq!(
        names(Request::new("HEAD", "/b")),
        ["all", "get", "host", "without"]
    );
    assert_eq!(
        names(Request::new("PUT", "/A/b").host("x")),
        ["all", "path", "without"]
    );
    assert_eq!(
        names(Request::new("POST", "/b").host("API.example.:8080")),
        ["all", "post", "host", "without"]
    );
    let login = Request::get("/b").host("x").header("authorization", "");
    assert_eq!(names(login.clone()), ["all", "get"]);
    assert_eq!(
        names(login.header("cookie", "a=1; sid=2")),
        ["all", "get", "with"]
    );
    let free = Request::get("/b")
        .host("x")
        .header("x-tier", "paid")
        .header("x-tier", "free");
    assert_eq!(names(free), ["all", "get", "without", "header"]);
    let tier = Request::get("/b").host("x").header("x-tier", "freely");
    assert_eq!(names(tier), ["all", "get", "without"]);
}

/// Paths that a service which decodes `%2F` before it resolves dots answers like `/login`.
const DODGES: [&str; 10] = [
    "/%2flogin",
    "/%2Flogin",
    "/x/..%2flogin",
    "/x%2f..%2flogin",
    "/.%2flogin",
    "/login%2f..%2flogin",
    "/login/..%2flogin",
    "/a%2f../login",
    "/x%5c..%5clogin",
    "/x\\..\\LOGIN",
];

#[test]
fn f41_no_encoded_slash_dodges_a_rule() {
    let policy = load(&rule("login", "match = { path = \"/login\" }"));
    for path in DODGES {
        assert_eq!(charged(&policy, &Request::get(path)), ["login"], "{path}");
    }
    // Each of these is /login to a service that takes other things for slashes, or nothing.
    for path in [
        "/a%2fb/../login",
        "/a\\b/../login",
        "/a\\b%2f..%2flogin",
        "/a%5cb%2f..%2flogin",
        "/a%2fb\\..\\login",
    ] {
        assert_eq!(charged(&policy, &Request::get(path)), ["login"], "{path}");
    }
    assert!(ask(&policy, &Request::get("/log%2fin")).unmatched);

    let denies = "[[rule]]\nname = \"no\"\nlimit = \"deny\"\nmatch = { path = \"/login\" }\n";
    let policy = load(denies);
    for path in DODGES {
        let said = ask(&policy, &Request::get(path)).verdict;
        assert!(matches!(said, Verdict::Denied(_)), "{path}");
    }
}

#[test]
fn f41_no_encoded_slash_lifts_a_rule() {
    let free = "[[rule]]\nname = \"free\"\nlimit = \"unlimited\"\nreplaces = [\"all\"]\n\
                match = { path = \"/static/{file..}\" }\n";
    let policy = load(&[&rule("all", ""), free].concat());
    for path in ["/static/a", "/static/a%2fb", "/static%2f%2e/../static/a"] {
        let lifted = charged(&policy, &Request::get(path));
        assert_eq!(lifted, Vec::<String>::new(), "{path}");
    }
    // To one service this is a file, to the other an export.
    for path in [
        "/static/..%2fexport",
        "/static%2fa",
        "/a%2fb/../static/x",
        "/static/..\\export",
    ] {
        assert_eq!(charged(&policy, &Request::get(path)), ["all"], "{path}");
    }
}

#[test]
fn f42_two_rules_of_one_client_have_two_counters() {
    let policy = load(&[rule("a", ""), rule("b", "")].concat());
    let mut buffers = Buffers::default();
    let request = Request::get("/");
    let evaluation = policy.evaluate(&request, &NOTHING, NOW, &mut buffers);
    let charges: Vec<_> = evaluation.charges().collect();
    assert_eq!(charges[0].key, charges[1].key);
    assert_ne!(charges[0].id, charges[1].id);
}

#[test]
fn f51_a_rule_with_two_matching_paths_is_charged_once() {
    let policy = load(&rule(
        "a",
        "match = { path = [\"/x\", \"/{any}\", \"/{all..}\"] }",
    ));
    assert_eq!(charged(&policy, &Request::get("/x")), ["a"]);
}

#[test]
fn a_request_that_no_rule_speaks_of_is_unmatched() {
    let policy = load(&rule("a", "match = { path = \"/x\" }"));
    let said = ask(&policy, &Request::get("/y"));
    assert_eq!(
        said,
        Said {
            verdict: Verdict::Charges,
            charged: vec![],
            unmatched: true
        }
    );
    assert!(!ask(&policy, &Request::get("/x")).unmatched);
    let policy = load("[[rule]]\nname = \"a\"\nlimit = \"unlimited\"\n");
    let said = ask(&policy, &Request::get("/y"));
    assert_eq!(
        said,
        Said {
            verdict: Verdict::Charges,
            charged: vec![],
            unmatched: false
        }
    );
}

#[test]
fn f55_lists_come_before_rules_and_block_before_exempt() {
    let lists =
        "[lists]\nexempt = [\"10.0.0.0/8\", \"2001:db8::/32\"]\nblock = [\"10.9.0.0/16\"]\n";
    let policy = load(&format!(
        "{lists}{}[[rule]]\nname = \"no\"\nlimit = \"deny\"\n",
        rule("a", "")
    ));
    let verdict = |ip: &str| {
        let said = ask(&policy, &Request::get("/").from(ip));
        assert!(said.charged.is_empty() && !said.unmatched);
        said.verdict
    };
    assert_eq!(verdict("10.1.2.3"), Verdict::Exempt);
    assert_eq!(verdict("::ffff:10.1.2.3"), Verdict::Exempt);
    assert_eq!(verdict("2001:db8::1"), Verdict::Exempt);
    assert_eq!(verdict("10.9.2.3"), Verdict::Blocked);
    assert_eq!(verdict("::ffff:10.9.2.3"), Verdict::Blocked);
    let denied = Denied {
        rule: 1,
        reason: DenyReason::Word,
    };
    assert_eq!(verdict("11.1.2.3"), Verdict::Denied(denied));
}

#[test]
fn f55_probes_of_the_service_are_exempted_by_path() {
    let probes = "[[rule]]\nname = \"probes\"\nlimit = \"unlimited\"\nreplaces = \"all\"\n\
                  match = { method = \"GET\", path = [\"/healthz\", \"/ready\"] }\n";
    let policy = load(&(rule("all", "") + probes));
    for path in ["/healthz", "//healthz/", "/READY?verbose"] {
        let said = ask(&policy, &Request::get(path));
        assert_eq!(
            said,
            Said {
                verdict: Verdict::Charges,
                charged: vec![],
                unmatched: false
            }
        );
    }
    assert_eq!(charged(&policy, &Request::new("POST", "/healthz")), ["all"]);
}

#[test]
fn f20_deny_comes_before_replaces_and_unlimited_lifts_only_its_own_rule() {
    let policy = load(&[
        rule("all", ""),
        "[[rule]]\nname = \"staff\"\nlimit = \"unlimited\"\nreplaces = \"all\"\nmatch = { with = \"header:x-staff\" }\n".to_owned(),
        "[[rule]]\nname = \"free\"\nlimit = \"unlimited\"\nmatch = { with = \"header:x-free\" }\n".to_owned(),
        "[[rule]]\nname = \"banned\"\nlimit = \"deny\"\nmatch = { with = \"header:x-banned\" }\n".to_owned(),
    ]
    .concat());
    assert_eq!(charged(&policy, &Request::get("/")), ["all"]);
    assert_eq!(
        charged(&policy, &Request::get("/").header("x-free", "")),
        ["all"]
    );
    let staff = Request::get("/").header("x-staff", "");
    assert_eq!(charged(&policy, &staff), Vec::<String>::new());
    let denied = Denied {
        rule: 3,
        reason: DenyReason::Word,
    };
    assert_eq!(
        ask(&policy, &staff.header("x-banned", "")).verdict,
        Verdict::Denied(denied)
    );
}

#[test]
fn a_rule_replaces_the_named_ones_when_it_matches() {
    let policy = load(
        &[
            rule("wide", ""),
            rule(
                "narrow",
                "replaces = [\"wide\"]\nmatch = { path = \"/a/{x..}\" }",
            ),
            rule(
                "narrowest",
                "replaces = [\"narrow\"]\nmatch = { path = \"/a/b\" }",
            ),
        ]
        .concat(),
    );
    assert_eq!(charged(&policy, &Request::get("/")), ["wide"]);
    assert_eq!(charged(&policy, &Request::get("/a")), ["narrow"]);
    // A replaced rule still matches, so what it replaces stays replaced.
    assert_eq!(charged(&policy, &Request::get("/a/b")), ["narrowest"]);
}

#[test]
fn a_rule_in_shadow_lifts_no_limit() {
    let policy = load(
        &[
            rule("old", ""),
            rule(
                "trial",
                "mode = \"shadow\"\nreplaces = [\"old\", \"earlier\"]",
            ),
            rule("earlier", "mode = \"shadow\""),
        ]
        .concat(),
    );
    assert_eq!(charged(&policy, &Request::get("/")), ["old", "trial"]);
    let mut buffers = Buffers::default();
    let request = Request::get("/");
    let evaluation = policy.evaluate(&request, &NOTHING, NOW, &mut buffers);
    let modes: Vec<Mode> = evaluation.charges().map(|charge| charge.mode).collect();
    assert_eq!(modes, [Mode::Enforce, Mode::Shadow]);
}

#[test]
fn f40_a_client_without_address_gets_what_the_rule_says() {
    let mut nobody = Request::get("/");
    nobody.client_ip = None;
    let with = |missing: &str| load(&rule("a", missing));
    assert_eq!(charged(&with(""), &nobody), ["a"]);
    assert_eq!(charged(&with("missing = \"share\""), &nobody), ["a"]);
    let said = ask(&with("missing = \"skip\""), &nobody);
    assert_eq!(
        said,
        Said {
            verdict: Verdict::Charges,
            charged: vec![],
            unmatched: true
        }
    );
    let denied = Denied {
        rule: 0,
        reason: DenyReason::MissingKey,
    };
    assert_eq!(
        ask(&with("missing = \"deny\""), &nobody).verdict,
        Verdict::Denied(denied)
    );
}

#[test]
fn a_skipped_or_replaced_rule_neither_replaces_nor_denies() {
    let key = "[[rule]]\nname = \"key\"\nkey = \"header:x-key\"\n";
    let skip = format!("{key}{LOG}missing = \"skip\"\nreplaces = [\"all\"]\n");
    let policy = load(&(rule("all", "") + &skip));
    assert_eq!(charged(&policy, &Request::get("/")), ["all"]);
    assert_eq!(
        charged(&policy, &Request::get("/").header("x-key", "1")),
        ["key"]
    );

    let deny = format!("{key}{LOG}missing = \"deny\"\n");
    let policy = load(&(rule("all", "replaces = [\"key\"]") + &deny));
    assert_eq!(charged(&policy, &Request::get("/")), ["all"]);
}

#[test]
fn refusals_in_shadow_are_only_told() {
    let policy = load(&[
        rule("all", ""),
        "[[rule]]\nname = \"no\"\nlimit = \"deny\"\nmode = \"shadow\"\n".to_owned(),
        format!("[[rule]]\nname = \"key\"\nkey = \"header:x-key\"\nmissing = \"deny\"\nmode = \"shadow\"\n{LOG}"),
    ]
    .concat());
    let mut buffers = Buffers::default();
    let request = Request::get("/");
    let evaluation = policy.evaluate(&request, &NOTHING, NOW, &mut buffers);
    assert_eq!(evaluation.verdict(), Verdict::Charges);
    assert_eq!(evaluation.charges().count(), 1);
    let told: Vec<(usize, DenyReason)> = evaluation
        .shadow_denials()
        .iter()
        .map(|denied| (denied.rule, denied.reason))
        .collect();
    assert_eq!(told, [(1, DenyReason::Word), (2, DenyReason::MissingKey)]);
}

#[test]
fn f53_preflights_have_a_counter_of_their_own_ten_times_as_large() {
    let policy = load(&rule("a", ""));
    let mut buffers = Buffers::default();
    let preflight = Request::preflight("/");
    let evaluation = policy.evaluate(&preflight, &NOTHING, NOW, &mut buffers);
    let charge = evaluation.charges().next().unwrap();
    assert_eq!(charge.counter, Counter::Preflights);
    assert_eq!(charge.id, policy.rules()[0].preflight_id());
    assert_ne!(charge.id, policy.rules()[0].id());
    assert_eq!(charge.quota.limit(), 100);

    let plain = Request::new("OPTIONS", "/");
    let mut buffers = Buffers::default();
    let evaluation = policy.evaluate(&plain, &NOTHING, NOW, &mut buffers);
    let charge = evaluation.charges().next().unwrap();
    assert_eq!(charge.counter, Counter::Requests);
    assert_eq!(charge.id, policy.rules()[0].id());
    assert_eq!(charge.quota.limit(), 10);
    // All three signs are needed.
    for request in [
        Request::get("/")
            .header("origin", "x")
            .header("access-control-request-method", "GET"),
        plain.clone().header("origin", "x"),
        plain.header("access-control-request-method", "GET"),
    ] {
        let mut buffers = Buffers::default();
        assert!(
            policy
                .evaluate(&request, &NOTHING, NOW, &mut buffers)
                .charges()
                .next()
                .unwrap()
                .counter
                == Counter::Requests
        );
    }
}

#[test]
fn f53_a_preflight_is_not_refused_for_credentials_that_browsers_leave_out() {
    let policy = load(&format!(
        "[[rule]]\nname = \"a\"\nkey = \"header:authorization\"\nmissing = \"deny\"\n{LOG}"
    ));
    assert_eq!(charged(&policy, &Request::preflight("/")), ["a"]);
    assert!(matches!(
        ask(&policy, &Request::get("/")).verdict,
        Verdict::Denied(_)
    ));
}

#[test]
fn f53_ten_times_as_much_as_a_quota_can_hold() {
    let preflight = |limit: u64| {
        let policy = load(&format!(
            "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"sliding-log\"\nlimit = {limit}\nwindow = \"1m\"\n"
        ));
        policy.rules()[0].preflight_quota().map(Quota::limit)
    };
    assert_eq!(preflight(100_000_000), Some(1_000_000_000));
    assert_eq!(preflight(300_000_000), Some(900_000_000));
    assert_eq!(preflight(1_000_000_000), Some(1_000_000_000));
    let yearly = load(
        "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/365d\"\nburst = 13\n",
    );
    assert_eq!(
        yearly.rules()[0].preflight_quota().map(Quota::limit),
        Some(130)
    );
}

#[test]
fn more_rules_than_one_step_can_hold_are_no_decision() {
    let rules: String = (0..33)
        .map(|n| rule(&format!("r{n}"), "match = { path = \"/{all..}\" }"))
        .collect();
    let policy = load(&rules);
    let said = ask(&policy, &Request::get("/"));
    assert_eq!(said.verdict, Verdict::TooManyRules);
    assert!(said.charged.is_empty());
}

#[test]
fn a_warm_evaluation_does_not_allocate() {
    let policy = load(&[
        rule("wide", ""),
        rule("narrow", "replaces = [\"wide\"]\nmatch = { path = \"/a/{x..}\", host = \"api.example\" }"),
        format!("[[rule]]\nname = \"key\"\nkey = [\"header:authorization\", \"path\", \"query:q\", \"cookie:c\"]\n{LOG}"),
    ]
    .concat());
    let request = Request::get("/a/b?q=%41")
        .header("authorization", "Bearer x")
        .header("cookie", "c=1");
    let mut buffers = Buffers::default();
    let mut evaluate = || {
        policy
            .evaluate(&request, &NOTHING, NOW, &mut buffers)
            .charges()
            .count()
    };
    assert_eq!(evaluate(), 2);
    let counted = allocation_counter::measure(|| assert_eq!(evaluate(), 2));
    assert_eq!(counted.count_total, 0);
}

#[test]
fn buffers_are_used_again_without_a_trace_of_the_last_request() {
    let policy = load(&[rule("a", "match = { path = \"/a\" }"), rule("b", "")].concat());
    let mut buffers = Buffers::default();
    let (first, second) = (
        Request::get("/a").from("10.0.0.1"),
        Request::get("/").from("10.0.0.2"),
    );
    assert_eq!(
        policy
            .evaluate(&first, &NOTHING, NOW, &mut buffers)
            .charges()
            .count(),
        2
    );
    let again: Vec<Vec<u8>> = policy
        .evaluate(&second, &NOTHING, NOW, &mut buffers)
        .charges()
        .map(|charge| charge.key.to_vec())
        .collect();
    let mut fresh = Buffers::default();
    let alone: Vec<Vec<u8>> = policy
        .evaluate(&second, &NOTHING, NOW, &mut fresh)
        .charges()
        .map(|charge| charge.key.to_vec())
        .collect();
    assert_eq!((again.len(), &again), (1, &alone));
}

/// A path whose slashes are written in every way, and what it is to services that take this or
/// that for a slash.
fn twins() -> impl Strategy<Value = (String, [String; 4])> {
    let segment = prop::sample::select(vec![
        "a", "B", "login", ".", "..", "%2e", "", ";v=1", "%6cogin", "x.y", "%", "%2",
    ]);
    let slash = prop::sample::select(vec!["/", "/", "%2f", "%2F", "\\", "%5c", "%5C"]);
    prop::collection::vec((slash, segment), 1..8).prop_map(|pieces| {
        let written = |slashes: &[&str]| -> String {
            let piece = |(slash, segment): &(&str, &str)| {
                let slash = if slashes.contains(slash) { "/" } else { slash };
                format!("{slash}{segment}")
            };
            "/".chars()
                .chain(pieces.iter().map(piece).collect::<String>().chars())
                .collect()
        };
        let twins = [
            &[][..],
            &["%2f", "%2F"],
            &["\\"],
            &["%2f", "%2F", "\\", "%5c", "%5C"],
        ];
        (written(&[]), twins.map(written))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn f41_what_is_a_path_to_some_service_is_matched_and_counted(
        (path, twins) in twins(),
        pattern in prop::sample::select(vec!["/login", "/a", "/{x}", "/a/{x}", "/a/{x..}", "/"]),
    ) {
        let rules = [
            rule("some", &format!("match = {{ path = \"{pattern}\" }}")),
            rule("all", "").replace("\"client-ip\"", "\"path\""),
        ];
        let policy = load(&rules.concat());
        let names = |path: &str| charged(&policy, &Request::get(path));
        let key = |path: &str| {
            let mut buffers = Buffers::default();
            let request = Request::get(path);
            let all = policy.evaluate(&request, &NOTHING, NOW, &mut buffers);
            all.charges().last().map(|charge| charge.key.to_vec())
        };
        let ambiguous = key("/a%2fb/../c");
        for twin in &twins {
            // As that service sees it, nothing in it is a slash any more but slashes.
            let normal = jeton_wire::path::normal_form(twin.as_bytes());
            let seen = normal.replace("%2F", "-").replace("%5C", "-");
            if names(&seen).contains(&"some".to_owned()) {
                prop_assert!(names(&path).contains(&"some".to_owned()), "{pattern} {path} {twin}");
            }
            // One resource has two keys at most: its own, and that of paths nobody agrees on.
            let decoded = jeton_wire::path::other_readings(normal.as_bytes()).pop();
            let own = key(decoded.as_deref().unwrap_or(&normal));
            let given = key(&path);
            prop_assert!(given == own || given == ambiguous, "{path} {twin}");
        }
    }
}
