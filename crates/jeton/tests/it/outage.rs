//! A store that does not answer: the outage rule speaks, nothing is invented, everything is counted.

use std::sync::Arc;

use jeton::{
    Answered, Clock, Cost, DEFAULT_TTL, Disposition, Event, Gate, Micros, NamedCharge, RuleOutcome,
    StoreErrorKind, StoreState, Verb,
};

use crate::faulty::{Fault, Faulty};
use crate::support::{Request, S, gate_over, policy, take};

const AWAY: StoreErrorKind = StoreErrorKind::Unavailable;

/// A rule by client address.
fn rule(name: &str, more: &str) -> String {
    format!("[[rule]]\nname = \"{name}\"\nkey = [\"client-ip\"]\n{more}\n")
}

const WINDOW: &str = "algorithm = \"fixed-window\"\nlimit = 10\nwindow = \"1h\"";

fn window(name: &str, on_failure: &str) -> String {
    rule(name, &format!("{WINDOW}\non_failure = {on_failure}"))
}

fn gate(text: &str, fault: Fault) -> (Gate, Arc<Faulty>) {
    let store = Arc::new(Faulty::new());
    store.set(fault);
    (gate_over(Arc::clone(&store) as _, text), store)
}

fn get() -> Request {
    Request::get("192.0.2.1", "/")
}

fn errors(gate: &Gate) -> Vec<(&'static str, u64)> {
    let tally = gate.tally();
    let errors = tally.store_errors().filter(|(_, n)| *n > 0);
    errors.map(|(kind, n)| (kind.word(), n)).collect()
}

fn degraded(answered: &Answered, denied: bool) {
    assert_eq!(answered.allowed(), !denied);
    assert_eq!(answered.decisions().count(), 0);
    assert_eq!(answered.retry_after(), None);
    let error = answered.store_error().unwrap();
    let disposition = Disposition::Degraded { error, denied };
    assert_eq!(answered.disposition(), disposition);
}

#[test]
fn f32_open_passes_without_invented_numbers() {
    for fault in [Fault::Error(AWAY), Fault::LateError(AWAY)] {
        let (gate, _) = gate(&window("r", "\"allow\""), fault);
        for n in 1..=20 {
            let deciding = gate.take(&get());
            let answered = futures_executor::block_on(deciding.wait());
            degraded(&answered, false);
            assert_eq!(gate.tally().event(Event::Degraded), n);
        }
        // Those that the breaker answers are counted with them.
        assert_eq!(errors(&gate), [("unreachable", 20)]);
        assert_eq!(gate.tally().rule(0, RuleOutcome::Allowed), 0);
    }
}

#[test]
fn what_was_not_decided_is_counted_for_each_rule_that_had_a_part_in_it() {
    let rules = [
        window("open", "\"allow\""),
        window("local", "{ local = 0.5 }"),
        window("elsewhere", "\"deny\"") + "\nmatch = { path = \"/elsewhere\" }\n",
    ];
    let (gate, store) = gate(&rules.concat(), Fault::Error(AWAY));
    take(&gate, &get());
    let of = |rule, kind| gate.tally().store_errors_of(rule, kind);
    assert_eq!(errors(&gate), [("unreachable", 1)]);
    assert_eq!([0, 1, 2, 3].map(|rule| of(rule, AWAY)), [1, 1, 0, 0]);
    store.set(Fault::Error(StoreErrorKind::BadState));
    take(&gate, &Request::get("192.0.2.1", "/elsewhere"));
    let of = |rule| of(rule, StoreErrorKind::BadState);
    assert_eq!([0, 1, 2].map(of), [1, 1, 1]);
}

#[test]
fn f32_closed_is_no_denial() {
    let (gate, _) = gate(&window("r", "\"deny\""), Fault::Error(AWAY));
    degraded(&take(&gate, &get()), true);
    assert_eq!(gate.tally().rule(0, RuleOutcome::Denied), 0);
}

#[test]
fn what_the_store_says_holds_for_rules_that_say_nothing() {
    let text = format!("[store]\non_failure = \"deny\"\n{}", rule("r", WINDOW));
    let (gate, _) = gate(&text, Fault::Error(AWAY));
    degraded(&take(&gate, &get()), true);
}

