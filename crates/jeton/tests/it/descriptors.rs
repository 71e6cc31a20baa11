//! Requests of descriptors, as the Envoy rate limit service has them.

use std::sync::Arc;
#[cfg(feature = "settling")]
use std::time::Duration;

use jeton::policy::{Policy, Resolve, Source, Unit, Unresolved};
use jeton::{
    Clock, Cost, Descriptor, DescriptorRequest, Disposition, Gate, Hits, Micros, RuleOutcome,
    Ruled, Ruling, Settings, Standing, Store, StoreErrorKind, Table,
};

use crate::faulty::{Fault, Faulty};
use crate::support::S;

const RLS: &str = "[rls]\nlisten = \"127.0.0.1:8081\"\nenvoy_config = \"folder\"\n";

/// Ten limits in one file.
const FILE: &str = "domain: d
descriptors:
  - { key: one, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: ten, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: week, rate_limit: { unit: week, requests_per_unit: 2 } }
  - { key: shadow, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: quota, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: more, quota_mode: true, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: counted, quota_mode: true, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: never, rate_limit: { unit: hour } }
";

struct File;

impl Resolve for File {
    fn env(&self, _: &str) -> Result<String, Unresolved> {
        Err(Unresolved::Absent)
    }

    fn file(&self, _: &str) -> Result<String, Unresolved> {
        Ok(FILE.to_owned())
    }

    fn folder(&self, _: &str) -> Result<Vec<String>, Unresolved> {
        Ok(vec!["a.yaml".to_owned()])
    }
}

fn gate_over(store: Arc<dyn Store>, more: &str) -> (Gate, Clock) {
    let source = Source::new("jeton.toml", format!("{RLS}{more}"));
    let loaded = Policy::load(&source, &File).unwrap_or_else(|report| panic!("{report}"));
    // The beginning of an hour, of a day and of a week.
    let clock = Clock::fixed(Micros::new(2_600 * 7 * 86_400 * S));
    (Gate::new(loaded.policy, store, clock.clone()), clock)
}

fn gate(more: &str) -> Gate {
    gate_over(Arc::new(Table::new(&Settings::default()).unwrap()), more).0
}

fn now(ruling: Ruling) -> Ruled {
    match ruling {
        Ruling::Now(ruled) => ruled,
        Ruling::Later(_) => panic!("memory answers at once"),
    }
}

/// Asks about keys, all with the same value; a number behind a `+` charges so many, behind a `-` gives
/// them back.
fn ask(gate: &Gate, keys: &[&str]) -> Ruled {
    now(asked(gate, keys))
}

fn asked(gate: &Gate, keys: &[&str]) -> Ruling {
    type Asked<'a> = ([(&'a str, &'a str); 1], Option<Hits>);
    let entries: Vec<Asked<'_>> = keys
        .iter()
        .map(|key| {
            let number = |text: &str| Cost::new(text.parse().unwrap());
            match (key.split_once('+'), key.split_once('-')) {
                (Some((key, units)), _) => ([(key, "x")], Some(Hits::Take(number(units)))),
                (_, Some((key, units))) => ([(key, "x")], Some(Hits::Refund(number(units)))),
                _ => ([(*key, "x")], None),
            }
        })
        .collect();
    let descriptors: Vec<Descriptor<'_>> = entries
        .iter()
        .map(|(entries, hits)| Descriptor {
            entries,
            limit: None,
            hits: *hits,
        })
        .collect();
    gate.rule(&DescriptorRequest {
        domain: "d",
        descriptors: &descriptors,
        cost: None,
    })
}

/// Whether it passes, and which descriptors are over.
fn said(gate: &Gate, keys: &[&str]) -> (bool, Vec<bool>) {
    let ruled = ask(gate, keys);
    let over = ruled.descriptors.iter().map(|one| one.over).collect();
    (ruled.answered.allowed(), over)
}

