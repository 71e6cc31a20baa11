//! A store that answers later, and callers that do not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use jeton::{
    Answers, Clock, Cost, Gate, NamedCharge, Note, NoteEdit, Pending, Plan, Settings, Store,
    Submitted, Table, Verb, When,
};
use tokio::time::{Instant, sleep, timeout};

use crate::far::{check, one, policy};
use crate::leases::WINDOW;

/// Takes `delay` for every call; for ever, if that is none.
struct Slow {
    table: Arc<Table>,
    delay: std::sync::Mutex<Option<Duration>>,
    calls: AtomicUsize,
}

impl Store for Slow {
    fn submit(&self, plans: &[Plan<'_>], when: When, _: &mut Answers) -> Submitted {
        self.calls.fetch_add(1, Relaxed);
        let mut answers = Answers::new();
        let _ = self.table.submit(plans, when, &mut answers);
        let delay = *self.delay.lock().unwrap();
        Submitted::Later(Box::pin(async move {
            match delay {
                Some(delay) => sleep(delay).await,
                None => std::future::pending().await,
            }
            answers
        }))
    }

    fn note(&self, edit: NoteEdit, when: When) -> Pending<bool> {
        self.table.note(edit, when)
    }

    fn notes(&self, when: When) -> Pending<Vec<Note>> {
        self.table.notes(when)
    }
}

struct Later {
    gate: Gate,
    slow: Arc<Slow>,
    plain: Gate,
}

fn later(thrift: &str, rules: &str) -> Later {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    let slow = Arc::new(Slow {
        table: Arc::clone(&table),
        delay: std::sync::Mutex::new(Some(Duration::from_millis(2))),
        calls: AtomicUsize::new(0),
    });
    let text = format!(
        "[store]\nkind = \"redis\"\nurl = \"redis://localhost\"\ntimeout = \"200ms\"\non_failure = \"deny\"\n{thrift}\n{rules}"
    );
    let clock = Clock::system();
    Later {
        gate: Gate::new(policy(&text), Arc::<Slow>::clone(&slow), clock.clone()),
        plain: Gate::new(policy(rules), table, clock),
        slow,
    }
}

async fn take(gate: &Gate, key: &str) -> bool {
    let charge = NamedCharge::new("api", std::slice::from_ref(&key)).cost(Cost::ONE);
    let deciding = gate.charge(Verb::Take, &[charge]).unwrap();
    deciding.wait().await.allowed()
}

fn rules(limit: u32) -> String {
    let limit = format!("limit = {limit}");
    WINDOW
        .replace("limit = 100", &limit)
        .replace("10s", "3650d")
}

fn used(later: &Later) -> u32 {
    let seen = one(&check(&later.plain, "api", "alice", 0));
    seen.limit - seen.remaining
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_at_once_spend_what_was_charged() {
    let later = Arc::new(later("lease = 20", &rules(1_000_000)));
    let callers = (0..50).map(|_| {
        let later = Arc::clone(&later);
        tokio::spawn(async move {
            for _ in 0..100 {
                assert!(take(&later.gate, "alice").await);
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    println!(
        "5000 takes of 50 callers on one key, {} calls",
        later.slow.calls.load(Relaxed)
    );
    later.gate.drain().await;
    assert_eq!(used(&later), 5_000);
}

#[tokio::test]
async fn who_goes_away_takes_nothing_with_him() {
    let later = later("lease = 20", &rules(1_000));
    assert!(take(&later.gate, "alice").await);
    // He has gone before the answer, with which twenty come.
    let gone = timeout(Duration::from_micros(10), take(&later.gate, "alice")).await;
    assert!(gone.is_err());
    sleep(Duration::from_millis(20)).await;
    let calls = later.slow.calls.load(Relaxed);
    for _ in 0..9 {
        assert!(take(&later.gate, "alice").await);
    }
    assert_eq!((later.slow.calls.load(Relaxed), used(&later)), (calls, 22));
    later.gate.drain().await;
    assert_eq!(used(&later), 11);
}

#[tokio::test]
async fn the_last_word_takes_no_longer_than_the_store_may() {
    let later = later("lease = 20", &rules(1_000));
    let keys: Vec<String> = (0..300).map(|key| format!("k{key}")).collect();
    for key in &keys {
        assert!(take(&later.gate, key).await && take(&later.gate, key).await);
    }
    *later.slow.delay.lock().unwrap() = None;
    let before = Instant::now();
    later.gate.drain().await;
    let took = before.elapsed();
    assert!(took >= Duration::from_millis(200), "{took:?}");
    assert!(took < Duration::from_millis(230), "{took:?}");
}
