//! Plans and trials: several allowances of one rule.

use jeton_policy::{Allowance, Counter, Denied, DenyReason, Mode, Policy, Terms, Verdict};

use crate::common::{Request, load};
use crate::seen::{Seen, only, seen};

fn planned(source: &str) -> Policy {
    load(&format!(
        "[[rule]]\nname = \"user\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\nburst = 20\n\
         plan = \"{source}\"\n\
         plans = {{ pro = {{ rate = \"50/s\", burst = 200 }}, fast = {{ rate = \"40/s\" }}, \
         deep = {{ burst = 30 }}, staff = \"unlimited\", banned = {{ limit = \"deny\" }} }}\n"
    ))
}

fn with(plan: &str) -> Request {
    Request::get("/").header("x-plan", plan)
}

#[test]
fn a_plan_changes_the_quota_and_never_the_counter() {
    let policy = planned("header:x-plan");
    let own = only(&policy, &Request::get("/"));
    assert_eq!((own.limit, own.plan.as_deref()), (20, None));
    for (plan, burst) in [("pro", 200), ("fast", 40), ("deep", 30)] {
        let charge = only(&policy, &with(plan));
        let (limit, plan) = (burst, Some(plan.to_owned()));
        assert_eq!(
            charge,
            Seen {
                limit,
                plan,
                ..own.clone()
            }
        );
    }
}