fn remaining(gate: &Gate, key: &str) -> u32 {
    match ask(gate, &[&format!("{key}+0")]).descriptors[0].standing {
        Standing::Decided { decision, .. } => decision.remaining,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_denied_hit_costs_nothing_and_neither_do_descriptors_beside_it() {
    let gate = gate("");
    assert_eq!(said(&gate, &["one", "ten"]), (true, vec![false, false]));
    assert_eq!(said(&gate, &["one", "ten"]), (false, vec![true, false]));
    assert_eq!(remaining(&gate, "ten"), 9);
    assert_eq!(said(&gate, &["ten+9"]), (true, vec![false]));
    assert_eq!(said(&gate, &["ten+1"]), (false, vec![true]));
}

#[test]
fn what_does_not_fit_whole_leaves_what_there_is() {
    let gate = gate("");
    ask(&gate, &["ten+8"]);
    assert_eq!(said(&gate, &["ten+5"]), (false, vec![true]));
    assert_eq!(remaining(&gate, "ten"), 2);
    assert_eq!(
        said(&gate, &["ten+18446744073709551615"]),
        (false, vec![true])
    );
    assert_eq!(remaining(&gate, "ten"), 2);
}

#[test]
fn the_old_way_charges_denied_hits_and_what_stands_beside_them() {
    let gate = gate("on_deny = \"charge\"\n");
    ask(&gate, &["one"]);
    assert_eq!(said(&gate, &["one", "ten"]), (false, vec![true, false]));
    assert_eq!(remaining(&gate, "ten"), 9);
    // Counted as far as there is room: what comes after is over as well.
    assert_eq!(said(&gate, &["ten+10"]), (false, vec![true]));
    assert_eq!(remaining(&gate, "ten"), 0);
}

#[test]
fn units_that_go_back_are_always_taken_back_and_never_too_many() {
    let gate = gate("");
    ask(&gate, &["ten+3"]);
    assert_eq!(said(&gate, &["ten-1"]), (true, vec![false]));
    assert_eq!(remaining(&gate, "ten"), 8);
    assert_eq!(said(&gate, &["ten-100"]), (true, vec![false]));
    assert_eq!(remaining(&gate, "ten"), 10);
    ask(&gate, &["one", "ten+4"]);
    // Beside a denial too.
    assert_eq!(said(&gate, &["one", "ten-2"]), (false, vec![true, false]));
    assert_eq!(remaining(&gate, "ten"), 8);
}

#[test]
fn one_counter_named_twice_is_charged_for_both() {
    let gate = gate("");
    assert_eq!(said(&gate, &["ten+2", "ten+3"]), (true, vec![false, false]));
    assert_eq!(remaining(&gate, "ten"), 5);
    assert_eq!(said(&gate, &["one", "one"]), (false, vec![true, true]));
    assert_eq!(remaining(&gate, "one"), 1);
}

#[test]
fn a_limit_in_shadow_counts_and_never_refuses() {
    let gate = gate("");
    for _ in 0..3 {
        assert_eq!(said(&gate, &["shadow", "ten"]), (true, vec![false, false]));
    }
    assert_eq!(
        (remaining(&gate, "shadow"), remaining(&gate, "ten")),
        (0, 7)
    );
    let (rule, _) = gate
        .policy()
        .rule("rls:d.shadow")
        .map(|(at, rule)| (at, rule.id()))
        .unwrap();
    assert_eq!(gate.tally().rule(rule, RuleOutcome::ShadowDenied), 2);
}

#[test]
fn quotas_refuse_together_and_what_others_were_charged_goes_back() {
    let gate = gate("");
    assert_eq!(
        said(&gate, &["quota", "more", "ten"]),
        (true, vec![false; 3])
    );
    assert_eq!(
        said(&gate, &["quota", "more", "ten"]),
        (true, vec![true, false, false])
    );
    let ruled = ask(&gate, &["quota", "more", "ten"]);
    assert!(!ruled.answered.allowed() && ruled.answered.retry_after().is_some());
    // The answer tells what is left now, not what was left for a moment.
    let Standing::Decided { decision, .. } = ruled.descriptors[2].standing else {
        panic!()
    };
    assert_eq!((decision.remaining, remaining(&gate, "ten")), (8, 8));
    assert!(
        ruled
            .answered
            .decisions()
            .all(|one| one.receipt().is_none())
    );
    // Alone it is as every other limit.
    assert_eq!(said(&gate, &["quota", "ten"]), (false, vec![true, false]));
    assert_eq!(remaining(&gate, "ten"), 8);
    // One that only counts never refuses, and so they never do together.
    ask(&gate, &["counted"]);
    assert_eq!(
        said(&gate, &["quota", "counted"]),
        (true, vec![true, false])
    );
}

#[test]
fn shadow_and_quota_hold_for_all_where_the_section_says_so() {
    let shadow = gate("shadow_mode = true\n");
    ask(&shadow, &["one"]);
    assert_eq!(said(&shadow, &["one", "ten"]), (true, vec![true, false]));
    assert_eq!(remaining(&shadow, "ten"), 9);
    assert_eq!(said(&shadow, &["never"]), (true, vec![true]));
    let quota = gate("quota_mode = true\n");
    ask(&quota, &["one"]);
    assert_eq!(said(&quota, &["one", "ten"]), (true, vec![true, false]));
    ask(&quota, &["ten+9"]);
    assert_eq!(said(&quota, &["one", "ten"]), (false, vec![true, true]));
    // What nothing limits passes, and so does the request.
    assert_eq!(
        said(&quota, &["one", "ten", "other"]),
        (true, vec![true, true, false])
    );
}

#[test]
fn limits_of_none_and_without_end() {
    let gate = gate("");
    let ruled = ask(&gate, &["free", "never", "ten", "other"]);
    let over: Vec<bool> = ruled.descriptors.iter().map(|one| one.over).collect();
    assert_eq!(over, [false, true, false, false]);
    assert!(!ruled.answered.allowed());
    assert_eq!(ruled.descriptors[0].standing, Standing::Unlimited);
    assert_eq!(
        ruled.descriptors[1].standing,
        Standing::Refused(Some((0, Unit::Hour)))
    );
    assert_eq!(ruled.descriptors[3].standing, Standing::Free);
    assert_eq!(remaining(&gate, "ten"), 10);
    let free = ask(&gate, &["free"]);
    assert!(matches!(
        free.answered.disposition(),
        Disposition::Unlimited
    ));
    let other = ask(&gate, &["other"]);
    assert!(matches!(
        other.answered.disposition(),
        Disposition::Unmatched
    ));
}

#[test]
fn windows_stand_where_the_epoch_has_them() {
    let (gate, clock) = gate_over(Arc::new(Table::new(&Settings::default()).unwrap()), "");
    ask(&gate, &["week+2"]);
    let week = 2_601 * 7 * 86_400 * S;
    clock.set(Micros::new(week - 1));
    assert_eq!(said(&gate, &["week"]), (false, vec![true]));
    clock.set(Micros::new(week));
    assert_eq!(said(&gate, &["week"]), (true, vec![false]));
}

#[test]
fn a_limit_of_the_request_holds_for_it() {
    let gate = gate("");
    let own = |key, requests| {
        let entries = [(key, "x")];
        let limit = Some((requests, Unit::Hour));
        let descriptors = [Descriptor {
            entries: &entries,
            limit,
            hits: None,
        }];
        let (domain, cost) = ("d", None);
        now(gate.rule(&DescriptorRequest {
            domain,
            descriptors: &descriptors,
            cost,
        }))
        .answered
        .allowed()
    };
    assert!(own("shadow", 2) && own("shadow", 2) && !own("shadow", 2));
    // The same counter as that of the file.
    assert_eq!(remaining(&gate, "shadow"), 0);
    assert!(own("other", 1) && !own("other", 1) && own("other", 2));
    assert!(!own("ten", 0) && own("ten", 4_000_000_000));
}

#[test]
fn rules_of_the_policy_decide_beside_them_in_one_step() {
    let gate = gate(
        "[[rule]]\nname = \"pair\"\nmatch = { domain = \"d\" }\nkey = [\"descriptor:ten\", \
         \"descriptor:user\"]\nmissing = \"skip\"\nalgorithm = \"gcra\"\nrate = \"2/h\"\n",
    );
    let user = |gate: &Gate| ask(gate, &["ten", "user", "other"]);
    let first = user(&gate);
    assert!(first.answered.allowed());
    assert_eq!(first.answered.decisions().count(), 2);
    assert_eq!(first.descriptors[2].standing, Standing::Free);
    user(&gate);
    let third = user(&gate);
    assert!(!third.answered.allowed());
    assert_eq!(third.answered.violated().collect::<Vec<_>>(), ["pair"]);
    assert_eq!(remaining(&gate, "ten"), 8);
    // A key of two descriptors speaks of neither; one of one speaks of that one.
    let one = "[[rule]]\nname = \"one\"\nkey = [\"descriptor:user\"]\nmissing = \"skip\"\n\
               algorithm = \"gcra\"\nrate = \"1/h\"\n";
    let gate = self::gate(one);
    let first = ask(&gate, &["other", "user"]);
    assert_eq!(first.descriptors[0].standing, Standing::Free);
    assert_eq!(first.descriptors[1].standing, Standing::ByRule(0));
    assert_eq!(said(&gate, &["other", "user"]), (false, vec![false, true]));
}

#[test]
fn lists_speak_of_the_address_that_a_descriptor_has() {
    let gate = gate("[lists]\nblock = [\"192.0.2.0/24\"]\nexempt = [\"198.51.100.7\"]\n");
    let from = |address| {
        let (entries, ten) = ([("remote_address", address)], [("ten", "x")]);
        let one = |entries| Descriptor {
            entries,
            limit: None,
            hits: None,
        };
        let descriptors = [one(&entries[..]), one(&ten[..])];
        let (domain, cost) = ("d", None);
        now(gate.rule(&DescriptorRequest {
            domain,
            descriptors: &descriptors,
            cost,
        }))
    };
    assert!(!from("192.0.2.9").answered.allowed());
    assert!(from("198.51.100.7").answered.allowed());
    assert_eq!(remaining(&gate, "ten"), 10);
    from("203.0.113.1");
    assert_eq!(remaining(&gate, "ten"), 9);
}

#[test]
fn more_limits_than_one_step_holds_are_refused() {
    let gate = gate("");
    let keys: Vec<[(&str, String); 1]> = (0..40).map(|at| [("ten", at.to_string())]).collect();
    let entries: Vec<[(&str, &str); 1]> = keys
        .iter()
        .map(|[(key, value)]| [(*key, value.as_str())])
        .collect();
    let one = |entries| Descriptor {
        entries,
        limit: None,
        hits: None,
    };
    let descriptors: Vec<_> = entries.iter().map(|entries| one(&entries[..])).collect();
    let (domain, cost) = ("d", None);
    let ruled = now(gate.rule(&DescriptorRequest {
        domain,
        descriptors: &descriptors,
        cost,
    }));
    assert!(matches!(
        ruled.answered.disposition(),
        Disposition::TooManyRules
    ));
    assert!(ruled.descriptors.len() == 40 && ruled.descriptors.iter().all(|one| one.over));
}

#[test]
fn without_the_store_the_outage_rule_speaks() {
    for (word, passes) in [("allow", true), ("deny", false)] {
        let store = Arc::new(Faulty::new());
        let (gate, _) = gate_over(
            store.clone(),
            &format!("[store]\non_failure = \"{word}\"\n"),
        );
        store.set(Fault::Error(StoreErrorKind::Unavailable));
        let ruled = ask(&gate, &["one", "ten-1"]);
        assert!(ruled.answered.is_degraded());
        assert_eq!(ruled.answered.allowed(), passes);
        assert!(ruled.descriptors.iter().all(|one| one.over != passes));
        assert!(
            ruled
                .descriptors
                .iter()
                .all(|one| one.standing == Standing::Free)
        );
    }
    let store = Arc::new(Faulty::new());
    let (gate, _) = gate_over(store.clone(), "[store]\non_failure = { local = 0.5 }\n");
    store.set(Fault::Error(StoreErrorKind::Unavailable));
    let allowed = (0..8)
        .filter(|_| ask(&gate, &["ten"]).answered.allowed())
        .count();
    assert_eq!(allowed, 5);
}

#[test]
fn a_door_that_sheds_asks_nobody() {
    let store = Arc::new(Faulty::new());
    let (gate, _) = gate_over(store.clone(), "");
    let full = jeton::InFlight::at_most(0);
    let ruled = ask(&gate.within(&full), &["one"]);
    assert_eq!(
        ruled.answered.store_error(),
        Some(StoreErrorKind::Saturated)
    );
    assert!(ruled.answered.allowed());
    assert_eq!((store.asked(), full.shed()), (0, 1));
}

#[cfg(feature = "settling")]
#[tokio::test(start_paused = true)]
async fn a_store_that_answers_later_says_the_same() {
    let store = Arc::new(Faulty::new());
    let (gate, _) = gate_over(store.clone(), "");
    store.set(Fault::Slow(Duration::from_millis(3)));
    let over = async |keys: &[&str]| {
        let ruled = asked(&gate, keys).wait().await;
        let over: Vec<bool> = ruled.descriptors.iter().map(|one| one.over).collect();
        (ruled.answered.allowed(), over)
    };
    assert_eq!(
        over(&["quota", "more", "ten"]).await,
        (true, vec![false; 3])
    );
    assert_eq!(
        over(&["quota", "more", "ten"]).await,
        (true, vec![true, false, false])
    );
    assert_eq!(
        over(&["quota", "more", "ten"]).await,
        (false, vec![true, true, false])
    );
    store.set(Fault::LateError(StoreErrorKind::Refused));
    assert_eq!(over(&["ten"]).await, (true, vec![false]));
    store.set(Fault::None);
    assert_eq!(remaining(&gate, "ten"), 8);
}

/// Whatever is asked, and whoever charges denials: an explanation changes no counter and no meter.
#[tokio::test]
async fn what_is_explained_is_what_would_be_decided_and_changes_nothing() {
    for more in ["", "on_deny = \"charge\"\n"] {
        let gate = gate(more);
        assert!(said(&gate, &["one"]).0);
        let (rule, _) = gate
            .policy()
            .rule("rls:d.one")
            .map(|(at, rule)| (at, rule.id()))
            .unwrap();
        let counted = || RuleOutcome::ALL.map(|outcome| gate.tally().rule(rule, outcome));
        let before = counted();
        for (hits, passes) in [(None, false), (Some(Hits::Refund(Cost::new(1))), true)] {
            let descriptors = [Descriptor {
                entries: &[("one", "x")],
                limit: None,
                hits,
            }];
            let request = DescriptorRequest {
                domain: "d",
                descriptors: &descriptors,
                cost: None,
            };
            let explained = gate.explain_descriptors(&request).await;
            assert_eq!(explained.answered.allowed(), passes, "{more:?} {hits:?}");
            let limits = &explained.policy.rules;
            assert_eq!((limits.len(), &limits[0].rule[..]), (9, "rls:d.one"));
        }
        assert_eq!(remaining(&gate, "one"), 0, "{more:?}");
        assert_eq!(counted(), before);
    }
}
