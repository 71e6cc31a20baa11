//! The gate over a server that fails: every call is answered in time as its rule says, counted once, and
//! limits hold again once the server is back.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Answered, Clock, Cost, Disposition, Event, Gate, NamedCharge, StoreErrorKind, Verb};
use jeton::{Deciding, StoreState};
use jeton_redis::Settings;
use jeton_testkit::laws::full_size;
use jeton_testkit::proxy::{Fault, Proxy, Refusal};
use jeton_testkit::redis_server::{Version, wait_until};

use crate::WATCH;
use crate::server::{RUNTIME, open, settings};

const TIMEOUT: Duration = Duration::from_millis(150);
const GRACE: Duration = Duration::from_millis(30);
/// What is answered without a question to anybody.
const AT_ONCE: Duration = Duration::from_millis(10);
const RECOVERY: Duration = Duration::from_secs(3);
const LIMIT: u32 = 1000;
/// Calls while it fails: more than the breaker takes.
const CALLS: u64 = 12;

/// What fails, and how that is told.
const FAILURES: [(Fault, &[StoreErrorKind]); 12] = {
    use StoreErrorKind as Is;
    [
        (Fault::Gone, &[Is::Unavailable, Is::Timeout]),
        (Fault::Hang, &[Is::Timeout]),
        (Fault::Slow(Duration::from_millis(400)), &[Is::Timeout]),
        (Fault::Swallow, &[Is::Timeout]),
        (Fault::Cut, &[Is::Unavailable]),
        (Fault::Refuse(Refusal::ReadOnly), &[Is::NotPrimary]),
        (Fault::Refuse(Refusal::OutOfMemory), &[Is::OutOfMemory]),
        (Fault::Refuse(Refusal::Loading), &[Is::NotReady]),
        (Fault::Refuse(Refusal::NoAuth), &[Is::Unauthenticated]),
        (Fault::Refuse(Refusal::NoPerm), &[Is::Forbidden]),
        (Fault::Refuse(Refusal::Misconf), &[Is::CannotPersist]),
        (Fault::Refuse(Refusal::WrongType), &[Is::BadState]),
    ]
};

/// What heals by itself, or harms nobody.
const HARMLESS: [Fault; 3] = [
    Fault::Slow(Duration::from_millis(20)),
    Fault::Refuse(Refusal::NoScript),
    Fault::Refuse(Refusal::NoScriptEveryTenth),
];

/// What a rule says for the time without a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Allow,
    Deny,
    Local,
}

const RULES: [Rule; 3] = [Rule::Allow, Rule::Deny, Rule::Local];

impl Rule {
    fn policy(self, timeout: Duration) -> Policy {
        let word = match self {
            Self::Allow => "\"allow\"",
            Self::Deny => "\"deny\"",
            Self::Local => "{ local = 0.5 }",
        };
        let text = format!(
            "[store]\ntimeout = \"{}ms\"\non_failure = {word}\n\n\
             [api]\nlisten = \"127.0.0.1:0\"\n\n\
             [[rule]]\nname = \"api\"\nkey = \"global\"\nalgorithm = \"sliding-log\"\n\
             limit = {LIMIT}\nwindow = \"1d\"\n",
            timeout.as_millis()
        );
        match Policy::load(&Source::new("jeton.toml", &text), &NoReferences) {
            Ok(loaded) => loaded.policy,
            Err(report) => panic!("{report}"),
        }
    }
}

/// One node behind the proxy, another one before it, and how often the first was asked.
struct Nodes {
    proxy: Proxy,
    gate: Gate,
    direct: Gate,
    asked: u64,
}

impl Nodes {
    fn start(version: Version, rule: Rule, timeout: Duration) -> Self {
        let server = version.shared();
        let proxy = Proxy::before(server.socket());
        let mut settings = settings(proxy.url());
        let patience = settings.timeout;
        let gate = |settings: &Settings| {
            let store = Arc::new(open(settings));
            wait_until("the server decides", || {
                RUNTIME.block_on(store.ready()).is_ok()
            });
            Gate::new(rule.policy(settings.timeout), store, Clock::system())
        };
        settings.timeout = timeout;
        let through = gate(&settings);
        (settings.url, settings.timeout) = (server.url(), patience);
        Self {
            gate: through,
            direct: gate(&settings),
            proxy,
            asked: 0,
        }
    }

