//! Which requests a rule speaks of.

mod cover;
#[cfg(all(test, feature = "toml"))]
mod generated;
mod meeting;

use crate::key::KeyPart;
use crate::pattern::Pattern;
use crate::request::{AMBIGUOUS, Reading, Request};
use crate::setting::Setting;
use crate::value::{first_cookie, first_parameter};

/// `match`: every condition that is given must hold; an empty one holds always.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Match {
    /// One of these domains of the Envoy rate limit service; requests of other doors have none.
    pub domains: Vec<Setting<String>>,
    /// One of these. `GET` also stands for `HEAD`.
    pub methods: Vec<Setting<String>>,
    /// One of these, compared with the normal form of the path; of a path with an encoded slash
    /// or a backslash, also with what it is to services that take those for slashes. One of these
    /// readings is enough.
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

/// The first condition that a request does not meet; those after it are not looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unmet<'r> {
    Domain,
    Method,
    Host,
    Path,
    With(&'r KeyPart),
    Without(&'r KeyPart),
    /// By its name: the value may be what a client proves itself by.
    Header(&'r str),
}

/// How a request came to match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'r> {
    /// The pattern that spoke of its path; `None` if the rule speaks of all paths.
    pub(crate) route: Option<&'r Pattern>,
    /// Whether some reading of the path did not match. Enough to limit, not to lift.
    pub(crate) in_doubt: bool,
    counted: Counted,
}

/// The reading of a path that a request is counted by.
#[derive(Clone, Copy, Debug)]
enum Counted {
    /// The normal form.
    Plain,
    /// One of the others.
    Other(usize),
    /// One that stands for all of them, if they agree.
    All,
    /// None: they disagree.
    Ambiguous,
}

impl Matched<'_> {
    /// How a rule matches that speaks of all paths.
    pub(crate) const EVERY: Self = Self {
        route: None,
        in_doubt: false,
        counted: Counted::All,
    };

    /// The path to count by, so that neither the spellings of a path nor what a service would
    /// not see in it make new counters.
    pub(crate) fn path<'a>(&self, request: &'a Request<'_>, match_case: bool) -> Option<&'a str> {
        let plain = request.path()?;
        let others = request.other_paths();
        let reading = match self.counted {
            Counted::Plain => Some(plain),
            Counted::Other(at) => others.get(at),
            Counted::All if request.readings_agree() => Some(others.last().unwrap_or(plain)),
            Counted::All | Counted::Ambiguous => None,
        };
        Some(reading.map_or(AMBIGUOUS, |reading| reading.text(match_case)))
    }
}

impl Match {
    /// `true` if it holds for every request.
    pub fn is_everything(&self) -> bool {
        self.domains.is_empty()
            && self.methods.is_empty()
            && self.paths.is_empty()
            && self.hosts.is_empty()
            && self.with.is_empty()
            && self.without.is_empty()
            && self.headers.is_empty()
    }

    /// How a request matches, or the first condition that it does not meet.
    pub(crate) fn meet(&self, request: &Request<'_>) -> Result<Matched<'_>, Unmet<'_>> {
        if !self.domain(request) {
            return Err(Unmet::Domain);
        }
        if !self.method(request) {
            return Err(Unmet::Method);
        }
        if !self.host(request) {
            return Err(Unmet::Host);
        }
        let matched = self.path(request).ok_or(Unmet::Path)?;
        let absent = |part: &&KeyPart| !is_present(part, request);
        if let Some(part) = self.with.iter().find(absent) {
            return Err(Unmet::With(part));
        }
        if let Some(part) = self.without.iter().find(|part| is_present(part, request)) {
            return Err(Unmet::Without(part));
        }
        let differs =
            |(name, value): &&(String, Setting<String>)| !has_line(request, name, value.get());
        match self.headers.iter().find(differs) {
            Some((name, _)) => Err(Unmet::Header(name)),
            None => Ok(matched),
        }
    }

    /// How its paths match; other conditions aside.
    pub(crate) fn path(&self, request: &Request<'_>) -> Option<Matched<'_>> {
        if self.paths.is_empty() {
            return Some(Matched::EVERY);
        }
        let plain = request.path()?;
        let mut found = self
            .route(plain)
            .map(|route| (plain, route, Counted::Plain));
        let others = request.other_paths();
        let mut in_doubt = found.is_none();
        for (at, reading) in others.iter().enumerate() {
            let Some(route) = self.route(reading) else {
                in_doubt = true;
                continue;
            };
            let counted = match found {
                Some((before, _, counted)) if before.as_str() == reading.as_str() => counted,
                Some(_) if at + 1 == others.len() && request.readings_agree() => Counted::Other(at),
                Some(_) => Counted::Ambiguous,
                None => Counted::Other(at),
            };
            found = Some((reading, route, counted));
        }
        let (_, route, counted) = found?;
        Some(Matched {
            route: Some(route),
            in_doubt,
            counted,
        })
    }

    /// The first pattern that speaks of a path.
    fn route(&self, path: &Reading<'_>) -> Option<&Pattern> {
        let mut patterns = self.paths.iter().map(Setting::get);
        patterns.find(|pattern| pattern.matches(path.as_str(), self.match_case))
    }

    fn domain(&self, request: &Request<'_>) -> bool {
        self.domains.is_empty()
            || request
                .facts
                .domain()
                .is_some_and(|given| self.domains.iter().any(|own| own.get() == given))
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
