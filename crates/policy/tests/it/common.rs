//! What the tests share: requests made by hand, references from a map, policies from text.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jeton_core::Micros;
use jeton_policy::{Facts, Loaded, Orders, Policy, Report, Resolve, Source, Unresolved};

/// References that answer from a map.
#[derive(Default)]
pub(crate) struct References {
    env: BTreeMap<&'static str, &'static str>,
    files: BTreeMap<&'static str, &'static str>,
}

/// What must never be shown.
pub(crate) const SECRET: &str = "hunter2";

/// A file of descriptors.
const EDGE: &str = "domain: edge
descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 5 } }]
";

impl References {
    pub(crate) fn sample() -> Self {
        Self {
            env: BTreeMap::from([
                ("SECRET", SECRET),
                ("LISTEN", "127.0.0.1:8080"),
                ("UPSTREAM", "http://hunter2.internal:3000"),
                ("ORIGIN", "https://hunter2.example"),
                ("EMPTY", ""),
                ("NAME", SECRET),
                (
                    "REDIS_URL",
                    "rediss-cluster://me:hunter2@hunter2.internal,other",
                ),
                ("PLAIN_URL", "redis://h"),
                ("JETON_TOKEN", "hunter2-hunter2-hunter2"),
            ]),
            files: BTreeMap::from([
                ("/run/secrets/tier", "hunter2\n"),
                ("limits/edge.yaml", EDGE),
            ]),
        }
    }
}

impl Resolve for References {
    fn env(&self, name: &str) -> Result<String, Unresolved> {
        self.env
            .get(name)
            .map(|value| (*value).to_owned())
            .ok_or(Unresolved::Absent)
    }

    fn folder(&self, path: &str) -> Result<Vec<String>, Unresolved> {
        match path {
            "empty" => Ok(Vec::new()),
            "limits" => Ok(vec!["limits/edge.yaml".to_owned()]),
            _ => Err(Unresolved::Absent),
        }
    }

    fn file(&self, path: &str) -> Result<String, Unresolved> {
        self.files
            .get(path)
            .map(|value| (*value).to_owned())
            .ok_or(Unresolved::Absent)
    }
}

/// No operator set anything.
pub(crate) static NOTHING: Orders = Orders::new();
/// When requests come, if it does not matter.
pub(crate) const NOW: Micros = Micros::new(1_000_000);

/// A request made by hand.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client_ip: Option<IpAddr>,
    pub(crate) method: Option<String>,
    pub(crate) host: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) descriptors: Vec<(String, String)>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            client_ip: "203.0.113.9".parse().ok(),
            method: Some(method.to_owned()),
            host: Some("api.example".to_owned()),
            path: Some(path.to_owned()),
            headers: Vec::new(),
            descriptors: Vec::new(),
        }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn from(mut self, ip: &str) -> Self {
        self.client_ip = ip.parse().ok();
        self
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers
            .push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    pub(crate) fn preflight(path: &str) -> Self {
        Self::new("OPTIONS", path)
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
    }
}

impl Facts for Request {
    fn client_ip(&self) -> Option<IpAddr> {
        self.client_ip
    }

    fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn query(&self) -> Option<&str> {
        self.path
            .as_deref()?
            .split_once('?')
            .map(|(_, query)| query)
    }

    fn header(&self, name: &str, each: &mut dyn FnMut(&[u8])) {
        for (_, value) in self.headers.iter().filter(|(key, _)| key == name) {
            each(value);
        }
    }

    fn descriptor(&self, name: &str) -> Option<&str> {
        self.descriptors
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

pub(crate) fn try_load(text: &str) -> Result<Loaded, Report> {
    Policy::load(&Source::new("jeton.toml", text), &References::sample())
}

pub(crate) fn load(text: &str) -> Policy {
    try_load(text)
        .unwrap_or_else(|report| panic!("{report}"))
        .policy
}

pub(crate) fn refused(text: &str) -> Report {
    match try_load(text) {
        Err(report) => report,
        Ok(_) => panic!("this should be refused:\n{text}"),
    }
}
