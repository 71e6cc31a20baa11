//! What a request costs, and what is known only with its answer.

use std::time::Duration;

use jeton_core::{Cost, OnDeny};
use jeton_policy::{Counter, DenyReason, OnFailure, Policy, Verdict};

use crate::common::{Request, load};
use crate::seen::{only, seen};

fn with(settings: &str) -> Policy {
    load(&format!(
        "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\nburst = 100\n{settings}\n"
    ))
}

#[test]
fn a_cost_is_fixed_or_what_the_request_says() {
    let get = Request::get("/");
    assert_eq!(only(&with(""), &get).cost, 1);
    assert_eq!(only(&with("cost = 7"), &get).cost, 7);
    let policy = with("cost = \"header:x-cost\"");
    assert_eq!(only(&policy, &get).cost, 1);
    for (said, cost) in [
        ("0", 0),
        ("12", 12),
        (" 7 ", 7),
        ("99999999999999999999", u32::MAX),
    ] {
        let request = get.clone().header("x-cost", said);
        assert_eq!(only(&policy, &request).cost, cost, "{said:?}");
    }
}

#[test]
fn a_cost_that_is_no_number_is_an_error_and_not_one_unit() {
    let policy = with("cost = \"header:x-cost\"");
    for said in ["", "-1", "1.5", "1e3", "ten", "1, 2"] {
        let request = Request::get("/").header("x-cost", said);
        let all = seen(&policy, &request);
        assert_eq!(all.verdict, Verdict::BadCost { rule: 0 }, "{said:?}");
        assert!(all.charges.is_empty());
    }
    let twice = Request::get("/")
        .header("x-cost", "1")
        .header("x-cost", "2");
    assert_eq!(seen(&policy, &twice).verdict, Verdict::BadCost { rule: 0 });

    let shadow = with("cost = \"header:x-cost\"\nmode = \"shadow\"");
    let all = seen(&shadow, &Request::get("/").header("x-cost", "ten"));
    assert_eq!((all.verdict, all.charges.len()), (Verdict::Charges, 0));
    assert_eq!(all.shadow, [(0, DenyReason::BadCost)]);
}

#[test]
fn what_denies_comes_before_a_bad_cost_and_what_is_replaced_has_none() {
    let bad = Request::get("/").header("x-cost", "ten");
    let cost = "cost = \"header:x-cost\"\n";
    let rule =
        "[[rule]]\nname = \"b\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n";
    let replaced = load(&format!(
        "{rule}{cost}[[rule]]\nname = \"a\"\nlimit = \"unlimited\"\nreplaces = \"b\"\n"
    ));
    assert_eq!(seen(&replaced, &bad).verdict, Verdict::Charges);
    let denied = load(&format!(
        "{rule}{cost}[[rule]]\nname = \"a\"\nlimit = \"deny\"\n"
    ));
    assert!(matches!(seen(&denied, &bad).verdict, Verdict::Denied(_)));
}

#[test]
fn answers_settle_by_status_or_by_what_they_name() {
    let get = Request::get("/");
    let plain = only(&with(""), &get);
    assert_eq!((plain.settle, plain.hold_wait), (None, Duration::ZERO));
    let counted = only(&with("count = { status = [401, \"5xx\"] }"), &get);
    let wait = Duration::from_millis(50);
    assert_eq!(
        (counted.settle, counted.hold_wait, counted.cost),
        (Some("status"), wait, 1)
    );
    let settings = "cost = { response = \"trailer:x-units\", estimate = 5 }\nmax_debt = 40\nhold_wait = \"10ms\"";
    let answered = only(&with(settings), &get);
    assert_eq!(answered.settle, Some("response"));
    assert_eq!((answered.cost, answered.max_debt), (5, 40));
    assert_eq!(answered.hold_wait, Duration::from_millis(10));
    assert_eq!(plain.max_debt, Cost::MAX.get());
    let none = only(&with("max_debt = 0"), &get);
    assert_eq!(none.max_debt, 0);
}

#[test]
fn concurrency_is_held_until_the_request_ends_preflights_too() {
    let policy = load(
        "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"concurrency\"\nlimit = 3\nlease = \"30s\"\n\
         plan = \"header:x-plan\"\nplans = { pro = { limit = 9 } }\n",
    );
    let own = only(&policy, &Request::get("/"));
    assert_eq!((own.settle, own.limit), (Some("lease"), 3));
    let pro = only(&policy, &Request::get("/").header("x-plan", "pro"));
    assert_eq!((pro.settle, pro.limit, pro.id), (Some("lease"), 9, own.id));
    let preflight = only(&policy, &Request::preflight("/"));
    assert_eq!(preflight.counter, Counter::Preflights);
    assert_eq!((preflight.settle, preflight.limit), (Some("lease"), 30));
}

#[test]
fn a_preflight_is_final_where_answers_settle_requests() {
    let policy = with("count = { status = [401] }");
    let preflight = only(&policy, &Request::preflight("/"));
    assert_eq!(
        (preflight.settle, preflight.hold_wait),
        (None, Duration::ZERO)
    );
}

#[test]
fn denials_and_failures_are_the_rules_own_affair_else_the_stores() {
    let get = Request::get("/");
    let policy = with("");
    let plain = only(&policy, &get);
    assert_eq!(
        (plain.on_deny, plain.on_failure),
        (OnDeny::Keep, OnFailure::Allow)
    );
    let own = only(&with("on_deny = \"charge\"\non_failure = \"deny\""), &get);
    assert_eq!(
        (own.on_deny, own.on_failure),
        (OnDeny::Charge, OnFailure::Deny)
    );
    let store = with("[store]\non_failure = \"deny\"");
    assert_eq!(store.settings().store.on_failure, OnFailure::Deny);
    assert_eq!(only(&store, &get).on_failure, OnFailure::Deny);
    let lenient = with("on_failure = \"allow\"\n[store]\non_failure = \"deny\"");
    assert_eq!(only(&lenient, &get).on_failure, OnFailure::Allow);
}
