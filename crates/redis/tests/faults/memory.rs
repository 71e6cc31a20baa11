//! Memory while a server fails: it does not grow with the calls that fail, nor with their keys.

use std::time::Duration;

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, NamedCharge, StoreState, Verb};
use jeton_core::{Answers, Cost, Op, Plan, Quota, RuleId, Span, Store as _, Submitted, When};
use jeton_testkit::laws::full_size;
use jeton_testkit::proxy::{Fault, Proxy, Refusal};
use jeton_testkit::redis_server::{Version, wait_until};
use tokio::runtime::Runtime;

use crate::server::{RUNTIME, open, settings};

/// What tests beside this one may take meanwhile.
const NOISE_BYTES: u64 = 24 << 20;

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Ten thousand calls fail in every way there is: no task, no line and no memory is left of them.
#[test]
fn failed_calls_leave_nothing_behind() {
    const TOGETHER: usize = 500;
    let rounds = if full_size() { 200 } else { 20 };
    for fault in [
        Fault::Gone,
        Fault::Hang,
        Fault::Swallow,
        Fault::Cut,
        Fault::Refuse(Refusal::OutOfMemory),
        Fault::Refuse(Refusal::ReadOnly),
    ] {
        let runtime = Runtime::new().unwrap();
        let server = Version::V7_0.shared();
        let proxy = Proxy::before(server.socket());
        let mut settings = settings(proxy.url());
        settings.timeout = Duration::from_millis(20);
        let store = jeton_redis::RedisStore::open(&settings, runtime.handle()).unwrap();
        wait_until("the server decides", || {
            runtime.block_on(store.ready()).is_ok()
        });
        proxy.set(fault);
        let quota = Quota::sliding_log(1000, Span::SECOND).unwrap();
        let mut number = 0_u64;
        let mut round = || {
            let asked: Vec<_> = (0..TOGETHER)
                .map(|_| {
                    number += 1;
                    let key = number.to_be_bytes();
                    let op = Op::take(RuleId::new(1), &key, &quota, Cost::ONE);
                    match store.submit(&[Plan::one(&op)], When::StoreClock, &mut Answers::default())
                    {
                        Submitted::Later(answers) => answers,
                        Submitted::Done => unreachable!("a server is asked"),
                    }
                })
                .collect();
            for answers in asked {
                assert!(runtime.block_on(answers).plan(0).0.is_err(), "{fault:?}");
            }
        };
        (0..3).for_each(|_| round());
        let before = resident_bytes();
        (0..rounds).for_each(|_| round());
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < NOISE_BYTES, "{fault:?}: {grown} bytes");
        let tasks = || runtime.metrics().num_alive_tasks();
        wait_until("no task is left", || tasks() < 10);
        assert!(proxy.open_lines() <= 2, "{fault:?}: {}", proxy.open_lines());
    }
}

/// F36: a million keys while the server is down: the process holds no more than its cap, and nothing
/// once the server is back and the window is over.
#[test]
fn f36_keys_of_an_outage_are_bounded_and_forgotten() {
    const CAP: u64 = 20_000;
    let keys = if full_size() { 1_000_000 } else { 100_000 };
    let text = format!(
        "[store]\nmax_keys = {CAP}\ntimeout = \"50ms\"\non_failure = {{ local = 0.5 }}\n\n\
         [api]\nlisten = \"127.0.0.1:0\"\n\n\
         [[rule]]\nname = \"api\"\nkey = \"header:x-user\"\nalgorithm = \"sliding-counter\"\n\
         limit = 10\nwindow = \"1s\"\n"
    );
    let Ok(loaded) = Policy::load(&Source::new("jeton.toml", &text), &NoReferences) else {
        panic!("a policy")
    };
    let server = Version::V8_2.shared();
    let proxy = Proxy::before(server.socket());
    let store = open(&settings(proxy.url()));
    RUNTIME.block_on(store.ready()).unwrap();
    let gate = Gate::new(loaded.policy, std::sync::Arc::new(store), Clock::system());
    let take = |number: u64| {
        let key = [number.to_string()];
        let key: [&str; 1] = [&key[0]];
        let charge = NamedCharge::new("api", &key);
        RUNTIME.block_on(gate.charge(Verb::Take, &[charge]).unwrap().wait())
    };
    proxy.set(Fault::Gone);
    for number in 0..10_000 {
        assert!(take(number).is_degraded());
    }
    assert!(matches!(gate.store_state(), StoreState::Away { .. }));
    let before = resident_bytes();
    for number in 0..keys {
        assert!(take(number).is_degraded());
    }
    let stats = gate.local_stats().unwrap();
    assert!(stats.keys <= CAP, "{stats:?}");
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < NOISE_BYTES, "{grown} bytes");

    proxy.set(Fault::None);
    let driving = RUNTIME.spawn(gate.clone().drive());
    wait_until("it is back", || gate.store_state() == StoreState::Ready);
    wait_until("all is forgotten", || gate.local_stats().is_none());
    assert!(!take(1).is_degraded());
    driving.abort();
}
