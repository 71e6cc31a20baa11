//! A server that fails: every call is answered in time, and decisions go on by themselves.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jeton_core::{
    Act, Cost, Decision, Fit, NoteEdit, Op, Plan, Quota, RuleId, Span, Store as _, StoreError,
    StoreErrorKind, When, Written,
};
use jeton_redis::{Health, RedisStore, TroubleKind};

use crate::mirror::submit;
use crate::proxy::{Fault, Proxy};
use crate::server::{RUNTIME, Server, Version};

const TIMEOUT: Duration = Duration::from_millis(300);
const GRACE: Duration = Duration::from_millis(30);
const RECOVERY: Duration = Duration::from_secs(3);

/// A limit that no test uses up and no time gives back.
fn quota() -> Quota {
    Quota::sliding_log(1000, Span::from_micros(3_600_000_000).unwrap()).unwrap()
}

fn open(server: &Server, url: String) -> RedisStore {
    let mut settings = server.settings();
    (settings.timeout, settings.url) = (TIMEOUT, url);
    RedisStore::open(&settings, RUNTIME.handle()).unwrap()
}

fn ask(store: &RedisStore, act: Act) -> Result<Decision, StoreError> {
    let quota = quota();
    let op = Op::new(RuleId::new(1), b"key", &quota, act);
    let start = Instant::now();
    let answers = submit(store, &[Plan::one(&op)], When::StoreClock);
    assert!(
        start.elapsed() < TIMEOUT + GRACE,
        "an answer after {:?}",
        start.elapsed()
    );
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
    let start = Instant::now();
    while ask(store, Act::Peek { cost: Cost::ZERO }).is_err() {
        assert!(start.elapsed() < RECOVERY, "{:?}", store.health());
        sleep(Duration::from_millis(5));
    }
}

const fn failed(kind: StoreErrorKind, written: Written) -> Result<Fit, StoreError> {
    Err(StoreError { kind, written })
}

/// While nothing is to be waited for, being told so takes no time.
fn fails_at_once(store: &RedisStore) {
    let start = Instant::now();
    for _ in 0..20 {
        let error = take(store).unwrap_err();
        assert_eq!(error.written, Written::No, "{error:?}");
    }
    assert!(
        start.elapsed() < TIMEOUT,
        "twenty calls took {:?}",
        start.elapsed()
    );
}

fn signal(server: &Server, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &server.pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// A server that hangs costs one timeout and then nothing, until it answers again.
#[test]
fn a_server_that_hangs_costs_one_timeout() {
    for version in Version::ALL {
        let server = Server::start(version, &[]);
        let store = open(&server, server.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        signal(&server, "-STOP");
        assert_eq!(
            take(&store),
            failed(StoreErrorKind::Timeout, Written::Unknown)
        );
        sleep(GRACE);
        fails_at_once(&store);
        assert!(
            matches!(store.health(), Health::Down(trouble) if trouble.kind == TroubleKind::Hangs)
        );
        signal(&server, "-CONT");
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
        let proxy = Proxy::before(&gone);
        let store = open(&gone, proxy.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        gone.kill();
        sleep(GRACE);
        let kind = take(&store).unwrap_err().kind;
        assert!(
            matches!(kind, StoreErrorKind::Unavailable | StoreErrorKind::Timeout),
            "{kind:?}"
        );
        let start = Instant::now();
        while !matches!(store.health(), Health::Down(_)) {
            assert!(start.elapsed() < RECOVERY);
        }
        fails_at_once(&store);
        let again = Server::start_at(version, &gone.socket);
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
        let store = open(&server, server.url());
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

/// What was written and not answered is not asked again.
#[test]
fn a_lost_answer_is_never_asked_for_again() {
    for fault in [Fault::Swallow, Fault::Cut, Fault::Slow(TIMEOUT * 2)] {
        for version in Version::ALL {
            let server = Server::start(version, &[]);
            let proxy = Proxy::before(&server);
            let store = open(&server, proxy.url());
            assert_eq!(take(&store), Ok(Fit::Allowed));
            proxy.set(fault.clone());
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
    use StoreErrorKind::{Refused, Timeout};
    let refusals = [
        (
            Fault::Say("OOM command not allowed when used memory > 'maxmemory'."),
            Refused,
        ),
        (
            Fault::Say("LOADING Redis is loading the dataset in memory"),
            Refused,
        ),
        (
            Fault::Say("READONLY You can't write against a read only replica."),
            Refused,
        ),
        (
            Fault::Say("NOPERM this user has no permissions to run the 'evalsha' command"),
            Refused,
        ),
        (
            Fault::Say("MISCONF Errors writing to the AOF file"),
            Refused,
        ),
        (Fault::Say("NOAUTH Authentication required."), Refused),
        (Fault::Say("NOSCRIPT No matching script."), Refused),
        (Fault::Hang, Timeout),
    ];
    let server = Version::V7_0.shared();
    for (fault, kind) in refusals {
        let proxy = Proxy::before(server);
        let store = open(server, proxy.url());
        assert_eq!(take(&store), Ok(Fit::Allowed));
        proxy.set(fault.clone());
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
        let store = open(&server, server.url());
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
        assert_eq!(take(&store), failed(StoreErrorKind::Refused, Written::No));
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
        let store = open(&server, server.url());
        let mut client = server.client();
        let mut replica_of = |words: [&str; 2]| {
            redis::cmd("REPLICAOF")
                .arg(&words)
                .exec(&mut client)
                .unwrap();
        };
        assert_eq!(take(&store), Ok(Fit::Allowed));
        replica_of(["127.0.0.1", "1"]);
        assert_eq!(take(&store), failed(StoreErrorKind::Refused, Written::No));
        replica_of(["NO", "ONE"]);
        recovers(&store);
        assert_eq!(take(&store), Ok(Fit::Allowed));
    }
}

/// Whoever opens a store is told what is wrong with the server, and a password is not shown.
#[test]
fn a_wrong_password_is_told_at_the_start() {
    for version in Version::ALL {
        let server = Server::start(version, &["--requirepass", "right"]);
        for url in [server.url(), format!("{}?pass=wrong", server.url())] {
            let store = open(&server, url);
            let trouble = RUNTIME.block_on(store.ready()).unwrap_err();
            assert_eq!(trouble.kind, TroubleKind::Unauthenticated, "{trouble}");
            assert!(!trouble.to_string().contains("wrong"), "{trouble}");
            assert_eq!(take(&store), failed(StoreErrorKind::Refused, Written::No));
        }
        let store = open(&server, format!("{}?pass=right", server.url()));
        assert_eq!(RUNTIME.block_on(store.ready()), Ok(()));
        assert_eq!(take(&store), Ok(Fit::Allowed));
    }
}

/// A change of a note to a server that hangs is over in time as well.
#[test]
fn notes_are_answered_in_time() {
    let server = Server::start(Version::V7_0, &[]);
    let store = open(&server, server.url());
    RUNTIME.block_on(store.ready()).unwrap();
    signal(&server, "-STOP");
    let start = Instant::now();
    let edit = NoteEdit::Remove { name: [1].into() };
    let told = RUNTIME.block_on(store.note(edit, When::StoreClock));
    let expected = StoreError {
        kind: StoreErrorKind::Timeout,
        written: Written::Unknown,
    };
    assert_eq!(told, Err(expected));
    assert!(RUNTIME.block_on(store.notes(When::StoreClock)).is_err());
    assert!(start.elapsed() < TIMEOUT * 2 + GRACE);
    signal(&server, "-CONT");
}