    fn ask(&mut self, cost: u64) -> Deciding {
        self.asked += 1;
        let charge = NamedCharge::new("api", &[] as &[&str]).cost(Cost::new(cost));
        self.gate.charge(Verb::Take, &[charge]).unwrap()
    }

    fn take(&mut self, cost: u64) -> Answered {
        RUNTIME.block_on(self.ask(cost).wait())
    }

    /// Units that the server has counted.
    fn used(&self) -> u64 {
        let charge = NamedCharge::new("api", &[] as &[&str]);
        let looked = self.direct.charge(Verb::Check, &[charge]).unwrap();
        let looked = RUNTIME.block_on(looked.wait());
        u64::from(LIMIT - looked.decisions().next().unwrap().decision.remaining)
    }

    /// Takes until all is well, however busy the machine is; how many calls failed.
    fn begin(&mut self) -> u64 {
        let mut in_a_row = 0;
        while in_a_row < 3 {
            in_a_row = if self.take(1).is_degraded() {
                0
            } else {
                in_a_row + 1
            };
            assert!(self.asked < 100, "{:?}", self.gate.store_state());
        }
        self.gate.tally().event(Event::Degraded)
    }

    fn errors(&self) -> u64 {
        self.gate.tally().store_errors().map(|(_, n)| n).sum()
    }

    /// Asks until the store decides again, which is soon.
    fn recover(&mut self) {
        WATCH.until(RECOVERY, || !self.take(1).is_degraded());
    }

    /// What the server has carried out, one by one, is charged once, and nothing that was not asked for.
    /// On a machine with nothing else to do the three are one; on a busy one a line may be cut between
    /// a call and the server that was to read it.
    fn charged_once(&self) {
        let done = self.proxy.carried_out();
        let used = self.used();
        let sent = self.proxy.arrived();
        assert!((done..=sent).contains(&used), "{done}, {used}, {sent}");
        assert!(sent <= self.asked, "{sent} of {}", self.asked);
        let answered = self.asked - self.gate.tally().event(Event::Degraded);
        assert!(answered <= done, "{answered} of {done}");
    }

    /// What is left is granted, and not a unit more.
    fn holds(&mut self) {
        let left = u64::from(LIMIT) - self.used();
        let too_much = self.decided(left + 1);
        assert!(!too_much.allowed() && too_much.retry_after().is_some());
        let charge = NamedCharge::new("api", &[] as &[&str]).cost(Cost::new(left));
        let rest = self.direct.charge(Verb::Take, &[charge]).unwrap();
        let rest = RUNTIME.block_on(rest.wait());
        assert!(rest.allowed() && remaining(&rest) == 0);
        assert!(!self.decided(1).allowed());
    }

    /// The store's answer to what it denies, however busy the machine is.
    fn decided(&mut self, cost: u64) -> Answered {
        let mut answered = self.take(cost);
        WATCH.until(RECOVERY, || {
            if answered.is_degraded() {
                answered = self.take(cost);
            }
            !answered.is_degraded()
        });
        answered
    }
}

fn remaining(answered: &Answered) -> u32 {
    answered.decisions().next().unwrap().decision.remaining
}

/// The answer is the rule's own, the `number`th without a store, and tells no number that nobody
/// counted.
fn speaks_for(rule: Rule, answered: &Answered, number: u64) {
    let error = answered.store_error().expect("it is marked");
    assert_eq!(answered.retry_after(), None, "nobody knows");
    match rule {
        Rule::Allow | Rule::Deny => {
            let denied = rule == Rule::Deny;
            let disposition = Disposition::Degraded { error, denied };
            assert_eq!(answered.disposition(), disposition);
            assert_eq!(answered.decisions().count(), 0);
        }
        Rule::Local => {
            assert!(answered.allowed());
            let left = LIMIT / 2 - u32::try_from(number).unwrap();
            assert_eq!(remaining(answered), left);
        }
    }
}

