//! A request as rules see it: every normal form is made once, when the first rule asks.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

use jeton_wire::client_ip::canonical;
use jeton_wire::path::{fold_case, normal_form};

use crate::facts::Facts;

/// Facts with their normal forms, shared by all rules.
pub(crate) struct Request<'f> {
    pub(crate) facts: &'f dyn Facts,
    pub(crate) client_ip: Option<IpAddr>,
    path: OnceCell<Option<Cow<'f, str>>>,
    folded: OnceCell<Option<String>>,
    host: OnceCell<Option<Cow<'f, str>>>,
    preflight: OnceCell<bool>,
}

impl<'f> Request<'f> {
    pub(crate) fn new(facts: &'f dyn Facts) -> Self {
        Self {
            facts,
            client_ip: facts.client_ip().map(canonical),
            path: OnceCell::new(),
            folded: OnceCell::new(),
            host: OnceCell::new(),
            preflight: OnceCell::new(),
        }
    }

    /// The path in normal form, its letters as they came.
    pub(crate) fn path(&self) -> Option<&str> {
        let path = self
            .path
            .get_or_init(|| Some(normal_form(self.facts.path()?.as_bytes())));
        path.as_deref()
    }

    /// The path in normal form, in lower case.
    pub(crate) fn folded_path(&self) -> Option<&str> {
        let path = self.path()?;
        let folded = self.folded.get_or_init(|| match fold_case(path) {
            Cow::Borrowed(_) => None,
            Cow::Owned(folded) => Some(folded),
        });
        Some(folded.as_deref().unwrap_or(path))
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
