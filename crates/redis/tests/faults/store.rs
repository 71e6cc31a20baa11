//! A server that fails: every call is answered in time, and decisions go on by themselves.

use std::thread::sleep;
use std::time::Duration;

use jeton_core::{
    Act, Cost, Decision, Fit, NoteEdit, Op, Plan, Quota, RuleId, Span, Store as _, StoreError,
    StoreErrorKind, When, Written,
};
use jeton_redis::{Health, RedisStore, TroubleKind};

use jeton_testkit::proxy::{Fault, Proxy, Refusal};
use jeton_testkit::redis_server::{Server, Version};

use crate::WATCH;
use crate::server::{RUNTIME, settings, submit};

const TIMEOUT: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_millis(30);
const RECOVERY: Duration = Duration::from_secs(3);

/// A limit that no test uses up and no time gives back.
fn quota() -> Quota {
    Quota::sliding_log(1000, Span::from_micros(3_600_000_000).unwrap()).unwrap()
}

fn open(url: String) -> RedisStore {
    let mut settings = settings(url);
    settings.timeout = TIMEOUT;
    RedisStore::open(&settings, RUNTIME.handle()).unwrap()
}

fn ask(store: &RedisStore, act: Act) -> Result<Decision, StoreError> {
    let quota = quota();
    let op = Op::new(RuleId::new(1), b"key", &quota, act);
    let plan = [Plan::one(&op)];
    let answers = WATCH.within(TIMEOUT + GRACE, || submit(store, &plan, When::StoreClock));
    answers.plan(0).0.map(|_| answers.plan(0).1[0])
}

fn take(store: &RedisStore) -> Result<Fit, StoreError> {
    ask(store, Act::Take { cost: Cost::ONE }).map(|decision| decision.fit)
}

/// How many units are charged.
fn used(store: &RedisStore) -> u32 {
    1000 - ask(store, Act::Peek { cost: Cost::ZERO })
        .unwrap()
        .remaining
}

fn recovers(store: &RedisStore) {
    let look = Act::Peek { cost: Cost::ZERO };
    WATCH.until(RECOVERY, || ask(store, look).is_ok());
}

const fn failed(kind: StoreErrorKind, written: Written) -> Result<Fit, StoreError> {
    Err(StoreError { kind, written })
}

/// While nothing is to be waited for, being told so takes no time.
fn fails_at_once(store: &RedisStore) {
    WATCH.within(TIMEOUT, || {
        for _ in 0..20 {
            let error = take(store).unwrap_err();
            assert_eq!(error.written, Written::No, "{error:?}");
        }
    });
}

/// A server that hangs costs one timeout and then nothing, until it answers again.
#[test]
fn a_server_that_hangs_costs_one_timeout() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = open(server.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        server.stop();
        assert_eq!(
            take(&store),
            failed(StoreErrorKind::Timeout, Written::Unknown)
        );
        sleep(GRACE);
        fails_at_once(&store);
        assert!(
            matches!(store.health(), Health::Down(trouble) if trouble.kind == TroubleKind::Hangs)
        );
        server.go_on();
        recovers(&store);
        // What had been sent when it stopped may have been decided when it went on, once.
        assert!((1..=2).contains(&used(&store)), "{}", used(&store));
    }
}

/// A server that is gone is known to be gone, and found again.
#[test]
fn f32_a_server_that_is_gone_is_found_again() {
    for version in Version::ALL {
        let gone = Server::start(version, &[]);
        let proxy = Proxy::before(gone.socket());
        let store = open(proxy.url());
        WATCH.until(RECOVERY, || store.health() == Health::Up);
        assert_eq!(take(&store), Ok(Fit::Allowed));
        gone.kill();
        sleep(GRACE);
        let kind = take(&store).unwrap_err().kind;
        assert!(
            matches!(kind, StoreErrorKind::Unavailable | StoreErrorKind::Timeout),
            "{kind:?}"
        );
        WATCH.until(RECOVERY, || matches!(store.health(), Health::Down(_)));
        fails_at_once(&store);
        let again = Server::start_at(version, gone.socket());
        recovers(&store);
        assert_eq!(take(&store), Ok(Fit::Allowed));
        drop(again);
    }
}

