//! Which requests a rule speaks of.

mod cover;

use crate::key::KeyPart;
use crate::pattern::Pattern;
use crate::request::Request;
use crate::setting::Setting;
use crate::value::{first_cookie, first_parameter};

/// `match`: every condition that is given must hold; an empty one holds always.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Match {
    /// One of these. `GET` also stands for `HEAD`.
    pub methods: Vec<Setting<String>>,
    /// One of these, compared with the normal form of the path.
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
        let route = if self.paths.is_empty() {
            None
        } else {
            let path = request.path()?;
            let spoken = |pattern: &&Setting<Pattern>| pattern.get().matches(path, self.match_case);
            Some(self.paths.iter().find(spoken)?.get())
        };
        let rest = self.with.iter().all(|part| is_present(part, request))
            && !self.without.iter().any(|part| is_present(part, request))
            && self
                .headers
                .iter()
                .all(|(name, value)| has_line(request, name, value.get()));
        rest.then_some(Matched { route })
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
