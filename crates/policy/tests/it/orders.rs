//! What operators set at run time.

use jeton_core::Micros;
use jeton_policy::{
    Allowance, Alternative, Buffers, Charge, Counter, Denied, DenyReason, Mode, Named, Order,
    Orders, Policy, Terms, Verdict,
};

use crate::common::{NOTHING, NOW, Request, load};
use crate::seen::{Seen, seen, under};

const RULES: &str = "[[rule]]\nname = \"address\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\n\
    rate = \"5/s\"\nburst = 20\ntrial = { burst = 10 }\n\
    [[rule]]\nname = \"user\"\nkey = [\"header:x-user\", \"method\"]\nmissing = \"skip\"\n\
    algorithm = \"sliding-log\"\nlimit = 10\nwindow = \"1m\"\n\
    plan = \"header:x-plan\"\nplans = { pro = { limit = 50 } }\n\
    [[rule]]\nname = \"word\"\nlimit = \"unlimited\"\nmatch = { path = \"/free\" }\n";

const HERE: &[&str] = &["203.0.113.9"];
const ALICE: &[&str] = &["alice", "GET"];

fn key(policy: &Policy, rule: &str, texts: &[&str]) -> Vec<u8> {
    let mut key = Vec::new();
    let (_, rule) = policy.rule(rule).unwrap();
    rule.named_key(texts, &mut key).unwrap();
    key
}

fn block(policy: &Policy, rule: &str, texts: &[&str], until: Option<u64>) -> Order {
    Order::Block {
        rule: rule.to_owned(),
        key: key(policy, rule, texts),
        until: until.map(Micros::new),
    }
}

fn set(policy: &Policy, rule: &str, texts: &[&str], settings: &[(&str, &str)]) -> Order {
    Order::Override {
        rule: rule.to_owned(),
        key: key(policy, rule, texts),
        settings: Alternative::new(settings.iter().copied()).unwrap(),
        until: None,
    }
}

fn mode(rule: &str, mode: Mode) -> Order {
    let rule = rule.to_owned();
    Order::Mode { rule, mode }
}

fn compiled(policy: &Policy, orders: &[Order]) -> Orders {
    let (orders, left_out) = policy.orders(orders);
    assert_eq!(left_out, []);
    orders
}

fn alice() -> Request {
    Request::get("/").header("x-user", "alice")
}

#[test]
fn nothing_set_is_empty() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[]);
    assert!(orders.is_empty() && NOTHING.is_empty());
    assert_eq!(orders.mode(0), None);
    assert_eq!(
        under(&policy, &orders, NOW, &alice()),
        seen(&policy, &alice())
    );
}

#[test]
fn a_block_refuses_its_key_until_it_ends() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[block(&policy, "user", ALICE, Some(5_000_000))]);
    let at = |us| under(&policy, &orders, Micros::new(us), &alice());
    let until = Some(Micros::new(5_000_000));
    let blocked = at(4_999_999);
    assert_eq!(blocked.verdict, Verdict::BlockedUntil { rule: 1, until });
    assert!(blocked.charges.is_empty());
    assert_eq!(at(5_000_000), seen(&policy, &alice()));
    for other in [
        Request::get("/").header("x-user", "bob"),
        Request::get("/"),
        Request::new("POST", "/").header("x-user", "alice"),
    ] {
        assert_eq!(under(&policy, &orders, NOW, &other), seen(&policy, &other));
    }
}