#[test]
fn local_grants_its_share_and_its_denial_is_a_real_one() {
    let (gate, store) = gate(&window("r", "{ local = 0.5 }"), Fault::Error(AWAY));
    for used in 1..=5 {
        let answered = take(&gate, &get());
        assert!(answered.allowed() && answered.is_degraded());
        assert_eq!(answered.store_error(), Some(AWAY));
        let told = answered.told();
        assert_eq!(told[0].decision.limit, 5);
        assert_eq!(told[0].decision.remaining, 5 - used);
        assert!(told[0].receipt().is_none(), "the store knows nothing of it");
    }
    let denied = take(&gate, &get());
    assert!(!denied.allowed() && denied.is_degraded());
    assert_eq!(denied.violated().collect::<Vec<_>>(), ["r"]);
    assert!(denied.retry_after().is_some());
    // Others have their own.
    assert!(take(&gate, &Request::get("192.0.2.2", "/")).allowed());
    let tally = gate.tally();
    assert_eq!(tally.event(Event::Degraded), 7);
    assert_eq!(tally.rule(0, RuleOutcome::Allowed), 6);
    assert_eq!(tally.rule(0, RuleOutcome::Denied), 1);
    assert_eq!(errors(&gate), [("unreachable", 7)]);
    assert_eq!(store.table.stats().keys, 0);
}

#[test]
fn a_share_of_a_bucket_fills_at_its_share_of_the_rate() {
    let bucket = "algorithm = \"gcra\"\nrate = \"10/s\"\nburst = 8\non_failure = { local = 0.25 }";
    let (gate, _) = gate(&rule("r", bucket), Fault::Error(AWAY));
    assert!(take(&gate, &get()).allowed() && take(&gate, &get()).allowed());
    let denied = take(&gate, &get());
    assert_eq!(denied.retry_after().unwrap().as_micros(), 400_000);
    gate.clock().set(Micros::new(1_800_000_000 * S + 400_000));
    assert!(take(&gate, &get()).allowed() && !take(&gate, &get()).allowed());
}

#[test]
fn the_share_is_of_the_quota_in_force() {
    let plans = "plan = \"header:x-plan\"\nplans = { pro = { limit = 100 } }\n\
                 on_failure = { local = 0.5 }";
    let (gate, _) = gate(
        &rule("r", &format!("{WINDOW}\n{plans}")),
        Fault::Error(AWAY),
    );
    let (charge, key) = (NamedCharge::new("r", &["a"]), NamedCharge::new("r", &["b"]));
    let limit = |charge: NamedCharge<'_>| {
        let answered = gate.charge(Verb::Take, &[charge]).unwrap().now().unwrap();
        answered.decisions().next().unwrap().decision.limit
    };
    assert_eq!((limit(charge.plan("pro")), limit(key)), (50, 5));
}

#[test]
fn kept_over_flapping_until_it_would_be_full() {
    let (gate, store) = gate(&window("r", "{ local = 0.5 }"), Fault::Error(AWAY));
    let mut local = 0;
    for second in 0..60 {
        let now = 1_800_000_000 * S + second * S;
        gate.clock().set(Micros::new(now));
        let is_away = second % 2 == 0;
        store.set(if is_away {
            Fault::Error(AWAY)
        } else {
            Fault::None
        });
        for _ in 0..10 {
            let answered = take(&gate, &get());
            local += u32::from(answered.is_degraded() && answered.allowed());
        }
    }
    assert_eq!(local, 5, "one share, however often it went away");
    // Once it would be full, the memory is given back, by whoever looks.
    store.set(Fault::None);
    gate.clock().set(Micros::new(1_800_010_000 * S));
    assert!(take(&gate, &get()).allowed());
    assert!(gate.local_stats().is_some());
    gate.clock()
        .set(Micros::new(1_800_000_000 * S + 5 * 3_600 * S));
    futures_executor::block_on(gate.look());
    assert_eq!(gate.local_stats(), None);
    assert_eq!(gate.store_state(), StoreState::Ready);
}

#[test]
fn of_several_rules_the_strictest_word_holds() {
    let (deny, local, allow) = (
        window("d", "\"deny\""),
        window("l", "{ local = 0.2 }"),
        window("a", "\"allow\""),
    );
    let (gate, _) = gate(&format!("{allow}{local}{deny}"), Fault::Error(AWAY));
    degraded(&take(&gate, &get()), true);
    assert_eq!(gate.local_stats(), None, "nothing was decided");

    let (gate, _) = self::gate(&format!("{allow}{local}"), Fault::Error(AWAY));
    for passes in [true, true, false] {
        let answered = take(&gate, &get());
        assert_eq!(answered.allowed(), passes);
        let names: Vec<_> = answered.decisions().map(|d| d.rule.name()).collect();
        assert_eq!(names, ["l"], "what allows is not told, and not charged");
    }
}