#[test]
fn what_a_plan_does_not_set_is_the_rules_own_but_the_burst_of_a_new_rate() {
    let policy = planned("header:x-plan");
    let rule = policy.rules()[0].rule();
    let plan = |name: &str| {
        let plans = &rule.plan.as_ref().unwrap().named;
        match plans.iter().find(|(own, _)| own == name).unwrap().1 {
            Allowance::Quota(Terms::Bucket { pace, burst }) => (pace.to_string(), burst),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(plan("pro"), ("50/s".to_owned(), 200));
    assert_eq!(plan("fast"), ("40/s".to_owned(), 40));
    assert_eq!(plan("deep"), ("5/s".to_owned(), 30));

    let window = "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"fixed-window\"\n\
        anchor = \"first-request\"\nlimit = 10\nwindow = \"1m\"\nplan = \"query:plan\"\n\
        plans = { long = { window = \"1h\" } }\n";
    let policy = load(window);
    let plans = policy.rules()[0].rule().plan.as_ref().unwrap();
    let Allowance::Quota(long) = plans.named[0].1 else {
        panic!()
    };
    assert!(matches!(
        long,
        Terms::FixedWindow { limit: 10, window, anchor: jeton_core::Anchor::FirstRequest }
            if window.as_micros() == 3_600_000_000
    ));
}

#[test]
fn an_unknown_plan_gets_the_rules_own_terms() {
    let policy = planned("header:x-plan");
    for plan in ["", "Pro", "pro,", "pro pro", "free", "\u{fc}"] {
        let charge = only(&policy, &with(plan));
        assert_eq!((charge.limit, charge.plan), (20, None), "{plan:?}");
    }
    // Two lines are one value, which is no plan.
    let twice = with("pro").header("x-plan", "pro");
    assert_eq!(only(&policy, &twice).plan, None);
    // White space around a field is not part of it.
    assert_eq!(only(&policy, &with(" pro ")).limit, 200);
}

#[test]
fn a_plan_stands_in_a_cookie_a_parameter_or_a_descriptor_too() {
    let cookie = Request::get("/").header("cookie", "a=1; plan=pro");
    assert_eq!(only(&planned("cookie:plan"), &cookie).limit, 200);
    let query = Request::get("/?plan=p%72o");
    assert_eq!(only(&planned("query:plan"), &query).limit, 200);
    let mut described = Request::get("/");
    described
        .descriptors
        .push(("plan".to_owned(), "pro".to_owned()));
    assert_eq!(only(&planned("descriptor:plan"), &described).limit, 200);
}

#[test]
fn a_plan_of_a_word_charges_nothing_or_refuses() {
    let policy = planned("header:x-plan");
    let all = seen(&policy, &with("staff"));
    assert_eq!((all.verdict, all.charges.len()), (Verdict::Charges, 0));
    let (rule, reason) = (0, DenyReason::Plan);
    let all = seen(&policy, &with("banned"));
    assert_eq!(all.verdict, Verdict::Denied(Denied { rule, reason }));
}

#[test]
fn f19_an_unlimited_plan_still_replaces_and_other_rules_still_apply() {
    let rule = |name: &str, more: &str| {
        format!(
            "[[rule]]\nname = \"{name}\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n{more}\n"
        )
    };
    let plans = "plan = \"header:x-plan\"\nplans = { staff = \"unlimited\" }";
    let policy = load(
        &[
            rule("old", ""),
            rule("user", &format!("{plans}\nreplaces = [\"old\"]")),
            rule("all", ""),
        ]
        .concat(),
    );
    let names = |request: &Request| -> Vec<String> {
        let charges = seen(&policy, request).charges.into_iter();
        charges.map(|charge| charge.rule).collect()
    };
    assert_eq!(names(&Request::get("/")), ["user", "all"]);
    assert_eq!(names(&with("staff")), ["all"]);
}

#[test]
fn a_rule_without_a_vote_is_not_made_one_by_a_plan() {
    let policy = load(
        "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
         mode = \"mark\"\nplan = \"header:x-plan\"\nplans = { banned = \"deny\" }\n",
    );
    let all = seen(&policy, &with("banned"));
    assert_eq!((all.verdict, all.charges.len()), (Verdict::Charges, 0));
    assert_eq!(all.shadow, [(0, DenyReason::Plan)]);
    assert_eq!(only(&policy, &Request::get("/")).mode, Mode::Mark);
}

#[test]
fn a_preflight_has_the_rules_own_terms_ten_times() {
    let policy = planned("header:x-plan");
    let preflight = Request::preflight("/").header("x-plan", "pro");
    let charge = only(&policy, &preflight);
    assert_eq!(charge.counter, Counter::Preflights);
    assert_eq!((charge.limit, charge.plan), (200, None));
    let banned = Request::preflight("/").header("x-plan", "banned");
    assert!(matches!(seen(&policy, &banned).verdict, Verdict::Denied(_)));
}

#[test]
fn doors_are_told_which_header_fields_are_believed() {
    let policy = load(
        "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
         plan = \"header:X-Plan\"\nplans = { staff = \"unlimited\" }\ncost = \"header:X-Cost\"\n\
         [[rule]]\nname = \"b\"\nkey = \"header:x-key\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
         plan = \"header:x-plan\"\nplans = { staff = \"unlimited\" }\n\
         [[rule]]\nname = \"c\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"5/s\"\n\
         plan = \"cookie:plan\"\nplans = { staff = \"unlimited\" }\n\
         cost = { response = \"header:x-units\", estimate = 1 }\n",
    );
    assert_eq!(policy.believed_headers(), ["x-plan", "x-cost"]);
}

const TRIAL: &str = "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"sliding-log\"\n\
    limit = 100\nwindow = \"1m\"\ntrial = { limit = 80 }\n\
    plan = \"header:x-plan\"\nplans = { pro = { limit = 500 } }\n";

#[test]
fn a_trial_is_counted_beside_without_a_vote() {
    let policy = load(TRIAL);
    let all = seen(&policy, &Request::get("/")).charges;
    let [own, trial] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((own.counter, own.limit), (Counter::Requests, 100));
    let expected = Seen {
        counter: Counter::Trial,
        id: policy.rules()[0].trial_id().unwrap(),
        limit: 80,
        mode: Mode::Shadow,
        ..own.clone()
    };
    assert_eq!(*trial, expected);
    let ids = [own.id, trial.id, policy.rules()[0].preflight_id()];
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
}

#[test]
fn there_is_no_trial_under_a_plan_nor_for_preflights() {
    let policy = load(TRIAL);
    assert_eq!(only(&policy, &with("pro")).limit, 500);
    let preflight = only(&policy, &Request::preflight("/"));
    assert_eq!(preflight.counter, Counter::Preflights);
}

#[test]
fn trials_count_towards_what_one_step_can_hold() {
    let rules = |count: usize| -> Policy {
        let rule = |index: usize| {
            let matches = format!("match = {{ with = \"header:x-{}\" }}\n", index % 2);
            TRIAL.replace("\"a\"", &format!("\"r{index}\"")) + &matches
        };
        load(&(0..count).map(rule).collect::<String>())
    };
    let both = Request::get("/").header("x-0", "1").header("x-1", "1");
    assert_eq!(seen(&rules(16), &both).charges.len(), 32);
    let policy = rules(17);
    assert_eq!(seen(&policy, &both).verdict, Verdict::TooManyRules);
    let planned = both.header("x-plan", "pro");
    assert_eq!(seen(&policy, &planned).charges.len(), 17);
}