#[test]
fn the_longest_of_several_blocks_is_told() {
    let policy = load(RULES);
    let told = |here: Option<u64>, alice_until: Option<u64>| {
        let orders = [
            block(&policy, "address", HERE, here),
            block(&policy, "user", ALICE, alice_until),
        ];
        match under(&policy, &compiled(&policy, &orders), NOW, &alice()).verdict {
            Verdict::BlockedUntil { rule, until } => (rule, until.map(Micros::get)),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(told(Some(2_000_000), Some(3_000_000)), (1, Some(3_000_000)));
    assert_eq!(told(Some(3_000_000), Some(2_000_000)), (0, Some(3_000_000)));
    assert_eq!(told(Some(3_000_000), None), (1, None));
    assert_eq!(told(None, Some(3_000_000)), (0, None));
    assert_eq!(told(Some(1), Some(3_000_000)), (1, Some(3_000_000)));
}

#[test]
fn precedence_lists_then_blocks_then_denials_then_what_is_replaced() {
    let text = |lists: &str| {
        format!(
            "{lists}\n[[rule]]\nname = \"old\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
             [[rule]]\nname = \"no\"\nlimit = \"deny\"\nmatch = {{ path = \"/no\" }}\n\
             [[rule]]\nname = \"new\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
             replaces = [\"old\"]\n"
        )
    };
    let verdict = |lists: &str, path: &str| {
        let policy = load(&text(lists));
        let orders = compiled(&policy, &[block(&policy, "old", HERE, None)]);
        under(&policy, &orders, NOW, &Request::get(path)).verdict
    };
    let blocked = Verdict::BlockedUntil {
        rule: 0,
        until: None,
    };
    assert_eq!(
        verdict("[lists]\nblock = \"203.0.113.9\"", "/"),
        Verdict::Blocked
    );
    assert_eq!(
        verdict("[lists]\nexempt = \"203.0.113.9\"", "/"),
        Verdict::Exempt
    );
    // A block holds before a rule that denies, and though another rule replaces its own.
    assert_eq!(verdict("", "/no"), blocked);
    assert_eq!(verdict("", "/"), blocked);
}

#[test]
fn a_block_on_a_word_holds_too() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[block(&policy, "word", &[], None)]);
    let all = under(&policy, &orders, NOW, &Request::get("/free"));
    assert_eq!(
        all.verdict,
        Verdict::BlockedUntil {
            rule: 2,
            until: None
        }
    );
}

#[test]
fn a_block_on_a_rule_without_a_vote_is_only_told() {
    for without in [Mode::Shadow, Mode::Mark] {
        let policy = load(RULES);
        let orders = [block(&policy, "user", ALICE, None), mode("user", without)];
        let all = under(&policy, &compiled(&policy, &orders), NOW, &alice());
        assert_eq!(all.verdict, Verdict::Charges);
        assert_eq!(all.shadow, [(1, DenyReason::Block)]);
        assert!(all.charges.iter().all(|charge| charge.rule == "address"));
    }
}

#[test]
fn a_mode_is_switched_both_ways() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[mode("user", Mode::Mark)]);
    assert_eq!((orders.mode(0), orders.mode(1)), (None, Some(Mode::Mark)));
    let all = under(&policy, &orders, NOW, &alice());
    let user = all.charges.iter().find(|charge| charge.rule == "user");
    assert_eq!(user.unwrap().mode, Mode::Mark);

    let policy = load("[[rule]]\nname = \"no\"\nlimit = \"deny\"\nmode = \"shadow\"\n");
    let orders = compiled(&policy, &[mode("no", Mode::Enforce)]);
    let (rule, reason) = (0, DenyReason::Word);
    let get = Request::get("/");
    assert_eq!(
        under(&policy, &orders, NOW, &get).verdict,
        Verdict::Denied(Denied { rule, reason })
    );
    assert_eq!(seen(&policy, &get).verdict, Verdict::Charges);
}

#[test]
fn a_rule_switched_to_shadow_lifts_no_limit() {
    let rule = |name: &str, more: &str| {
        format!(
            "[[rule]]\nname = \"{name}\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n{more}\n"
        )
    };
    let policy = load(&(rule("old", "") + &rule("new", "replaces = \"old\"")));
    let names = |orders: &Orders| -> Vec<String> {
        let all = under(&policy, orders, NOW, &Request::get("/"));
        all.charges.into_iter().map(|charge| charge.rule).collect()
    };
    assert_eq!(names(&NOTHING), ["new"]);
    let orders = compiled(&policy, &[mode("new", Mode::Shadow)]);
    assert_eq!(names(&orders), ["old", "new"]);
    let both = [mode("new", Mode::Shadow), mode("old", Mode::Mark)];
    assert_eq!(names(&compiled(&policy, &both)), ["new"]);
}

#[test]
fn an_override_changes_the_quota_of_one_key_before_any_plan() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[set(&policy, "user", ALICE, &[("limit", "500")])]);
    let request = alice().header("x-plan", "pro");
    let planned = seen(&policy, &request).charges;
    let own = planned.iter().find(|charge| charge.rule == "user").unwrap();
    assert_eq!((own.limit, own.plan.as_deref()), (50, Some("pro")));
    let all = under(&policy, &orders, NOW, &request).charges;
    let altered = all.iter().find(|charge| charge.rule == "user").unwrap();
    let expected = Seen {
        limit: 500,
        plan: None,
        overridden: true,
        ..own.clone()
    };
    assert_eq!(*altered, expected);
    let bob = Request::get("/").header("x-user", "bob");
    assert_eq!(under(&policy, &orders, NOW, &bob), seen(&policy, &bob));
}

