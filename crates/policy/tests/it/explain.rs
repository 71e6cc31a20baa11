//! Why a request is charged what it is charged, and why not more.

use jeton_core::{Cost, Micros};
use jeton_policy::{
    Alternative, Condition, CostFrom, Counter, DenyReason, Explained, Fingerprints, Mode, Order,
    Orders, Outcome, PlanFound, Policy, Refusal, ShownValue, Speaks, TermsFrom, Verdict,
};

use crate::common::{NOTHING, NOW, Request, SECRET, load};

const LOG: &str = "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1m\"\n";

fn rule(name: &str, more: &str) -> String {
    let is_keyed = more.contains("\nkey = ") || more.contains("limit = \"");
    let key = if is_keyed {
        ""
    } else {
        "key = \"client-ip\"\n"
    };
    let quota = if more.contains("limit = \"") { "" } else { LOG };
    format!("[[rule]]\nname = \"{name}\"\n{key}{quota}{more}\n")
}

fn explain_with(policy: &Policy, orders: &Orders, request: &Request) -> Explained {
    policy.explain(request, orders, NOW, &Fingerprints::new(b"secret"))
}

fn explain(policy: &str, request: &Request) -> Explained {
    explain_with(&load(policy), &NOTHING, request)
}

/// What becomes of each rule, in words.
fn said(explained: &Explained) -> Vec<String> {
    let rules = explained.rules.iter();
    rules.map(|rule| rule.outcome.to_string()).collect()
}

fn why(more: &str, request: &Request) -> String {
    said(&explain(&rule("r", more), request)).remove(0)
}

fn speaks(explained: &Explained, index: usize) -> &Speaks {
    explained.rules[index].speaks.as_ref().unwrap()
}

fn shown_key(explained: &Explained, index: usize) -> Vec<String> {
    let parts = speaks(explained, index).key.iter();
    parts.map(ToString::to_string).collect()
}

#[test]
fn the_first_condition_that_fails_is_named() {
    let get = Request::get("/b").host("x");
    for (conditions, reason) in [
        ("method = [\"POST\", \"PUT\"]", "method is not POST or PUT"),
        ("host = \"api.example\"", "host is not api.example"),
        (
            "path = [\"/a\", \"/reports/{id}/export\"]",
            "path is not /a or /reports/{id}/export",
        ),
        ("with = \"header:authorization\"", "no authorization header"),
        (
            "with = [\"client-ip\", \"cookie:sid\", \"query:q\"]",
            "no sid cookie",
        ),
        ("without = [\"query:q\", \"client-ip\"]", "address is there"),
        (
            "header = { x-key = \"hunter2\" }",
            "no x-key header with the value asked for",
        ),
        // Conditions are looked at in this order, and only the first that fails is told.
        (
            "path = \"/a\", method = \"POST\", host = \"y\"",
            "method is not POST",
        ),
        ("path = \"/a\", host = \"y\"", "host is not y"),
        ("path = \"/a\", with = \"cookie:sid\"", "path is not /a"),
    ] {
        assert_eq!(
            why(&format!("match = {{ {conditions} }}"), &get),
            reason,
            "{conditions}"
        );
    }
}

#[test]
fn conditions_are_told_as_data_without_what_a_client_proves_itself_by() {
    let policy = rule("r", "match = { header = { x-key = { env = \"SECRET\" } } }");
    let request = Request::get("/").header("x-key", "wrong");
    let explained = explain(&policy, &request);
    let Outcome::Unmet(unmet) = &explained.rules[0].outcome else {
        panic!("{explained:?}");
    };
    assert_eq!(
        (unmet.condition, &unmet.wanted[..]),
        (Condition::Header, &["x-key".to_owned()][..])
    );
    assert!(!format!("{explained:?}").contains(SECRET));
    assert_eq!(Condition::Header.word(), "header");
    assert!(explained.unmatched && explained.verdict == Verdict::Charges);
    assert_eq!(explained.rules[0].speaks, None);
}