#[test]
fn several_local_rules_are_charged_all_or_none() {
    let text = window("small", "{ local = 0.1 }") + &window("large", "{ local = 0.5 }");
    let (gate, _) = gate(&text, Fault::Error(AWAY));
    assert!(take(&gate, &get()).allowed());
    for _ in 0..9 {
        let denied = take(&gate, &get());
        let left: Vec<u32> = denied.decisions().map(|d| d.decision.remaining).collect();
        assert_eq!((denied.allowed(), left), (false, vec![0, 4]));
    }
}

#[test]
fn rules_without_a_vote_refuse_nothing() {
    let shadow = |word: &str| window("r", &format!("{word}\nmode = \"shadow\""));
    let (gate, _) = gate(&shadow("\"deny\""), Fault::Error(AWAY));
    degraded(&take(&gate, &get()), false);
    let (gate, _) = self::gate(&shadow("{ local = 0.1 }"), Fault::Error(AWAY));
    for _ in 0..3 {
        assert!(take(&gate, &get()).allowed());
    }
    assert_eq!(gate.tally().rule(0, RuleOutcome::ShadowDenied), 2);
}

#[test]
fn a_cost_above_the_share_waits_for_the_store() {
    let (gate, _) = gate(&window("r", "{ local = 0.5 }"), Fault::Error(AWAY));
    let cost = |units| {
        let charge = NamedCharge::new("r", &["192.0.2.1"]).cost(Cost::new(units));
        gate.charge(Verb::Take, &[charge]).unwrap().now().unwrap()
    };
    degraded(&cost(6), true);
    let never = cost(11);
    assert!(!never.allowed() && never.impossible() && never.is_degraded());
    assert!(cost(5).allowed());
}

#[test]
fn a_look_answers_as_a_take_would_and_charges_nothing() {
    let (gate, _) = gate(&window("r", "{ local = 0.1 }"), Fault::Error(AWAY));
    let ask = |verb| {
        let charge = NamedCharge::new("r", &["192.0.2.1"]);
        let answered = gate.charge(verb, &[charge]).unwrap().now().unwrap();
        answered.allowed()
    };
    assert!(ask(Verb::Check) && ask(Verb::Check) && ask(Verb::Take));
    assert!(!ask(Verb::Check) && !ask(Verb::Take));
    assert_eq!(gate.tally().event(Event::Degraded), 2);
}

#[test]
fn what_corrects_a_state_is_not_done_without_it() {
    for word in ["\"allow\"", "\"deny\"", "{ local = 0.5 }"] {
        let (gate, store) = gate(&window("r", word), Fault::None);
        let charge = NamedCharge::new("r", &["192.0.2.1"]);
        let reserved = gate.reserve_charges(&[charge], DEFAULT_TTL).unwrap();
        let reserved = reserved.now().unwrap();
        let handle = reserved.handle().unwrap();
        store.set(Fault::Error(AWAY));
        for verb in [Verb::Refund, Verb::Reset] {
            degraded(&gate.charge(verb, &[charge]).unwrap().now().unwrap(), true);
        }
        for settled in [
            gate.commit(handle, Cost::ZERO),
            gate.cancel(handle),
            gate.extend(handle, None),
        ] {
            let settled = settled.now().unwrap();
            assert_eq!(settled.settlement(), None);
            degraded(&settled, true);
        }
        assert_eq!(errors(&gate), [("unreachable", 5)]);
        assert_eq!(gate.tally().event(Event::Degraded), 0);
        // It is settled when the store is back: units are not lost, and were never free.
        store.set(Fault::None);
        futures_executor::block_on(async { (gate.look().await, gate.look().await) });
        let cancelled = gate.cancel(handle).now().unwrap();
        assert!(cancelled.settlement().is_some());
    }
}

