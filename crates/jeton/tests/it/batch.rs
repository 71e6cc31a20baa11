//! Many calls at once: each is answered as it would be alone, and one call to the store decides all.

use std::sync::Arc;
use std::time::Duration;

use jeton::{
    Batch, BatchAnswer, BatchMemory, BatchReply, Brought, ChargeError, Cost, Decided, Disposition,
    Event, Fit, Gate, NamedCharge, Quota, Rate, RuleOutcome, Span, StoreErrorKind, StoreState,
    Verb,
};

use crate::faulty::{Fault, Faulty};
use crate::support::{gate, gate_over, named};

const RULES: &str = r#"
[store]
on_failure = "deny"

[[rule]]
name = "window"
key = ["header:x-user"]
algorithm = "fixed-window"
limit = 3
window = "1h"
on_failure = "allow"
trial = { limit = 1 }

[[rule]]
name = "log"
key = ["header:x-user"]
algorithm = "sliding-log"
limit = 2
window = "1min"
on_failure = { local = 0.5 }

[[rule]]
name = "free"
key = ["header:x-user"]
limit = "unlimited"

[[rule]]
name = "closed"
key = ["header:x-user"]
limit = "deny"

[[rule]]
name = "held"
key = ["header:x-user"]
algorithm = "concurrency"
limit = 2
lease = "1min"
"#;

fn bucket(burst: u64) -> Quota {
    Quota::bucket(Rate::new(1, Span::SECOND).unwrap(), burst).unwrap()
}

fn bring(batch: &mut Batch, key: &[u8], quota: Quota, cost: u64) {
    let cost = Cost::new(cost);
    batch.brought(Verb::Take, &Brought { key, quota, cost });
}

fn add(batch: &mut Batch, verb: Verb, rule: &str, cost: u64) -> Result<(), ChargeError> {
    batch.named(
        verb,
        NamedCharge::new(rule, &["alice"]).cost(Cost::new(cost)),
    )
}

fn now(batch: Batch, room: usize) -> Decided {
    match batch.decide(room) {
        BatchReply::Now(decided) => decided,
        BatchReply::Later(later) => futures_executor::block_on(later),
    }
}

fn allowed(decided: &Decided) -> Vec<bool> {
    decided.answers().map(|answer| answer.allowed()).collect()
}

#[test]
fn calls_of_a_batch_are_answered_in_order_as_they_would_be_alone() {
    let (together, alone) = (gate(RULES), gate(RULES));
    let calls = [
        (Verb::Take, "window", 2),
        (Verb::Check, "window", 2),
        (Verb::Take, "window", 2),
        (Verb::Take, "log", 1),
        (Verb::Take, "window", 1),
        (Verb::Refund, "window", 1),
        (Verb::Take, "log", 9),
        (Verb::Take, "free", 1),
        (Verb::Take, "closed", 1),
        (Verb::Take, "window", 0),
        (Verb::Reset, "window", 0),
        (Verb::Take, "window", 3),
    ];
    let mut batch = together.batch(BatchMemory::default());
    for (verb, rule, cost) in calls {
        add(&mut batch, verb, rule, cost).unwrap();
    }
    assert_eq!(batch.len(), calls.len());
    let decided = now(batch, usize::MAX);
    for (answer, (verb, rule, cost)) in decided.answers().zip(calls) {
        let own = named(&alone, verb, &[(rule, "alice", cost)]);
        let what = format!("{verb:?} {rule} {cost}");
        assert_eq!(answer.disposition(), own.disposition(), "{what}");
        assert_eq!(answer.retry_after(), own.retry_after(), "{what}");
        assert_eq!(
            answer.decision(),
            own.decisions().next().map(|d| d.decision),
            "{what}"
        );
        assert_eq!(answer.impossible(), own.impossible(), "{what}");
        assert_eq!(answer.store_error(), None);
    }
    for rule in 0..4 {
        for outcome in RuleOutcome::ALL {
            let count = |gate: &Gate| gate.tally().rule(rule, outcome);
            assert_eq!(count(&together), count(&alone), "{rule} {outcome:?}");
        }
    }
    assert_eq!(together.tally().event(Event::Refused), 1);
}

#[test]
fn what_is_wrong_is_told_and_adds_nothing() {
    let gate = gate(RULES);
    let mut batch = gate.batch(BatchMemory::default());
    let unknown = add(&mut batch, Verb::Take, "windov", 1).unwrap_err();
    assert!(
        matches!(unknown, ChargeError::UnknownRule { nearest: Some(it), .. } if it == "window")
    );
    let parts = batch.named(Verb::Take, NamedCharge::new("window", &["a", "b"]));
    assert!(matches!(parts, Err(ChargeError::Key { .. })));
    let held = add(&mut batch, Verb::Take, "held", 1);
    assert!(matches!(held, Err(ChargeError::NeedsHold { .. })));
    assert!(batch.is_empty());
    add(&mut batch, Verb::Take, "window", 1).unwrap();
    assert_eq!(allowed(&now(batch, usize::MAX)), [true]);
}