#[test]
fn a_missing_part_of_the_key_is_named() {
    let key = "\nkey = [\"client-ip\", \"header:x-user\"]\n";
    let request = Request::get("/");
    assert_eq!(
        why(&format!("{key}missing = \"skip\""), &request),
        "no x-user header, and missing = \"skip\""
    );
    assert_eq!(
        why(&format!("{key}missing = \"deny\""), &request),
        "refuses: a part of the key is missing, and missing = \"deny\""
    );
    let explained = explain(&rule("r", key), &request);
    assert_eq!(said(&explained), ["charged"]);
    assert_eq!(
        shown_key(&explained, 0),
        ["203.0.113.9", "(no header:x-user)"]
    );
}

#[test]
fn every_kind_of_key_part_is_shown() {
    let key = "\nkey = [\"client-ip\", \"method\", \"host\", \"path\", \"route\", \"header:x-a\", \
               \"query:q\"]\nmatch = { path = \"/A/{x}\" }";
    let request = Request::new("POST", "/a/%42?q=x%20y").from("2001:db8:1:2:3::4");
    let request = request
        .header("x-a", "1")
        .header("x-a", " 2 ")
        .host("API.example:80");
    let explained = explain(&rule("r", key), &request);
    let told = [
        "2001:db8:1:2::/64",
        "POST",
        "api.example",
        "/a/b",
        "/A/{x}",
        "1, 2",
        "x y",
    ];
    assert_eq!(shown_key(&explained, 0), told);
    assert_eq!(speaks(&explained, 0).key[3].part, "path");
    let global = explain(&rule("r", "\nkey = \"global\""), &Request::get("/"));
    assert_eq!(shown_key(&global, 0), ["(all together)"]);
    assert_eq!(speaks(&global, 0).key[0].value, ShownValue::Global);
    let narrow = explain(&rule("r", "\nkey = \"client-ip/128\""), &request);
    assert_eq!(shown_key(&narrow, 0), ["2001:db8:1:2:3::4"]);
}

#[test]
fn what_a_client_sends_moves_no_cursor() {
    let request = Request::get("/").header("x-a", "a\u{1b}[2J\u{202e}b");
    let explained = explain(&rule("r", "\nkey = \"header:x-a\""), &request);
    assert_eq!(shown_key(&explained, 0), ["a\\u{1b}[2J\\u{202e}b"]);
    let long = Request::get("/").header("x-a", &"x".repeat(5_000));
    let explained = explain(&rule("r", "\nkey = \"header:x-a\""), &long);
    assert!(
        shown_key(&explained, 0)[0].starts_with("(long, #"),
        "{explained:?}"
    );
}

#[test]
fn credentials_are_shown_as_a_fingerprint() {
    let bearer = |token: &str| Request::get("/").header("authorization", token);
    let by_nature = rule("r", "\nkey = \"header:authorization\"");
    let shown = |policy: &str, request: &Request| shown_key(&explain(policy, request), 0).remove(0);
    let one = shown(&by_nature, &bearer("Bearer hunter2"));
    assert!(one.starts_with('#') && one.len() == 9, "{one}");
    // The same client under another spelling; another client.
    assert_eq!(one, shown(&by_nature, &bearer("bearer   hunter2")));
    assert_ne!(one, shown(&by_nature, &bearer("Bearer hunter3")));
    let by_word = rule(
        "r",
        "\nkey = [\"client-ip\", \"header:x-user\"]\nsecret_key = true",
    );
    let request = Request::get("/").header("x-user", "hunter2");
    let explained = explain(&by_word, &request);
    assert!(
        shown_key(&explained, 0)
            .iter()
            .all(|part| part.starts_with('#'))
    );
    let debug = format!(
        "{explained:?}{:?}",
        explain(&by_nature, &bearer("Bearer hunter2"))
    );
    assert!(
        !debug.contains(SECRET) && !debug.contains("203.0.113.9"),
        "{debug}"
    );
}

