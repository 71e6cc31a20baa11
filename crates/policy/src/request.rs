//! A request as rules see it: every normal form is made once, when the first rule asks.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

use jeton_wire::client_ip::canonical;
use jeton_wire::path::{fold_case, normal_form, other_readings};

use crate::facts::Facts;

/// Facts with their normal forms, shared by all rules.
pub(crate) struct Request<'f> {
    pub(crate) facts: &'f dyn Facts,
    pub(crate) client_ip: Option<IpAddr>,
    path: OnceCell<Option<Reading<'f>>>,
    others: OnceCell<Vec<Reading<'f>>>,
    agree: OnceCell<bool>,
    host: OnceCell<Option<Cow<'f, str>>>,
    preflight: OnceCell<bool>,
}

impl<'f> Request<'f> {
    pub(crate) fn new(facts: &'f dyn Facts) -> Self {
        Self {
            facts,
            client_ip: facts.client_ip().map(canonical),
            path: OnceCell::new(),
            others: OnceCell::new(),
            agree: OnceCell::new(),
            host: OnceCell::new(),
            preflight: OnceCell::new(),
        }
    }

    /// The path in normal form.
    pub(crate) fn path(&self) -> Option<&Reading<'f>> {
        let read = || Some(Reading::new(normal_form(self.facts.path()?.as_bytes())));
        self.path.get_or_init(read).as_ref()
    }

    /// The path in the eyes of services that take more for a slash; none for nearly all paths.
    pub(crate) fn other_paths(&self) -> &[Reading<'f>] {
        let own = |text| Reading::new(Cow::Owned(text));
        let read = || {
            let path = self.facts.path().unwrap_or_default();
            other_readings(path.as_bytes())
                .into_iter()
                .map(own)
                .collect()
        };
        self.others.get_or_init(read)
    }

    /// Whether each reading of the path, its slashes decoded, is the last one: then that stands
    /// for all of them, whichever is the service's.
    pub(crate) fn readings_agree(&self) -> bool {
        *self.agree.get_or_init(|| {
            let others = self.other_paths();
            let Some(last) = others.last() else {
                return true;
            };
            let agrees = |reading: &Reading<'_>| {
                let decoded = other_readings(reading.as_str().as_bytes()).pop();
                decoded.as_deref().unwrap_or(reading.as_str()) == last.as_str()
            };
            self.path().into_iter().chain(others).all(agrees)
        })
    }

    /// The host in normal form.
    pub(crate) fn host(&self) -> Option<&str> {
        self.host
            .get_or_init(|| self.facts.host().map(normal_host))
            .as_deref()
    }

    /// Whether the header field was sent, be it empty.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        let mut seen = false;
        self.facts.header(name, &mut |_| seen = true);
        seen
    }

    /// Whether this is a CORS preflight (Fetch standard, section 4.8): a question of a browser
    /// that precedes the request proper.
    pub(crate) fn is_preflight(&self) -> bool {
        *self.preflight.get_or_init(|| {
            self.facts.method() == Some("OPTIONS")
                && self.has_header("origin")
                && self.has_header("access-control-request-method")
        })
    }
}

/// A path in normal form.
pub(crate) struct Reading<'f> {
    text: Cow<'f, str>,
    folded: OnceCell<Option<String>>,
}

impl<'f> Reading<'f> {
    pub(crate) const fn new(text: Cow<'f, str>) -> Self {
        let folded = OnceCell::new();
        Self { text, folded }
    }

    /// Its letters as they came.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// In lower case, unless a rule tells case apart.
    pub(crate) fn text(&self, match_case: bool) -> &str {
        if match_case {
            return &self.text;
        }
        let folded = self.folded.get_or_init(|| match fold_case(&self.text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(folded) => Some(folded),
        });
        folded.as_deref().unwrap_or(&self.text)
    }
}

/// Stands in a key for a path that leads to different places, depending on who reads it. All of
/// them are counted together: no service has use for any. No path in normal form looks like it.
pub(crate) const AMBIGUOUS: &str = "//";

/// A host without port and last dot, in lower case.
pub(crate) fn normal_host(host: &str) -> Cow<'_, str> {
    let end = match host.strip_prefix('[') {
        Some(inner) => inner.find(']').map(|at| at + 2),
        None => host.find(':').filter(|at| !host[at + 1..].contains(':')),
    };
    let host = end.and_then(|end| host.get(..end)).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_normal_form() {
        for (given, normal) in [
            ("api.example", "api.example"),
            ("API.Example:8080", "api.example"),
            ("api.example.", "api.example"),
            ("api.example.:80", "api.example"),
            ("[2001:DB8::1]:443", "[2001:db8::1]"),
            ("[::1]", "[::1]"),
            ("2001:db8::1", "2001:db8::1"),
            ("[::1", "[::1"),
            (":", ""),
            ("", ""),
        ] {
            assert_eq!(normal_host(given), normal, "{given}");
        }
    }
}
