//! Which requests a rule speaks of.

mod cover;

use crate::key::KeyPart;
use crate::pattern::Pattern;
use crate::request::{Reading, Request};
use crate::setting::Setting;
use crate::value::{first_cookie, first_parameter};

/// `match`: every condition that is given must hold; an empty one holds always.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Match {
    /// One of these. `GET` also stands for `HEAD`.
    pub methods: Vec<Setting<String>>,
    /// One of these, compared with the normal form of the path; of a path with an encoded slash,
    /// also with what it is to a service that decodes it. One of the two is enough.
    pub paths: Vec<Setting<Pattern>>,
    /// Whether letters of the path must have the same case, here and in the key.
    pub match_case: bool,
    /// One of these, in normal form: lower case, no port.
    pub hosts: Vec<Setting<String>>,
    /// Parts that the request must have.
    pub with: Vec<KeyPart>,
    /// Parts that the request must not have.
    pub without: Vec<KeyPart>,
    /// Header fields (names in lower case), one line of which must be just this.
    pub headers: Vec<(String, Setting<String>)>,
}

/// How a request came to match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'r> {
    /// The pattern that spoke of its path; `None` if the rule speaks of all paths.
    pub(crate) route: Option<&'r Pattern>,
    /// Whether only one of two readings of the path matched. Enough to limit, not to lift.
    pub(crate) in_doubt: bool,
    second: bool,
}

impl Matched<'_> {
    /// The path to count by. Of two that matched it is the second, so that the spellings of what
    /// is one path to a service that decodes slashes have one counter.
    pub(crate) fn reading<'a, 'f>(&self, request: &'a Request<'f>) -> Option<&'a Reading<'f>> {
        let second = self.second.then(|| request.second_path()).flatten();
        second.or_else(|| request.path())
    }
}

impl Match {
    /// `true` if it holds for every request.
    pub fn is_everything(&self) -> bool {
        self.methods.is_empty()
            && self.paths.is_empty()
            && self.hosts.is_empty()
            && self.with.is_empty()
            && self.without.is_empty()
            && self.headers.is_empty()
    }

    pub(crate) fn find(&self, request: &Request<'_>) -> Option<Matched<'_>> {
        if !self.method(request) || !self.host(request) {
            return None;
        }
        let matched = self.path(request)?;
        let rest = self.with.iter().all(|part| is_present(part, request))
            && !self.without.iter().any(|part| is_present(part, request))
            && self
                .headers
                .iter()
                .all(|(name, value)| has_line(request, name, value.get()));
        rest.then_some(matched)
    }

    fn path(&self, request: &Request<'_>) -> Option<Matched<'_>> {
        let found = |route, in_doubt, second| Matched {
            route,
            in_doubt,
            second,
        };
        if self.paths.is_empty() {
            return Some(found(None, false, true));
        }
        let first = self.route(request.path()?);
        let Some(reading) = request.second_path() else {
            return first.map(|route| found(Some(route), false, false));
        };
        let second = self.route(reading);
        let in_doubt = first.is_none() || second.is_none();
        let route = second.or(first)?;
        Some(found(Some(route), in_doubt, second.is_some()))
    }

    /// The first pattern that speaks of a path.
    fn route(&self, path: &Reading<'_>) -> Option<&Pattern> {
        let mut patterns = self.paths.iter().map(Setting::get);
        patterns.find(|pattern| pattern.matches(path.as_str(), self.match_case))
    }

    fn method(&self, request: &Request<'_>) -> bool {
        self.methods.is_empty()
            || request.facts.method().is_some_and(|given| {
                self.methods.iter().any(|wanted| {
                    wanted.get() == given || (wanted.get() == "GET" && given == "HEAD")
                })
            })
    }

    fn host(&self, request: &Request<'_>) -> bool {
        self.hosts.is_empty()
            || request
                .host()
                .is_some_and(|given| self.hosts.iter().any(|host| host.get() == given))
    }
}

/// Whether a request has a part, be it empty.
fn is_present(part: &KeyPart, request: &Request<'_>) -> bool {
    match part {
        KeyPart::ClientIp(_) => request.client_ip.is_some(),
        KeyPart::Global => true,
        KeyPart::Method => request.facts.method().is_some(),
        KeyPart::Host => request.facts.host().is_some(),
        KeyPart::Path | KeyPart::Route => request.facts.path().is_some(),
        KeyPart::Header(name) => request.has_header(name),
        KeyPart::Cookie(name) => first_cookie(request.facts, name, &mut |_| {}),
        KeyPart::Query(name) => first_parameter(request.facts.query(), name).is_some(),
        KeyPart::Descriptor(name) => request.facts.descriptor(name).is_some(),
    }
}

fn has_line(request: &Request<'_>, name: &str, value: &str) -> bool {
    let mut found = false;
    request.facts.header(name, &mut |line| {
        found |= line.trim_ascii() == value.as_bytes();
    });
    found
}