#[test]
fn lists_decide_before_any_rule() {
    let lists = "lists = { exempt = [\"10.1.0.0/16\"], block = [\"10.1.2.0/24\"] }\n";
    let policy = format!("{lists}{}", rule("r", ""));
    for (ip, verdict) in [
        ("10.1.2.3", Verdict::Blocked),
        ("10.1.3.3", Verdict::Exempt),
    ] {
        let explained = explain(&policy, &Request::get("/").from(ip));
        assert_eq!(
            (explained.verdict, said(&explained)),
            (verdict, vec!["a list decides before any rule".to_owned()])
        );
        assert!(!explained.unmatched);
    }
}

#[test]
fn a_rule_that_refuses_overrules_the_others() {
    let policy = rule("all", "") + &rule("no", "limit = \"deny\"\nmatch = { path = \"/no\" }");
    let explained = explain(&policy, &Request::get("/no"));
    assert_eq!(
        said(&explained),
        ["rule no refuses before", "refuses: limit = \"deny\""]
    );
    let refusal = Refusal::Denied(DenyReason::Word);
    assert_eq!(explained.rules[1].outcome, Outcome::Refuses(refusal));
    let shadow = policy.replace("limit = \"deny\"", "limit = \"deny\"\nmode = \"shadow\"");
    let explained = explain(&shadow, &Request::get("/no"));
    assert_eq!(
        said(&explained),
        ["charged", "would refuse, and has no vote: limit = \"deny\""]
    );
}

#[test]
fn rules_that_are_replaced_name_the_one_that_does() {
    let policy = rule("wide", "")
        + &rule(
            "user",
            "match = { with = \"header:x-user\" }\nreplaces = [\"wide\"]",
        )
        + &rule(
            "staff",
            "limit = \"unlimited\"\nmatch = { path = \"/staff\" }\nreplaces = [\"user\"]",
        );
    let request = Request::get("/").header("x-user", "alice");
    let said = |request: &Request| said(&explain(&policy, request));
    assert_eq!(
        said(&request),
        ["replaced by rule user", "charged", "path is not /staff"]
    );
    let staff = Request::get("/staff").header("x-user", "alice");
    assert_eq!(
        said(&staff),
        [
            "replaced by rule user",
            "replaced by rule staff",
            "unlimited"
        ]
    );
    assert_eq!(
        said(&Request::get("/staff")),
        ["charged", "no x-user header", "unlimited"]
    );
}

#[test]
fn preflights_are_told_to_be_on_a_counter_of_their_own() {
    let policy = rule("r", "");
    let counter = |request: &Request| speaks(&explain(&policy, request), 0).counter;
    assert_eq!(counter(&Request::preflight("/")), Counter::Preflights);
    assert_eq!(counter(&Request::get("/")), Counter::Requests);
}

#[test]
fn modes_blocks_and_overrides_of_operators_are_told() {
    let policy = load(&(rule("all", "") + &rule("other", "match = { path = \"/other\" }")));
    let mut key = Vec::new();
    policy.rules()[0]
        .named_key(&["203.0.113.9"], &mut key)
        .unwrap();
    let set = |orders: &[Order]| {
        let (orders, left_out) = policy.orders(orders);
        assert_eq!(left_out, []);
        orders
    };
    let until = Some(Micros::new(5_000_000));
    let request = Request::get("/");

    let (name, own) = ("all".to_owned(), key.clone());
    let block = set(&[Order::Block {
        rule: name,
        key: own,
        until,
    }]);
    let explained = explain_with(&policy, &block, &request);
    assert_eq!(explained.verdict, Verdict::BlockedUntil { rule: 0, until });
    assert_eq!(
        explained.rules[0].outcome,
        Outcome::Refuses(Refusal::Blocked { until })
    );
    assert_eq!(
        said(&explained),
        ["refuses: an operator blocks the key", "path is not /other"]
    );
    let explained = explain_with(&policy, &block, &Request::get("/other"));
    assert_eq!(said(&explained)[1], "rule all refuses before");

    let (rule, settings) = (
        "all".to_owned(),
        Alternative::new([("limit", "30")]).unwrap(),
    );
    let altered = set(&[
        Order::Override {
            rule,
            key,
            settings,
            until,
        },
        Order::Mode {
            rule: "all".to_owned(),
            mode: Mode::Mark,
        },
    ]);
    let explained = explain_with(&policy, &altered, &request);
    let told = speaks(&explained, 0);
    assert_eq!((told.mode, told.mode_by_order), (Mode::Mark, true));
    assert_eq!(
        (told.terms, &told.allows[..]),
        (TermsFrom::Override { until }, "30 in any 1 min")
    );
    assert_eq!(
        (told.plan.clone(), told.cost),
        (PlanFound::NoPlans, Some(Cost::ONE))
    );
    let other = explain_with(&policy, &altered, &Request::get("/").from("203.0.113.8"));
    let told = speaks(&other, 0);
    assert_eq!(
        (told.terms, &told.allows[..]),
        (TermsFrom::Rule, "10 in any 1 min")
    );
}