#[test]
fn an_override_may_be_a_word_and_has_no_trial() {
    let policy = load(RULES);
    let get = Request::get("/");
    let counters = |orders: &Orders| -> Vec<Counter> {
        let charges = under(&policy, orders, NOW, &get).charges.into_iter();
        charges.map(|charge| charge.counter).collect()
    };
    assert_eq!(counters(&NOTHING), [Counter::Requests, Counter::Trial]);
    let orders =
        |settings: &[(&str, &str)]| compiled(&policy, &[set(&policy, "address", HERE, settings)]);
    assert_eq!(counters(&orders(&[("burst", "40")])), [Counter::Requests]);
    assert_eq!(counters(&orders(&[("limit", "unlimited")])), []);
    let (rule, reason) = (0, DenyReason::Override);
    assert_eq!(
        under(&policy, &orders(&[("limit", "deny")]), NOW, &get).verdict,
        Verdict::Denied(Denied { rule, reason })
    );
}

#[test]
fn a_preflight_keeps_its_own_counter_under_an_override() {
    let policy = load(RULES);
    let orders = compiled(&policy, &[set(&policy, "address", HERE, &[("burst", "7")])]);
    let all = under(&policy, &orders, NOW, &Request::preflight("/")).charges;
    assert_eq!((all[0].counter, all[0].limit), (Counter::Preflights, 200));
    assert!(!all[0].overridden);
}

#[test]
fn what_does_not_fit_this_policy_is_left_out_and_named() {
    let policy = load(RULES);
    let elsewhere = load(
        "[[rule]]\nname = \"user\"\nkey = \"header:x-user\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n",
    );
    let orders = [
        mode("gone", Mode::Shadow),
        block(&elsewhere, "user", &["alice"], None),
        set(&elsewhere, "user", &["alice"], &[("rate", "9/s")]),
        set(&policy, "user", ALICE, &[("rate", "9/s")]),
        set(&policy, "word", &[], &[("limit", "5")]),
        set(&policy, "user", ALICE, &[("limit", "5")]),
    ];
    let (compiled, left_out) = policy.orders(&orders);
    let at: Vec<usize> = left_out.iter().map(|(index, _)| *index).collect();
    assert_eq!(at, [0, 1, 2, 3, 4], "{left_out:?}");
    assert!(left_out[0].1.contains("\"gone\""));
    assert!(left_out[3].1.contains("`rate`"), "{left_out:?}");
    let all = under(&policy, &compiled, NOW, &alice()).charges;
    assert_eq!(all.last().unwrap().limit, 5);
}

#[test]
fn the_later_of_two_orders_holds() {
    let policy = load(RULES);
    let orders = [
        set(&policy, "user", ALICE, &[("limit", "5")]),
        set(&policy, "user", ALICE, &[("limit", "6")]),
        mode("user", Mode::Shadow),
        mode("user", Mode::Mark),
    ];
    let all = under(&policy, &compiled(&policy, &orders), NOW, &alice()).charges;
    let user = all.last().unwrap();
    assert_eq!((user.limit, user.mode), (6, Mode::Mark));
}

/// What a caller names.
fn named(
    policy: &Policy,
    orders: &Orders,
    rule: &str,
    plan: Option<&str>,
    texts: &[&str],
) -> (Named, Vec<Seen>) {
    let key = key(policy, rule, texts);
    let (index, _) = policy.rule(rule).unwrap();
    let mut charges = Vec::new();
    let mut out = |charge: Charge<'_>| charges.push(Seen::of(policy, &charge));
    let named = policy.name_charge(orders, NOW, index, plan, &key, &mut out);
    (named, charges)
}

#[test]
fn a_named_charge_is_what_a_request_of_that_key_is_charged() {
    let policy = load(RULES);
    for orders in [
        Orders::new(),
        compiled(&policy, &[set(&policy, "user", ALICE, &[("limit", "5")])]),
        compiled(
            &policy,
            &[mode("user", Mode::Mark), mode("address", Mode::Shadow)],
        ),
    ] {
        for plan in [None, Some("pro")] {
            let request = plan.map_or(alice(), |plan| alice().header("x-plan", plan));
            let all = under(&policy, &orders, NOW, &request).charges;
            let (said, mut charges) = named(&policy, &orders, "address", None, HERE);
            assert_eq!(said, Named::Charged);
            let (said, user) = named(&policy, &orders, "user", plan, ALICE);
            assert_eq!(said, Named::Charged);
            charges.extend(user);
            assert_eq!(charges, all);
        }
    }
}