/// A server without the script is given it, also while calls are under way, and nothing is lost or
/// done twice.
#[test]
fn a_lost_script_is_healed() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = crate::server::open(&settings(server.url()));
        let mut client = server.client();
        let quota = quota();
        let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
        for round in 1..=20 {
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut client).unwrap();
            let answers = submit(&store, &[Plan::one(&op); 40], When::StoreClock);
            assert!((0..40).all(|i| answers.plan(i).0.unwrap().allowed));
            assert_eq!(used(&store), round * 40);
        }
    }
}

/// What comes together is decided in its order, though it takes several calls: while the line is still being
/// opened, and where none of them finds the script.
#[test]
fn a_long_row_keeps_its_order_on_a_cold_server() {
    const ROW: u32 = 200;
    let quota = quota();
    let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let mut client = server.client();
        for round in 0..30 {
            let store = crate::server::open(&settings(server.url()));
            for before in [0, ROW] {
                redis::cmd("SCRIPT").arg("FLUSH").exec(&mut client).unwrap();
                let answers = submit(&store, &[Plan::one(&op); ROW as usize], When::StoreClock);
                let left: Vec<u32> = (0..answers.len())
                    .map(|plan| answers.plan(plan).1[0].remaining)
                    .collect();
                let expected: Vec<u32> = (before + 1..=before + ROW).map(|n| 1000 - n).collect();
                assert_eq!(left, expected, "round {round}");
            }
            assert_eq!(used(&store), 2 * ROW);
        }
    }
}

/// What was written and not answered is not asked again.
#[test]
fn a_lost_answer_is_never_asked_for_again() {
    for fault in [Fault::Swallow, Fault::Cut, Fault::Slow(TIMEOUT * 2)] {
        for version in Version::ALL {
            let server = Server::start(version, &[]);
            let proxy = Proxy::before(server.socket());
            let store = open(proxy.url());
            assert_eq!(take(&store), Ok(Fit::Allowed));
            proxy.set(fault);
            let error = take(&store).unwrap_err();
            assert_eq!(error.written, Written::Unknown, "{fault:?}: {error:?}");
            proxy.set(Fault::None);
            recovers(&store);
            assert_eq!(used(&store), 2, "{fault:?}");
        }
    }
}

/// What the server refuses is refused in time, charged to nobody, and told apart.
#[test]
fn refusals_are_told_apart() {
    use StoreErrorKind as Is;
    let refusals = [
        (Fault::Refuse(Refusal::OutOfMemory), Is::OutOfMemory),
        (Fault::Refuse(Refusal::Loading), Is::NotReady),
        (Fault::Refuse(Refusal::ReadOnly), Is::NotPrimary),
        (Fault::Refuse(Refusal::NoPerm), Is::Forbidden),
        (Fault::Refuse(Refusal::Misconf), Is::CannotPersist),
        (Fault::Refuse(Refusal::NoAuth), Is::Unauthenticated),
        (Fault::Refuse(Refusal::WrongType), Is::BadState),
        (Fault::Hang, Is::Timeout),
    ];
    let server = Version::V7_0.shared();
    for (fault, kind) in refusals {
        let proxy = Proxy::before(server.socket());
        let store = open(proxy.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        proxy.set(fault);
        let error = take(&store).unwrap_err();
        assert_eq!(error.kind, kind, "{fault:?}");
        proxy.set(Fault::None);
        recovers(&store);
        assert_eq!(used(&store), 1, "{fault:?}");
    }
}

/// A server that is out of memory refuses what it would have to write, and decides what it need not.
#[test]
fn a_full_server_refuses_charges_only() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = open(server.url());
        let mut client = server.client();
        let mut set = |bytes: u32| {
            redis::cmd("CONFIG")
                .arg(&["SET", "maxmemory"])
                .arg(bytes)
                .exec(&mut client)
                .unwrap();
        };
        assert_eq!(take(&store), Ok(Fit::Allowed));
        set(1);
        assert_eq!(
            take(&store),
            failed(StoreErrorKind::OutOfMemory, Written::No)
        );
        set(0);
        recovers(&store);
        assert_eq!(used(&store), 1);
    }
}