#[test]
fn plans_and_costs_of_the_request_are_told() {
    let trusted = "client_ip = { header = \"x-forwarded-for\", trusted = [\"10.0.0.0/8\"] }\n";
    let plans = "plan = \"header:x-plan\"\nplans = { pro = { limit = 50 }, staff = \"unlimited\" }\n\
                 cost = \"header:x-cost\"";
    let policy = format!("{trusted}{}", rule("r", plans));
    let told = |plan: Option<&str>, cost: Option<&str>| {
        let fields = [("x-plan", plan), ("x-cost", cost)];
        let fields = fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let add = |request: Request, (name, value): (&str, &str)| request.header(name, value);
        explain(&policy, &fields.fold(Request::get("/"), add))
    };
    let plain = told(None, None);
    let plain = speaks(&plain, 0);
    assert_eq!(
        (&plain.plan, plain.terms),
        (&PlanFound::Unnamed, TermsFrom::Rule)
    );
    assert_eq!(
        (plain.cost, &plain.cost_from),
        (Some(Cost::ONE), &CostFrom::Rule)
    );
    let pro = told(Some("pro"), Some("7"));
    let pro = speaks(&pro, 0);
    assert_eq!(pro.plan, PlanFound::Known("pro".to_owned()));
    assert_eq!(
        (pro.terms, &pro.allows[..]),
        (TermsFrom::Plan, "50 in any 1 min")
    );
    assert_eq!(pro.cost, Some(Cost::new(7)));
    assert_eq!(pro.cost_from, CostFrom::Request("x-cost".to_owned()));
    let odd = told(Some("go\u{7}ld"), None);
    assert_eq!(
        speaks(&odd, 0).plan,
        PlanFound::Unknown("go\\u{7}ld".to_owned())
    );
    assert_eq!(
        (speaks(&odd, 0).terms, said(&odd)),
        (TermsFrom::Rule, vec!["charged".to_owned()])
    );
    assert_eq!(said(&told(Some("staff"), None)), ["unlimited"]);
    assert_eq!(
        said(&told(None, Some("-1"))),
        ["refuses: the cost it names is no whole number"]
    );
    // A preflight is charged under the rule's own terms, whatever it names.
    let preflight = Request::preflight("/").header("x-plan", "pro");
    let preflight = explain(&policy, &preflight);
    assert_eq!(speaks(&preflight, 0).terms, TermsFrom::Rule);
}

#[test]
fn a_plan_named_by_a_credential_is_not_told() {
    let plans = "plan = \"cookie:sid\"\nplans = { pro = { limit = 50 } }";
    let request = Request::get("/").header("cookie", "sid=hunter2");
    let explained = explain(&rule("r", plans), &request);
    let PlanFound::Unknown(shown) = &speaks(&explained, 0).plan else {
        panic!("{explained:?}");
    };
    assert!(shown.starts_with('#'), "{shown}");
}