#[test]
fn a_named_charge_meets_words_blocks_and_unknown_plans() {
    let policy = load(RULES);
    let said = |orders: &[Order], rule: &str, plan, texts: &[&str]| {
        let (said, charges) = named(&policy, &compiled(&policy, orders), rule, plan, texts);
        assert_eq!(charges.is_empty(), said != Named::Charged);
        said
    };
    assert_eq!(said(&[], "word", None, &[]), Named::Unlimited);
    assert_eq!(said(&[], "user", Some("gold"), ALICE), Named::UnknownPlan);
    assert_eq!(said(&[], "address", Some("pro"), HERE), Named::UnknownPlan);
    let until = Some(Micros::new(9_000_000));
    let blocked = block(&policy, "user", ALICE, Some(9_000_000));
    assert_eq!(
        said(std::slice::from_ref(&blocked), "user", None, ALICE),
        Named::BlockedUntil(until)
    );
    let shadow = mode("user", Mode::Shadow);
    assert_eq!(
        said(&[blocked, shadow.clone()], "user", None, ALICE),
        Named::ShadowDenied(DenyReason::Block)
    );
    let deny = set(&policy, "user", ALICE, &[("limit", "deny")]);
    assert_eq!(
        said(std::slice::from_ref(&deny), "user", None, ALICE),
        Named::Denied(DenyReason::Override)
    );
    assert_eq!(
        said(&[deny, shadow], "user", Some("pro"), ALICE),
        Named::ShadowDenied(DenyReason::Override)
    );
}

#[test]
fn alternatives_are_checked_as_plans_are() {
    let policy = load(RULES);
    let alternative = |rule: usize, settings: &[(&str, &str)]| {
        let settings = Alternative::new(settings.iter().copied())?;
        policy.alternative(rule, &settings)
    };
    let fine = alternative(0, &[("rate", "50/s")]);
    assert!(matches!(
        fine,
        Ok(Allowance::Quota(Terms::Bucket { burst: 50, .. }))
    ));
    assert_eq!(alternative(2, &[("limit", "deny")]), Ok(Allowance::Deny));
    for (rule, settings, code) in [
        (0, &[("limit", "5")][..], "E018"),
        (0, &[("anchor", "epoch")], "E018"),
        (0, &[("brust", "5")], "E002"),
        (0, &[("burst", "0")], "E006"),
        (0, &[("burst", "-1")], "E007"),
        (0, &[("burst", "+1")], "E007"),
        (0, &[("burst", "1000000001")], "E007"),
        (0, &[("burst", "99999999999999999999")], "E007"),
        (0, &[("rate", "50")], "E012"),
        (0, &[("limit", "unlimited"), ("burst", "5")], "E018"),
        (0, &[("limit", "unlimitted")], "E009"),
        (1, &[("window", "soon")], "E010"),
        (2, &[("burst", "5")], "E018"),
        (9, &[("limit", "deny")], "E002"),
        (0, &[], "E025"),
        (0, &[("burst", "5"), ("burst", "5")], "E017"),
        (0, &[("Burst", "5")], "E002"),
        (0, &[("burst", "5\n6")], "E005"),
    ] {
        let fault = alternative(rule, settings).unwrap_err();
        assert_eq!(fault.code.id(), code, "{settings:?}: {fault}");
        assert!(!fault.fix.is_empty(), "{fault}");
    }
}

#[test]
fn alternatives_survive_as_text() {
    for settings in [
        &[("limit", "unlimited")][..],
        &[("rate", "1/1500ms"), ("burst", "7")],
        &[("limit", "80"), ("window", "1h")],
        &[("lease", "30s")],
    ] {
        let settings = Alternative::new(settings.iter().copied()).unwrap();
        assert_eq!(Alternative::parse(&settings.to_text()).unwrap(), settings);
    }
    for text in [
        "",
        "\n",
        "limit",
        "limit=5\nlimit=6",
        "=5",
        "limit=\u{7}",
        "LIMIT=5",
    ] {
        assert!(Alternative::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_warm_evaluation_allocates_nothing_whatever_is_set_and_said() {
    let costly = "[[rule]]\nname = \"cost\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
        cost = \"header:x-cost\"\n";
    let policy = load(&format!("{RULES}{costly}"));
    let request = alice().header("x-plan", "pro").header("x-cost", "3");
    let orders = [
        block(&policy, "address", HERE, Some(1)),
        set(&policy, "address", HERE, &[("burst", "7")]),
        mode("user", Mode::Mark),
    ];
    let orders = compiled(&policy, &orders);
    let mut buffers = Buffers::default();
    for orders in [&NOTHING, &orders] {
        let mut evaluate = || {
            let evaluation = policy.evaluate(&request, orders, NOW, &mut buffers);
            evaluation
                .charges()
                .map(|charge| charge.cost.get())
                .sum::<u32>()
        };
        assert!(evaluate() >= 5);
        let counted = allocation_counter::measure(|| assert!(evaluate() >= 5));
        assert_eq!(counted.count_total, 0);
    }
}
