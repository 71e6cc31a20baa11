//! Units that come before the last ones are spent: over a store whose answers come when they are told to,
//! in any order or not at all.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use jeton::{
    Answered, Answers, Clock, Cost, Gate, Micros, NamedCharge, Note, NoteEdit, Pending, Plan,
    Settings, Store, StoreError, StoreErrorKind, Submitted, Table, Verb, When, Written,
};
use jeton_testkit::bound::Passed;
use jeton_testkit::model::ModelQuota;
use jeton_testkit::random::Random;
use tokio::sync::oneshot;
use tokio::task::yield_now;

use crate::bound::{Through, check, promised, runs};
use crate::far::{MS, S, START, decided, one, policy};
use crate::random::rule;

/// Decides at once, and keeps the answers.
struct Keeper {
    table: Arc<Table>,
    kept: Mutex<Vec<oneshot::Sender<()>>>,
    calls: AtomicUsize,
}

impl Keeper {
    fn calls(&self) -> usize {
        self.calls.swap(0, Relaxed)
    }

    fn kept(&self) -> usize {
        self.kept.lock().unwrap().len()
    }

    /// Answer number `i` of those that are kept arrives, or is lost.
    async fn hand_out(&self, i: usize, arrives: bool) {
        let answer = self.kept.lock().unwrap().remove(i);
        if arrives {
            answer.send(()).unwrap();
        } else {
            drop(answer);
        }
        settle().await;
    }

    async fn hand_out_all(&self) {
        while self.kept() > 0 {
            self.hand_out(0, true).await;
        }
    }
}

/// Whatever can go on has gone on.
async fn settle() {
    for _ in 0..8 {
        yield_now().await;
    }
}