#[test]
fn under_another_quota_what_was_used_stays_used() {
    let gate = gate(RULES);
    let mut batch = gate.batch(BatchMemory::default());
    bring(&mut batch, b"bob", bucket(10), 8);
    bring(&mut batch, b"bob", bucket(9), 2);
    bring(&mut batch, b"bob", bucket(9), 1);
    bring(&mut batch, b"bob\0", bucket(9), 9);
    bring(&mut batch, b"bob", bucket(5), 6);
    let decided = now(batch, usize::MAX);
    assert_eq!(allowed(&decided), [true, false, true, true, false]);
    let fits: Vec<Fit> = decided
        .answers()
        .filter_map(|answer| Some(answer.decision()?.fit))
        .collect();
    let retry_after = Span::SECOND;
    assert_eq!(fits[1], Fit::Denied { retry_after });
    assert_eq!(fits[4], Fit::Impossible);
    let tally = gate.tally();
    assert_eq!(tally.brought(RuleOutcome::Allowed), 3);
    assert_eq!(tally.brought(RuleOutcome::Denied), 2);
}

#[test]
fn its_memory_serves_the_next_batch() {
    let gate = gate(RULES);
    let mut memory = BatchMemory::default();
    for round in 0..4 {
        let mut batch = gate.batch(memory);
        assert!(batch.is_empty());
        add(&mut batch, Verb::Take, "window", 1).unwrap();
        let decided = now(batch, usize::MAX);
        assert_eq!(allowed(&decided), [round < 3]);
        memory = decided.into_memory();
    }
}

#[test]
fn one_call_to_the_store_decides_all() {
    let store = Arc::new(Faulty::new());
    let gate = gate_over(Arc::clone(&store) as _, RULES);
    for fault in [Fault::None, Fault::Slow(Duration::ZERO)] {
        store.set(fault);
        let mut batch = gate.batch(BatchMemory::default());
        for key in 0..100_u8 {
            bring(&mut batch, &[key], bucket(3), 1);
        }
        let decided = now(batch, usize::MAX);
        assert!(decided.answers().all(|answer| answer.allowed()));
        assert_eq!(store.asked(), 1);
    }
}

#[test]
fn what_the_store_does_not_answer_is_the_outage_rules() {
    for fault in [
        Fault::Error(StoreErrorKind::Unavailable),
        Fault::LateError(StoreErrorKind::Unavailable),
    ] {
        let store = Arc::new(Faulty::new());
        store.set(fault);
        let gate = gate_over(store, RULES);
        outage(&gate, usize::MAX, StoreErrorKind::Unavailable);
    }
}

#[test]
fn what_finds_no_room_is_the_outage_rules_and_the_store_is_not_asked() {
    let store = Arc::new(Faulty::new());
    outage(
        &gate_over(Arc::clone(&store) as _, RULES),
        0,
        StoreErrorKind::Saturated,
    );
    outage(
        &gate_over(Arc::clone(&store) as _, RULES).within(&jeton::InFlight::at_most(0)),
        usize::MAX,
        StoreErrorKind::Saturated,
    );
    assert_eq!(store.asked(), 0);
}

/// A batch whose calls get no decision, for that reason.
fn outage(gate: &Gate, room: usize, why: StoreErrorKind) {
    let mut batch = gate.batch(BatchMemory::default());
    add(&mut batch, Verb::Take, "window", 1).unwrap();
    add(&mut batch, Verb::Take, "log", 1).unwrap();
    add(&mut batch, Verb::Take, "log", 1).unwrap();
    bring(&mut batch, b"bob", bucket(3), 1);
    add(&mut batch, Verb::Refund, "window", 1).unwrap();
    add(&mut batch, Verb::Take, "free", 1).unwrap();
    let decided = now(batch, room);
    assert_eq!(allowed(&decided), [true, true, false, false, false, true]);
    let answers: Vec<_> = decided.answers().collect();
    let errors: Vec<_> = answers.iter().map(BatchAnswer::store_error).collect();
    let why = Some(why);
    assert_eq!(errors, [why, why, why, why, why, None]);
    // Half of the log's limit of 2, decided in this process; of the others nothing is known.
    let limits = answers.iter().map(|answer| Some(answer.decision()?.limit));
    assert_eq!(
        limits.collect::<Vec<_>>(),
        [None, Some(1), Some(1), None, None, None]
    );
    assert_eq!(answers[5].disposition(), Disposition::Unlimited);
    assert_eq!(gate.tally().event(Event::Degraded), 4);
}

#[test]
fn as_many_as_there_is_room_for_are_asked() {
    let gate = gate(RULES);
    let mut batch = gate.batch(BatchMemory::default());
    for _ in 0..2 {
        add(&mut batch, Verb::Take, "free", 1).unwrap();
        bring(&mut batch, b"bob", bucket(3), 1);
    }
    bring(&mut batch, b"bob", bucket(3), 1);
    let decided = now(batch, 2);
    let errors: Vec<_> = decided.answers().map(|a| a.store_error()).collect();
    let shed = Some(StoreErrorKind::Saturated);
    assert_eq!(errors, [None, None, None, None, shed]);
    assert_eq!(allowed(&decided), [true, true, true, true, false]);
}

#[test]
fn of_a_row_some_may_be_decided_and_others_not() {
    let store = Arc::new(Faulty::new());
    let gate = gate_over(Arc::clone(&store) as _, RULES);
    store.set(Fault::Behind(1, StoreErrorKind::OutOfMemory));
    let mut batch = gate.batch(BatchMemory::default());
    for key in 0..3_u8 {
        bring(&mut batch, &[key], bucket(3), 1);
    }
    let decided = now(batch, usize::MAX);
    assert_eq!(allowed(&decided), [true, false, false]);
    let why = StoreErrorKind::OutOfMemory;
    assert_eq!(gate.tally().store_errors_of_brought(why), 2);
    // A store that decides something is there.
    assert_eq!(gate.store_state(), StoreState::Ready);
}