/// A server that has become a replica refuses; once it is a primary again, all goes on.
#[test]
fn f33_a_replica_refuses_until_it_is_a_primary() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = open(server.url());
        let mut client = server.client();
        let mut replica_of = |words: [&str; 2]| {
            redis::cmd("REPLICAOF")
                .arg(&words)
                .exec(&mut client)
                .unwrap();
        };
        assert_eq!(take(&store), Ok(Fit::Allowed));
        replica_of(["127.0.0.1", "1"]);
        assert_eq!(
            take(&store),
            failed(StoreErrorKind::NotPrimary, Written::No)
        );
        replica_of(["NO", "ONE"]);
        recovers(&store);
        WATCH.until(RECOVERY, || take(&store) == Ok(Fit::Allowed));
    }
}

/// F33: after a failover the old line answers for a replica and a new one does not: it is dropped, and
/// at most one call fails of those that were not under way together.
#[test]
fn f33_an_old_line_to_a_replica_is_dropped() {
    for version in Version::ALL {
        let proxy = Proxy::before(version.shared().socket());
        let store = open(proxy.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        let lines = proxy.lines();
        proxy.set(Fault::RefuseOnOldLines(Refusal::ReadOnly));
        let results: Vec<_> = (0..20).map(|_| take(&store)).collect();
        let failures = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(failures, 1, "{results:?}");
        assert_eq!((used(&store), proxy.lines()), (20, lines + 1));
    }
}

/// Every tenth script is lost, while many calls are under way together: none is lost or done twice.
#[test]
fn a_script_that_is_lost_now_and_then_is_healed() {
    for version in Version::ALL {
        let proxy = Proxy::before(version.shared().socket());
        let store = crate::server::open(&settings(proxy.url()));
        proxy.set(Fault::Refuse(Refusal::NoScriptEveryTenth));
        let quota = quota();
        let op = Op::take(RuleId::new(1), b"key", &quota, Cost::ONE);
        for round in 1..=10 {
            let answers = submit(&store, &[Plan::one(&op); 90], When::StoreClock);
            assert!((0..90).all(|i| answers.plan(i).0.unwrap().allowed));
            assert_eq!(used(&store), round * 90);
        }
    }
}

/// Whoever opens a store is told what is wrong with the server, and a password is not shown.
#[test]
fn a_wrong_password_is_told_at_the_start() {
    for version in Version::ALL {
        let server = Server::start(version, &["--requirepass", "right"]);
        for url in [server.url(), format!("{}?pass=wrong", server.url())] {
            let store = open(url);
            let trouble = RUNTIME.block_on(store.ready()).unwrap_err();
            assert_eq!(trouble.kind, TroubleKind::Unauthenticated, "{trouble}");
            assert!(!trouble.to_string().contains("wrong"), "{trouble}");
            assert_eq!(
                take(&store),
                failed(StoreErrorKind::Unauthenticated, Written::No)
            );
        }
        let store = open(format!("{}?pass=right", server.url()));
        assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
        assert_eq!(take(&store), Ok(Fit::Allowed));
    }
}

/// A change of a note to a server that hangs is over in time as well.
#[test]
fn notes_are_answered_in_time() {
    let server = Server::start(Version::V7_0, &[]);
    let store = open(server.url());
    RUNTIME.block_on(store.ready()).unwrap();
    server.stop();
    let edit = NoteEdit::Remove { name: [1].into() };
    let told = WATCH.within(TIMEOUT + GRACE, || {
        RUNTIME.block_on(store.note(edit, When::StoreClock))
    });
    let expected = StoreError {
        kind: StoreErrorKind::Timeout,
        written: Written::Unknown,
    };
    assert_eq!(told, Err(expected));
    let listed = WATCH.within(TIMEOUT + GRACE, || {
        RUNTIME.block_on(store.notes(When::StoreClock))
    });
    assert!(listed.is_err());
    server.go_on();
}
