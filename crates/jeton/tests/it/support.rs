//! A gate over a file and a clock that moves by hand.

use std::net::IpAddr;
use std::sync::Arc;

use jeton::policy::{Facts, NoReferences, Policy, Source};
use jeton::{Answered, Clock, Cost, Gate, Micros, NamedCharge, Settings, Store, Table, Verb};

pub(crate) const S: u64 = 1_000_000;

pub(crate) fn policy(text: &str) -> Policy {
    match Policy::load(&Source::new("jeton.toml", text), &NoReferences) {
        Ok(loaded) => loaded.policy,
        Err(report) => panic!("{report}"),
    }
}

pub(crate) fn gate_over(store: Arc<dyn Store>, text: &str) -> Gate {
    Gate::new(
        policy(text),
        store,
        Clock::fixed(Micros::new(1_800_000_000 * S)),
    )
}

pub(crate) fn gate(text: &str) -> Gate {
    gate_over(Arc::new(Table::new(&Settings::default()).unwrap()), text)
}

/// A gate over memory that goes by `clock`.
pub(crate) fn gate_on(text: &str, clock: Clock) -> Gate {
    let table = Arc::new(Table::new(&Settings::default()).unwrap());
    Gate::new(policy(text), table, clock)
}

pub(crate) fn named(gate: &Gate, verb: Verb, charges: &[(&str, &str, u64)]) -> Answered {
    let keys: Vec<[&str; 1]> = charges.iter().map(|(_, key, _)| [*key]).collect();
    let charges: Vec<NamedCharge<'_>> = charges
        .iter()
        .zip(&keys)
        .map(|((rule, _, cost), key)| NamedCharge::new(rule, key).cost(Cost::new(*cost)))
        .collect();
    gate.charge(verb, &charges).unwrap().now().unwrap()
}

/// A request to say things about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) ip: Option<IpAddr>,
    pub(crate) method: Option<&'static str>,
    pub(crate) path: Option<&'static str>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Request {
    pub(crate) fn get(ip: &str, path: &'static str) -> Self {
        let ip = Some(ip.parse().unwrap());
        Self {
            ip,
            method: Some("GET"),
            path: Some(path),
            headers: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

impl Facts for Request {
    fn client_ip(&self) -> Option<IpAddr> {
        self.ip
    }

    fn method(&self) -> Option<&str> {
        self.method
    }

    fn host(&self) -> Option<&str> {
        None
    }

    fn path(&self) -> Option<&str> {
        self.path
    }

    fn query(&self) -> Option<&str> {
        None
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for (_, value) in self.headers.iter().filter(|(known, _)| *known == name) {
            each(value.as_bytes());
        }
    }
}

/// The answer to a request, which memory gives at once.
pub(crate) fn take(gate: &Gate, request: &Request) -> Answered {
    gate.take(request).now().unwrap()
}