#[test]
fn terms_on_trial_and_costs_of_the_answer_are_told() {
    let more = "trial = { limit = 8 }\ncost = { response = \"header:x-units\", estimate = 5 }";
    let policy = format!(
        "proxy = {{ listen = \"127.0.0.1:8080\", upstream = \"http://a:1\" }}\n{}",
        rule("r", more)
    );
    let explained = explain(&policy, &Request::get("/"));
    let told = speaks(&explained, 0);
    assert!(told.trial);
    assert_eq!(told.cost, Some(Cost::new(5)));
    assert_eq!(
        told.cost_from,
        CostFrom::Response("header:x-units".to_owned())
    );
    // The answer to a preflight says nothing of what the request costs.
    let preflight = explain(&policy, &Request::preflight("/"));
    assert_eq!(speaks(&preflight, 0).cost_from, CostFrom::Rule);
}

#[test]
fn what_settling_and_denials_cost_is_told() {
    let told =
        |more: &str, request: &Request| speaks(&explain(&rule("r", more), request), 0).clone();
    let get = Request::get("/");
    let count = "count = { status = [401, \"5xx\"] }";
    assert_eq!(told(count, &get).count.as_deref(), Some("401, 500-599"));
    assert_eq!(told(count, &Request::preflight("/")).count, None);
    assert!(!told(count, &get).charges_denials);
    assert!(told("on_deny = \"charge\"", &get).charges_denials);
}

#[test]
fn more_rules_than_one_step_can_hold_are_told() {
    let rules: String = (0..33)
        .map(|index| rule(&format!("r{index}"), "match = { path = \"/{all..}\" }"))
        .collect();
    let policy = rules + &rule("free", "limit = \"unlimited\"");
    let explained = explain(&policy, &Request::get("/"));
    assert_eq!(explained.verdict, Verdict::TooManyRules);
    let said = said(&explained);
    assert!(
        said[..33]
            .iter()
            .all(|why| why.starts_with("more rules match")),
        "{said:?}"
    );
    assert_eq!(said[33], "unlimited");
}

#[test]
fn keys_are_shown_to_operators_as_they_may_write_them() {
    let policy = rule("a", "\nkey = [\"client-ip\", \"header:x-user\"]")
        + &rule("b", "\nkey = \"global\"")
        + &rule("c", "\nkey = \"client-ip\"\nsecret_key = true");
    let policy = load(&policy);
    let fingerprints = Fingerprints::new(b"secret");
    let shown = |rule: usize, texts: &[&str]| {
        let rule = &policy.rules()[rule];
        let mut key = Vec::new();
        rule.named_key(texts, &mut key).unwrap();
        rule.shown_key(&key, &fingerprints)
    };
    let told = shown(0, &["2001:db8::7", "al\u{7}ice"]);
    assert_eq!(told, ["2001:db8::/64", "al\\u{7}ice"]);
    assert_eq!(shown(1, &[]), [""; 0]);
    let secret = shown(2, &["203.0.113.9"]);
    assert!(
        secret.len() == 1 && secret[0].starts_with('#'),
        "{secret:?}"
    );
    let long = shown(0, &["203.0.113.9", &"x".repeat(2_000)]);
    assert!(long.len() == 1 && long[0].starts_with('#'), "{long:?}");
    let rule = &policy.rules()[0];
    assert_eq!(
        rule.shown_key(b"?", &fingerprints),
        [fingerprints.of(b"?").to_string()]
    );
    let explained = explain_with(&policy, &NOTHING, &Request::get("/"));
    assert_eq!(
        shown_key(&explained, 0),
        ["203.0.113.9", "(no header:x-user)"]
    );
}

#[test]
fn f10_the_worst_case_of_the_terms_in_force_is_told() {
    let gcra = "[[rule]]\nname = \"r\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\n\
                rate = \"17/30s\"\nplan = \"query:plan\"\nplans = { pro = { burst = 20 } }\n";
    let at_most = |path: &str| {
        let explained = explain(gcra, &Request::get(path));
        speaks(&explained, 0).at_most.clone()
    };
    assert_eq!(at_most("/"), "at most 34 in any 30 s");
    assert_eq!(at_most("/?plan=pro"), "at most 37 in any 30 s");
    let word = explain(&rule("r", "limit = \"unlimited\""), &Request::get("/"));
    assert_eq!(speaks(&word, 0).at_most, "");
}
