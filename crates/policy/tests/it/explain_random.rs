//! An explanation never says otherwise than an evaluation: random policies, requests and orders.

use std::collections::BTreeMap;

use jeton_core::{Micros, OnDeny};
use jeton_policy::{
    Alternative, Buffers, Charge, CostFrom, Counter, Explained, Fingerprints, Mode, Order, Orders,
    Outcome, PlanFound, Policy, Refusal, RuleExplained, Settle, Speaks, TermsFrom, Verdict,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::ValueTree;

use crate::common::{NOTHING, NOW, Request, try_load};

const LISTS: &str = "lists = { exempt = [\"10.1.0.0/16\"], block = [\"10.1.2.0/24\"] }\nclient_ip = { header = \
     \"x-forwarded-for\", hops = 1 }\n";

/// A rule without its name and what it replaces.
fn any_rule() -> impl Strategy<Value = String> {
    let quota = select(vec![
        "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1m\"",
        "algorithm = \"gcra\"\nrate = \"5/s\"\nburst = 20",
        "algorithm = \"fixed-window\"\nlimit = 10\nwindow = \"1m\"",
        "algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1m\"\ntrial = { limit = 3 }",
    ]);
    let key = select(vec![
        "[\"client-ip\"]",
        "[\"header:x-user\"]",
        "[\"client-ip\", \"header:x-user\"]",
        "[\"path\", \"query:q\"]",
        "[\"global\"]",
        "[\"header:authorization\"]",
    ]);
    let counted = (
        quota,
        key,
        any_extra(),
        select(vec!["share", "skip", "deny"]),
    )
        .prop_map(|(quota, key, extra, missing)| {
            format!("key = {key}\nmissing = \"{missing}\"\n{quota}\n{extra}")
        });
    let word = select(vec![
        "limit = \"unlimited\"".to_owned(),
        "limit = \"deny\"".to_owned(),
    ]);
    let mode = select(vec!["enforce", "enforce", "enforce", "shadow", "mark"]);
    (prop_oneof![9 => counted, 1 => word], mode, any_match())
        .prop_map(|(allowance, mode, matches)| format!("{allowance}\nmode = \"{mode}\"\n{matches}"))
}

fn any_match() -> impl Strategy<Value = String> {
    let conditions = vec![
        "method = [\"GET\", \"OPTIONS\"]",
        "path = [\"/a\", \"/b/{x}\"]",
        "host = \"api.example\"",
        "with = \"header:x-user\"",
        "without = \"header:authorization\"",
        "header = { x-plan = \"pro\" }",
    ];
    let all = conditions.len();
    prop_oneof![
        2 => Just(Vec::new()),
        3 => subsequence(conditions.clone(), 1),
        1 => subsequence(conditions, 0..=all),
    ]
    .prop_map(|conditions| match conditions.as_slice() {
        [] => String::new(),
        some => format!("match = {{ {} }}", some.join(", ")),
    })
}

/// Plans, costs, trials.
fn any_extra() -> impl Strategy<Value = String> {
    let plan = "plan = \"header:x-plan\"\nplans = { staff = \"unlimited\", banned = \"deny\" }";
    let cost = "cost = \"header:x-cost\"";
    let extras = vec![
        plan.to_owned(),
        cost.to_owned(),
        "on_deny = \"charge\"".to_owned(),
        "count = { status = [401, \"5xx\"] }".to_owned(),
        "secret_key = true".to_owned(),
    ];
    subsequence(extras, 0..=2).prop_map(|extras| extras.join("\n"))
}

/// Rules by name, each with its text.
fn any_policy() -> impl Strategy<Value = BTreeMap<String, String>> {
    let replaces = proptest::collection::vec((0..5_usize, 0..5_usize), 0..3);
    (proptest::collection::vec(any_rule(), 1..6), replaces).prop_map(|(rules, replaces)| {
        let name = |index: usize| format!("r{index}");
        let count = rules.len();
        let text = |(index, rule): (usize, String)| {
            let mut others: Vec<String> = replaces
                .iter()
                .filter(|(by, other)| *by == index && *other != index && *other < count)
                .map(|(_, other)| name(*other))
                .collect();
            others.dedup();
            let replaces = match others.as_slice() {
                [] => String::new(),
                some => format!("\nreplaces = {some:?}"),
            };
            let name = name(index);
            let text = format!("[[rule]]\nname = \"{name}\"\n{rule}{replaces}\n");
            (name, text)
        };
        rules.into_iter().enumerate().map(text).collect()
    })
}

fn any_request() -> impl Strategy<Value = Request> {
    let fields = vec![
        ("x-user", "alice"),
        ("authorization", "Bearer s3cret"),
        ("x-plan", "pro"),
        ("x-plan", "staff"),
        ("x-plan", "banned"),
        ("x-cost", "3"),
        ("x-cost", "many"),
    ];
    let all = fields.len();
    let ip = select(vec![
        "203.0.113.9",
        "203.0.113.9",
        "2001:db8::7",
        "10.1.2.3",
        "10.1.9.9",
        "nobody",
    ]);
    let path = select(vec!["/a", "/b/c?q=1", "/%2fa", "/other"]);
    let method = select(vec!["GET", "HEAD", "POST", "preflight"]);
    let host = select(vec!["api.example", "other.example"]);
    (method, path, host, ip, subsequence(fields, 0..=all)).prop_map(
        |(method, path, host, ip, fields)| {
            let request = match method {
                "preflight" => Request::preflight(path),
                method => Request::new(method, path),
            };
            let add = |request: Request, (name, value)| request.header(name, value);
            fields.into_iter().fold(request.from(ip).host(host), add)
        },
    )
}

/// What operators set for keys of the requests above.
#[derive(Clone, Debug)]
enum Set {
    Mode(Mode),
    Block,
    Override(&'static str),
}

fn any_orders() -> impl Strategy<Value = Vec<(usize, Set)>> {
    let set = select(vec![
        Set::Mode(Mode::Enforce),
        Set::Mode(Mode::Shadow),
        Set::Mode(Mode::Mark),
        Set::Block,
        Set::Override("deny"),
        Set::Override("unlimited"),
    ]);
    proptest::collection::vec((0..5_usize, set), 0..3)
}

fn compiled(policy: &Policy, sets: &[(usize, Set)]) -> Orders {
    let key_of = |index: usize| {
        let rule = &policy.rules()[index];
        let text = |part: &jeton_policy::KeyPart| match part.to_string().as_str() {
            "client-ip" => "203.0.113.9",
            "header:x-user" => "alice",
            "path" => "/b/c",
            "header:authorization" => "bearer s3cret",
            _ => "1",
        };
        let texts: Vec<&str> = rule.rule().key.iter().map(text).collect();
        let mut key = Vec::new();
        rule.named_key(&texts, &mut key).unwrap();
        key
    };
    let until = Some(Micros::new(NOW.get() + 1));
    let order = |(index, set): &(usize, Set)| {
        let rule = policy.rules().get(*index)?.name().to_owned();
        let key = key_of(*index);
        Some(match set {
            Set::Mode(mode) => Order::Mode { rule, mode: *mode },
            Set::Block => Order::Block { rule, key, until },
            Set::Override(word) => {
                let settings = Alternative::new([("limit", *word)]).unwrap();
                Order::Override {
                    rule,
                    key,
                    settings,
                    until,
                }
            }
        })
    };
    let orders: Vec<Order> = sets.iter().filter_map(order).collect();
    let (orders, left_out) = policy.orders(&orders);
    assert_eq!(left_out, []);
    orders
}

fn load(rules: &BTreeMap<String, String>) -> Option<Policy> {
    let text: String = rules.values().cloned().collect();
    let loaded = try_load(&format!("{LISTS}{text}"));
    loaded.ok().map(|loaded| loaded.policy)
}

/// What an explanation says is charged agrees with the charge.
fn agrees(rule: &RuleExplained, charge: &Charge<'_>, has_trial: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!(&rule.outcome, &Outcome::Charged);
    let speaks = rule.speaks.as_ref().unwrap();
    prop_assert_eq!(speaks.mode, charge.mode);
    prop_assert_eq!(speaks.counter, charge.counter);
    prop_assert_eq!(speaks.cost, Some(charge.cost));
    prop_assert_eq!(speaks.trial, has_trial);
    prop_assert_eq!(speaks.charges_denials, charge.on_deny == OnDeny::Charge);
    let statuses = match charge.settle {
        Some(Settle::Status(statuses)) => Some(statuses.to_string()),
        _ => None,
    };
    prop_assert_eq!(&speaks.count, &statuses);
    let overridden = matches!(speaks.terms, TermsFrom::Override { .. });
    prop_assert_eq!(overridden, charge.overridden);
    prop_assert_eq!(speaks.terms == TermsFrom::Plan, charge.plan.is_some());
    if let Some(plan) = charge.plan {
        prop_assert_eq!(&speaks.plan, &PlanFound::Known(plan.to_owned()));
    }
    Ok(())
}

/// What an explanation says of a rule that is not charged.
fn holds(
    policy: &Policy,
    verdict: Verdict,
    index: usize,
    rule: &RuleExplained,
    would_refuse: bool,
) -> Result<(), TestCaseError> {
    let refuses = match verdict {
        Verdict::Denied(denied) => Some((denied.rule, Refusal::Denied(denied.reason))),
        Verdict::BlockedUntil { rule, until } => Some((rule, Refusal::Blocked { until })),
        Verdict::BadCost { rule } => {
            Some((rule, Refusal::Denied(jeton_policy::DenyReason::BadCost)))
        }
        _ => None,
    };
    prop_assert_eq!(
        would_refuse,
        matches!(rule.outcome, Outcome::WouldRefuse(_))
    );
    match &rule.outcome {
        Outcome::Refuses(refusal) => prop_assert_eq!(refuses, Some((index, *refusal))),
        Outcome::Overruled { by } => {
            let (by_index, _) = policy.rule(by).unwrap();
            prop_assert_eq!(refuses.map(|(rule, _)| rule), Some(by_index));
            prop_assert_ne!(by_index, index);
        }
        Outcome::Replaced { by } => {
            let (_, by) = policy.rule(by).unwrap();
            prop_assert!(by.rule().replaces.contains(&rule.rule));
        }
        Outcome::Unlimited => {
            prop_assert_eq!(verdict, Verdict::Charges);
            let allows: &Speaks = rule.speaks.as_ref().unwrap();
            prop_assert_eq!(&allows.allows[..], "unlimited");
        }
        Outcome::NotAsked => {
            prop_assert!(matches!(verdict, Verdict::Blocked | Verdict::Exempt));
        }
        _ => {}
    }
    prop_assert_ne!(
        verdict == Verdict::Exempt && rule.outcome != Outcome::NotAsked,
        true
    );
    Ok(())
}

fn explained_as_evaluated(
    policy: &Policy,
    orders: &Orders,
    request: &Request,
) -> Result<Explained, TestCaseError> {
    let explained = policy.explain(request, orders, NOW, &Fingerprints::new(b"x"));
    let mut buffers = Buffers::default();
    let evaluation = policy.evaluate(request, orders, NOW, &mut buffers);
    let charges: Vec<Charge<'_>> = evaluation.charges().collect();
    let (verdict, shadow) = (evaluation.verdict(), evaluation.shadow_denials());
    prop_assert_eq!(explained.verdict, verdict);
    prop_assert_eq!(explained.unmatched, evaluation.is_unmatched());
    prop_assert_eq!(explained.rules.len(), policy.rules().len());
    for (index, rule) in explained.rules.iter().enumerate() {
        prop_assert_eq!(&rule.rule[..], policy.rules()[index].name());
        let mut own = charges.iter().filter(|charge| charge.rule == index);
        if let Some(charge) = own.next() {
            let trial = own.next().map(|charge| charge.counter);
            prop_assert!(trial.is_none_or(|counter| counter == Counter::Trial));
            agrees(rule, charge, trial.is_some())?;
        } else {
            prop_assert_ne!(&rule.outcome, &Outcome::Charged);
            let would_refuse = shadow.iter().any(|denied| denied.rule == index);
            holds(policy, verdict, index, rule, would_refuse)?;
        }
    }
    Ok(explained)
}

/// A rule that stands alone matches exactly if it is explained as one that matches.
fn alone(
    rules: &BTreeMap<String, String>,
    explained: &Explained,
    request: &Request,
) -> Result<(), TestCaseError> {
    for rule in explained
        .rules
        .iter()
        .filter(|rule| rule.outcome != Outcome::NotAsked)
    {
        let (text, _) = rules[&rule.rule]
            .split_once("\nreplaces")
            .unwrap_or((&rules[&rule.rule], ""));
        let single = BTreeMap::from([(rule.rule.clone(), text.to_owned())]);
        let single = load(&single).unwrap();
        let mut buffers = Buffers::default();
        let unmatched = single
            .evaluate(request, &NOTHING, NOW, &mut buffers)
            .is_unmatched();
        let silent = matches!(rule.outcome, Outcome::Unmet(_) | Outcome::Skipped { .. });
        prop_assert_eq!(unmatched, silent, "{:?}", rule);
        prop_assert_eq!(silent, rule.speaks.is_none());
        let from_request = rule.speaks.as_ref().map(|speaks| &speaks.cost_from);
        if let Some(CostFrom::Request(field)) = from_request {
            prop_assert!(request.headers.iter().any(|(name, _)| name == field));
        }
    }
    Ok(())
}

fn is_told(explained: &Explained, secret: &str) -> bool {
    format!("{explained:?}").contains(secret)
}

/// Policies that contradict themselves are not counted.
fn cases() -> ProptestConfig {
    let is_full = std::env::var_os("JETON_FULL").is_some_and(|value| value == "1");
    ProptestConfig {
        cases: if is_full { 20_000 } else { 1_000 },
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn an_explanation_never_says_otherwise_than_an_evaluation(
        rules in any_policy(),
        request in any_request(),
        orders in any_orders(),
    ) {
        let Some(policy) = load(&rules) else {
            return Err(TestCaseError::reject("contradicts itself"));
        };
        let orders = compiled(&policy, &orders);
        let explained = explained_as_evaluated(&policy, &orders, &request)?;
        alone(&rules, &explained, &request)?;
        prop_assert!(!is_told(&explained, "s3cret"));
    }
}

/// The policies above do load, and the requests do reach every outcome.
#[test]
fn random_policies_reach_every_outcome() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut loaded = 0;
    for _ in 0..1_000 {
        let strategy = (any_policy(), any_request(), any_orders());
        let (rules, request, orders) = strategy.new_tree(&mut runner).unwrap().current();
        let Some(policy) = load(&rules) else {
            let text: String = rules.values().cloned().collect();
            let report = try_load(&format!("{LISTS}{text}")).unwrap_err();
            *refused
                .entry(report.to_string().lines().next().unwrap().to_owned())
                .or_default() += 1;
            continue;
        };
        loaded += 1;
        let orders = compiled(&policy, &orders);
        let explained = policy.explain(&request, &orders, NOW, &Fingerprints::new(b"x"));
        for rule in &explained.rules {
            let debug = format!("{:?}", rule.outcome);
            let name = debug.split([' ', '(', '{']).next().unwrap().to_owned();
            *outcomes.entry(name).or_default() += 1;
        }
    }
    assert!(loaded > 500, "{loaded} load; {refused:#?}");
    for outcome in [
        "Charged",
        "Unlimited",
        "Refuses",
        "WouldRefuse",
        "Overruled",
        "Replaced",
        "Skipped",
        "Unmet",
        "NotAsked",
    ] {
        assert!(
            outcomes.get(outcome).is_some_and(|count| *count > 5),
            "{outcomes:?}"
        );
    }
}