impl Store for Keeper {
    fn submit(&self, plans: &[Plan<'_>], when: When, _: &mut Answers) -> Submitted {
        self.calls.fetch_add(1, Relaxed);
        let mut answers = Answers::new();
        let _ = self.table.submit(plans, when, &mut answers);
        let (answer, arrives) = oneshot::channel();
        self.kept.lock().unwrap().push(answer);
        let plans = plans.len();
        Submitted::Later(Box::pin(async move {
            if arrives.await.is_err() {
                answers.clear();
                let (kind, written) = (StoreErrorKind::Timeout, Written::Unknown);
                for _ in 0..plans {
                    answers.push_failed(StoreError { kind, written });
                }
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

struct World {
    nodes: Vec<(Gate, Arc<Keeper>)>,
    plain: Gate,
    clock: Clock,
}

impl World {
    fn new(nodes: u64, thrift: &str, rules: &str) -> Self {
        let clock = Clock::fixed(Micros::new(START));
        let table = Arc::new(Table::new(&Settings::default()).unwrap());
        let node = |_| {
            let keeper = Arc::new(Keeper {
                table: Arc::clone(&table),
                kept: Mutex::default(),
                calls: AtomicUsize::new(0),
            });
            let policy = policy(&text(thrift, rules));
            let gate = Gate::new(policy, Arc::<Keeper>::clone(&keeper), clock.clone());
            (gate, keeper)
        };
        Self {
            nodes: (0..nodes).map(node).collect(),
            plain: Gate::new(policy(rules), Arc::<Table>::clone(&table), clock.clone()),
            clock,
        }
    }

    fn now(&self) -> u64 {
        self.clock.now().get()
    }

    fn pass(&self, us: u64) {
        self.clock.set(Micros::new(self.now() + us));
    }

    fn used(&self) -> u32 {
        let seen = one(&crate::far::check(&self.plain, "api", "alice", 0));
        seen.limit - seen.remaining
    }

    /// The answers to calls of all nodes come at last.
    async fn drain(&self) {
        for (gate, keeper) in &self.nodes {
            let draining = gate.drain();
            let handing_out = async {
                for _ in 0..64 {
                    keeper.hand_out_all().await;
                    yield_now().await;
                }
            };
            tokio::join!(draining, handing_out);
        }
    }
}

fn text(thrift: &str, rules: &str) -> String {
    format!(
        "[store]\nkind = \"redis\"\nurl = \"redis://localhost\"\ntimeout = \"1s\"\non_failure = \"deny\"\n{thrift}\n{rules}"
    )
}

fn take(gate: &Gate, cost: u64) -> jeton::Deciding {
    let key = ["alice"];
    let charge = NamedCharge::new("api", &key).cost(Cost::new(cost));
    gate.charge(Verb::Take, &[charge]).unwrap()
}

/// Takes one unit that is answered at once.
fn own(gate: &Gate) -> Answered {
    take(gate, 1).now().expect("it is paid here")
}

fn rules(algorithm: &str) -> String {
    let terms = match algorithm {
        "token-bucket" => "rate = \"1/h\"\nburst = 1000",
        _ => "limit = 1000\nwindow = \"1h\"",
    };
    format!(
        "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"{algorithm}\"\n{terms}\n"
    )
}

/// Twenty units are there.
async fn leased(algorithm: &str) -> World {
    let world = World::new(1, "lease = 20", &rules(algorithm));
    let (gate, keeper) = &world.nodes[0];
    for _ in 0..2 {
        let taking = tokio::spawn(take(gate, 1).wait());
        keeper.hand_out_all().await;
        assert!(taking.await.unwrap().allowed());
    }
    assert_eq!((keeper.calls(), world.used()), (2, 22));
    world
}

#[tokio::test]
async fn the_next_ones_are_asked_for_when_half_are_spent_and_nobody_waits() {
    // What a log or a counter lets through depends on how many are out: never more than twenty.
    for (algorithm, more) in [
        ("token-bucket", 20),
        ("fixed-window", 20),
        ("sliding-log", 10),
        ("sliding-counter", 10),
    ] {
        let world = leased(algorithm).await;
        let (gate, keeper) = &world.nodes[0];
        for _ in 0..9 {
            assert!(own(gate).allowed());
        }
        assert_eq!(keeper.calls(), 0);
        for _ in 0..11 {
            assert!(own(gate).allowed());
        }
        assert_eq!(
            (keeper.calls(), world.used()),
            (1, 22 + more),
            "{algorithm}"
        );
        keeper.hand_out_all().await;
        assert!(own(gate).allowed());
        world.drain().await;
        assert_eq!(world.used(), 2 + 20 + 1, "{algorithm}");
    }
}

#[tokio::test]
async fn a_key_that_uses_more_while_they_are_on_their_way_has_more_ahead() {
    for (algorithm, has_more) in [("token-bucket", true), ("sliding-log", false)] {
        let world = leased(algorithm).await;
        let (gate, keeper) = &world.nodes[0];
        for _ in 0..10 {
            assert!(own(gate).allowed());
        }
        // Ten that are there, and thirty that are not.
        let takes = (0..40).map(|_| tokio::spawn(take(gate, 1).wait()));
        let takes: Vec<_> = takes.collect();
        keeper.hand_out_all().await;
        for taking in takes {
            assert!(taking.await.unwrap().allowed());
        }
        assert!(own(gate).allowed());
        assert!(own(gate).allowed());
        keeper.hand_out_all().await;
        let spent = 2 + 10 + 40 + 2;
        let out = world.used() - spent;
        assert_eq!(out > 20, has_more, "{algorithm}: {out}");
        world.drain().await;
        assert_eq!(world.used(), spent, "{algorithm}");
    }
}

#[tokio::test]
async fn what_will_be_old_before_it_is_spent_needs_no_more() {
    let world = leased("token-bucket").await;
    let (gate, keeper) = &world.nodes[0];
    for _ in 0..16 {
        assert!(own(gate).allowed());
        world.pass(60 * MS);
    }
    assert_eq!((keeper.calls(), keeper.kept()), (0, 0));
}

#[tokio::test]
async fn who_drains_waits_for_what_is_on_its_way() {
    let world = leased("fixed-window").await;
    let (gate, keeper) = &world.nodes[0];
    for _ in 0..10 {
        assert!(own(gate).allowed());
    }
    assert_eq!((keeper.kept(), world.used()), (1, 42));
    world.drain().await;
    assert_eq!(world.used(), 12);
}

#[tokio::test]
async fn an_answer_that_is_lost_is_not_spent_and_not_asked_for_again_at_once() {
    let world = leased("fixed-window").await;
    let (gate, keeper) = &world.nodes[0];
    for _ in 0..10 {
        assert!(own(gate).allowed());
    }
    keeper.hand_out(0, false).await;
    for _ in 0..10 {
        assert!(own(gate).allowed());
    }
    assert_eq!(keeper.calls(), 1);
    let asked = tokio::spawn(take(gate, 1).wait());
    assert_eq!((keeper.calls(), keeper.kept()), (1, 1));
    keeper.hand_out_all().await;
    assert!(asked.await.unwrap().allowed());
    // Twenty of them stay charged.
    assert_eq!(world.used(), 22 + 20 + 1);
}

#[derive(Default)]
struct Tallied {
    takes: usize,
    own: usize,
    refills: usize,
}

/// Takes of several nodes whose answers come late, in any order, or not at all.
async fn run(seed: u64) -> Tallied {
    let mut random = Random::new(seed);
    let rule = rule(&mut random, (8, 2_000), (120, 3_000));
    let nodes = random.between(1, 4);
    let lease = random.scaled(3, 50);
    let lease_ms = random.between(100, 2_000);
    let thrift = format!("lease = {lease}\nlease_for = \"{lease_ms}ms\"");
    let world = World::new(nodes, &thrift, &rule.text);
    let promised = promised(&rule, nodes, lease, lease_ms * MS);
    let mut through = Through::default();
    let mut tallied = Tallied::default();
    let is_window = matches!(rule.model, ModelQuota::FixedWindow { .. });
    let mut note = |answered: &Answered, cost: u64, at: Option<u64>| {
        if decided(answered) != Some(true) {
            return;
        }
        let decision = one(answered);
        let at = at.unwrap_or(decision.at.get());
        through.passed.push(Passed::new(at, cost));
        if is_window {
            let end = decision.receipt.mark.get();
            assert!(at < end, "seed {seed}: spent after its window");
            through.windows.push((end, cost));
        }
    };
    let mut waiting = Vec::new();
    let pace_us = rule.window_us / rule.limit / random.between(1, 6) * 2 + 1;
    let (late, lost) = (random.between(2, 20), random.below(10));
    for _ in 0..random.between(200, 1_000) {
        world.pass(if random.below(200) == 0 {
            random.below(2 * rule.window_us)
        } else {
            random.below(pace_us)
        });
        let (gate, keeper) = &world.nodes[usize::try_from(random.below(nodes)).unwrap()];
        let cost = random.scaled(1, 3);
        tallied.takes += 1;
        keeper.calls();
        match take(gate, cost).now() {
            Ok(answered) => {
                tallied.own += 1;
                tallied.refills += keeper.calls();
                note(&answered, cost, Some(world.now()));
            }
            Err(later) => waiting.push((tokio::spawn(later.wait()), cost)),
        }
        if random.below(late) == 0 {
            for kept in (1..=keeper.kept() as u64).rev().take(30) {
                let which = usize::try_from(random.below(kept)).unwrap();
                keeper.hand_out(which, random.below(100) >= lost).await;
            }
        }
    }
    for (_, keeper) in &world.nodes {
        keeper.hand_out_all().await;
    }
    for (waiting, cost) in waiting {
        note(&waiting.await.unwrap(), cost, None);
    }
    through.passed.sort_by_key(|passed| passed.at_us);
    check(seed, &rule, &promised, &through);
    tallied
}

#[tokio::test]
async fn no_more_passes_than_is_promised_while_they_are_on_their_way() {
    let mut all = Tallied::default();
    for seed in 0..runs() {
        let tallied = run(30_000_000 + seed).await;
        all.takes += tallied.takes;
        all.own += tallied.own;
        all.refills += tallied.refills;
    }
    let Tallied {
        takes,
        own,
        refills,
    } = all;
    println!("{takes} takes, {own} of them paid here, {refills} calls ahead of need");
    assert!(own * 6 > takes && refills * 50 > takes);
}

/// As `run`, of rules whose windows change, beside a gate that takes nothing ahead.
async fn changing(seed: u64) -> (u32, u32, u32) {
    let mut random = Random::new(seed);
    let algorithm = ["fixed-window", "sliding-log", "sliding-counter"];
    let algorithm = algorithm[usize::try_from(random.below(3)).unwrap()];
    // All of them begin a window at the start.
    let rules = |random: &mut Random| {
        let hours = [1, 2, 4, 5, 8, 10][usize::try_from(random.below(6)).unwrap()];
        let limit = random.between(2_000, 4_000);
        format!(
            "[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"{algorithm}\"\nlimit = {limit}\nwindow = \"{hours}h\"\n"
        )
    };
    let nodes = random.between(1, 3);
    let lease = random.between(2, 50);
    let thrift = format!("lease = {lease}");
    let mut in_force = rules(&mut random);
    let world = World::new(nodes, &thrift, &in_force);
    let beside = World::new(0, "", &in_force);
    let mut swaps = 0;
    for _ in 0..random.between(20, 300) {
        let us = random.below(10 * MS);
        world.pass(us);
        beside.pass(us);
        if random.below(30) == 0 {
            in_force = rules(&mut random);
            swaps += 1;
            for (gate, _) in &world.nodes {
                drop(gate.swap(policy(&text(&thrift, &in_force))));
            }
            drop(world.plain.swap(policy(&in_force)));
            drop(beside.plain.swap(policy(&in_force)));
        }
        let (gate, keeper) = &world.nodes[usize::try_from(random.below(nodes)).unwrap()];
        let cost = random.between(1, 3);
        let taking = tokio::spawn(take(gate, cost).wait());
        if random.below(3) > 0 {
            keeper.hand_out_all().await;
            assert!(taking.await.unwrap().allowed(), "seed {seed}");
        }
        assert!(own_of(&beside.plain, cost).allowed());
    }
    assert!(world.now() < START + 3_600 * S);
    for (_, keeper) in &world.nodes {
        keeper.hand_out_all().await;
    }
    world.drain().await;
    let most_out = u32::try_from(2 * lease * nodes).unwrap() * 4 * swaps;
    (world.used(), beside.used(), most_out)
}

fn own_of(gate: &Gate, cost: u64) -> Answered {
    take(gate, cost).now().expect("a table answers at once")
}

#[tokio::test]
async fn under_changed_windows_no_more_goes_back_than_was_taken() {
    for seed in 0..runs() {
        let (used, beside, out) = changing(40_000_000 + seed).await;
        assert!(
            (beside..=beside + out).contains(&used),
            "seed {seed}: {used} used, {beside} without leases, {out} out"
        );
    }
}