#[test]
fn a_reservation_is_a_promise_that_only_the_store_keeps() {
    for (word, denied) in [
        ("\"allow\"", false),
        ("\"deny\"", true),
        ("{ local = 1 }", true),
    ] {
        let (gate, _) = gate(&window("r", word), Fault::Error(AWAY));
        let reserved = gate.reserve(&get(), None, DEFAULT_TTL).now().unwrap();
        degraded(&reserved, denied);
        assert!(reserved.handle().is_none());
        assert_eq!(gate.tally().event(Event::Degraded), 1);
    }
}

#[test]
fn operators_are_told_and_what_they_said_stays_in_force() {
    let (gate, store) = gate(&window("r", "\"allow\""), Fault::None);
    let block = || futures_executor::block_on(gate.block("r", &["192.0.2.1"], None));
    assert!(block().is_ok());
    store.set(Fault::Error(AWAY));
    assert!(block().is_err());
    futures_executor::block_on(gate.look());
    // A block is decided without a counter, and so without a store.
    assert!(!take(&gate, &get()).allowed());
    assert!(take(&gate, &Request::get("192.0.2.2", "/")).allowed());
}

#[test]
fn one_bad_key_does_not_take_the_store_away() {
    for kind in [StoreErrorKind::BadState, StoreErrorKind::Unsupported] {
        let (gate, store) = gate(&window("r", "\"allow\""), Fault::Error(kind));
        for _ in 0..20 {
            degraded(&take(&gate, &get()), false);
        }
        assert_eq!(store.asked(), 20);
        assert_eq!(gate.store_state(), StoreState::Ready);
    }
}

#[test]
fn f36_memory_in_an_outage_is_bounded_and_given_back() {
    let keys: u32 = if std::env::var_os("JETON_FULL").is_some() {
        1_000_000
    } else {
        50_000
    };
    let caps = "[store]\nmax_keys = 10_000\nmax_memory = \"1MiB\"\n";
    let text = format!("{caps}{}", window("r", "{ local = 0.5 }"));
    let (gate, store) = gate(&text, Fault::Error(AWAY));
    for key in 0..keys {
        let answered = gate.take(&Request {
            ip: Some(std::net::Ipv4Addr::from(key).into()),
            ..Request::default()
        });
        assert!(answered.now().unwrap().is_degraded());
        if key % 1_000 == 0 {
            let stats = gate.local_stats().unwrap();
            assert!(stats.keys <= 10_000 && stats.bytes <= 1 << 20, "{stats:?}");
        }
    }
    assert!(gate.local_stats().unwrap().overflowed > 0);
    store.set(Fault::None);
    gate.clock()
        .set(Micros::new(1_800_000_000 * S + 3_600 * 4 * S));
    futures_executor::block_on(async {
        for _ in 0..3 {
            gate.look().await;
        }
    });
    assert_eq!(gate.local_stats(), None);
}

#[test]
fn a_store_with_a_clock_of_its_own_is_gone_by() {
    let own = Micros::new(1_900_000_000 * S);
    let text = rule("r", WINDOW);
    let gate_of = |clock: Clock| {
        let store = Arc::new(Faulty::with_clock(own));
        Gate::new(policy(&text), store, clock)
    };
    let charge = NamedCharge::new("r", &["192.0.2.1"]);
    let gate = gate_of(Clock::system());
    for verb in [Verb::Take, Verb::Check, Verb::Refund, Verb::Reset] {
        let answered = gate.charge(verb, &[charge]).unwrap().now().unwrap();
        assert_eq!(answered.at(), own, "{verb:?}");
        assert!(answered.decisions().all(|d| d.decision.at == own));
    }
    assert_eq!(take(&gate, &get()).at(), own);
    let reserved = gate.reserve(&get(), None, DEFAULT_TTL).now().unwrap();
    assert_eq!(reserved.at(), own);
    let settled = gate.cancel(reserved.handle().unwrap()).now().unwrap();
    assert_eq!(settled.at(), own);
    #[cfg(feature = "settling")]
    assert_eq!(gate.hold(&get()).now().unwrap().at(), own);
    // Orders end by the clock of the gate that took them.
    let hour = jeton::Span::from_micros(3_600 * S).unwrap();
    futures_executor::block_on(gate.block("r", &["192.0.2.9"], Some(hour))).unwrap();

    // A clock that moves by hand is there to be gone by: simulations.
    let by_hand = Micros::new(1_800_000_000 * S);
    assert_eq!(take(&gate_of(Clock::fixed(by_hand)), &get()).at(), by_hand);
}