fn fails(version: Version, (fault, kinds): (Fault, &[StoreErrorKind]), rule: Rule) {
    let mut nodes = Nodes::start(version, rule, TIMEOUT);
    let before = nodes.begin();
    nodes.proxy.set(fault);
    for number in 1 + before..=CALLS + before {
        let answered = WATCH.within(TIMEOUT + GRACE, || nodes.take(1));
        speaks_for(rule, &answered, number);
        if number == 1 + before {
            let error = answered.store_error().unwrap();
            assert!(kinds.contains(&error), "{error:?}");
        }
        let counted = nodes.gate.tally().event(Event::Degraded);
        assert_eq!((counted, nodes.errors()), (number, number));
    }
    // A value at one key says nothing about others.
    if fault != Fault::Refuse(Refusal::WrongType) {
        let state = nodes.gate.store_state();
        assert!(matches!(state, StoreState::Away { .. }), "{state:?}");
        // But for one a second, which is the probe.
        let ask = || WATCH.within(AT_ONCE, || nodes.ask(1).now().is_ok());
        let at_once = std::iter::repeat_with(ask).take(3).filter(|now| *now);
        assert!(at_once.count() >= 2);
    }
    nodes.proxy.set(Fault::None);
    nodes.recover();
    nodes.charged_once();
    nodes.holds();
}

fn is_harmless(version: Version, fault: Fault) {
    let mut nodes = Nodes::start(version, Rule::Deny, 20 * TIMEOUT);
    let before = nodes.begin();
    nodes.proxy.set(fault);
    // Many at once share calls, of which each is healed.
    let many: Vec<Deciding> = (0..200).map(|_| nodes.ask(1)).collect();
    for deciding in many {
        let answered = RUNTIME.block_on(deciding.wait());
        assert!(answered.allowed() && !answered.is_degraded(), "{fault:?}");
    }
    let degraded = nodes.gate.tally().event(Event::Degraded);
    assert_eq!((nodes.errors(), degraded), (before, before), "{fault:?}");
    nodes.proxy.set(Fault::None);
    assert_eq!(nodes.used(), nodes.asked);
    nodes.holds();
}

/// Does it all at once: whoever waits costs nothing.
fn at_once<T: Send>(work: impl IntoIterator<Item = T>, each: impl Fn(T) + Sync) {
    let each = &each;
    thread::scope(|scope| {
        for item in work {
            scope.spawn(move || each(item));
        }
    });
}

/// Every fault under every rule: answered in time by that rule, counted once, charged at most once, and
/// limits hold again within three seconds.
#[test]
fn f32_every_fault_under_every_rule() {
    let versions = if full_size() { 2 } else { 1 };
    for version in Version::ALL.into_iter().take(versions) {
        for rule in RULES {
            at_once(FAILURES, |fault| {
                println!("{version:?} {:?} {rule:?}", fault.0);
                fails(version, fault, rule);
            });
        }
    }
}

/// Where somebody drives the gate, no request is the probe: once the server is away none waits, and its
/// return is seen without any.
fn is_spared(fault: Fault) {
    let mut nodes = Nodes::start(Version::V8_2, Rule::Deny, TIMEOUT);
    let driving = RUNTIME.spawn(nodes.gate.clone().drive());
    nodes.begin();
    nodes.asked = 0;
    nodes.proxy.set(fault);
    let away = |nodes: &Nodes| matches!(nodes.gate.store_state(), StoreState::Away { .. });
    while !away(&nodes) {
        assert!(nodes.asked < CALLS);
        speaks_for(Rule::Deny, &nodes.take(1), 0);
    }
    for _ in 0..50 {
        let answered = WATCH.within(AT_ONCE, || nodes.take(1));
        speaks_for(Rule::Deny, &answered, 0);
        assert!(away(&nodes));
        thread::sleep(Duration::from_millis(40));
    }
    nodes.proxy.set(Fault::None);
    WATCH.until(RECOVERY, || nodes.gate.store_state() == StoreState::Ready);
    assert!(!nodes.take(1).is_degraded());
    driving.abort();
}

#[test]
fn a_driven_gate_spares_its_requests() {
    let of_servers = FAILURES
        .into_iter()
        .map(|(fault, _)| fault)
        .filter(|fault| *fault != Fault::Refuse(Refusal::WrongType));
    at_once(of_servers, is_spared);
}

#[test]
fn what_heals_by_itself_is_no_outage() {
    for version in Version::ALL {
        at_once(HARMLESS, |fault| is_harmless(version, fault));
    }
}
