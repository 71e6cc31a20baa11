//! The request that is asked about, read in one way for the command line and the API.

use std::net::IpAddr;
use std::pin::Pin;

use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use jeton::door::HttpFacts;
use jeton::{Explained, Gate};

use super::descriptors::Descriptors;
use crate::engine::InputError;

/// A request that somebody asks about, as the head that a door would read.
#[derive(Clone, Debug)]
pub struct Question {
    head: Parts,
    client: Option<IpAddr>,
    /// What came instead of a request.
    descriptors: Option<Descriptors>,
}

/// The same as it is written, each part by its name: those of a query, and of flags.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// `request`: method and target, such as `POST /login`; a target alone is got.
    pub request: Option<String>,
    /// `ip`: the client's address, as `[client_ip]` would have found it.
    pub ip: Option<String>,
    /// `host`: what a field `Host` would say.
    pub host: Option<String>,
    /// `header`, any number of times: `name: value`.
    pub headers: Vec<String>,
    /// `domain`: that of descriptors, which are asked about instead of a request.
    pub domain: Option<String>,
    /// `descriptor`, any number of times: `key=value,key=value`.
    pub descriptors: Vec<String>,
}

impl Written {
    /// Reads a query: `request=POST+%2Flogin&ip=192.0.2.7&header=x-plan%3Apro`.
    ///
    /// ```
    /// use jeton_server::explain::Written;
    /// let written = Written::from_query("request=POST+%2Flogin&ip=192.0.2.7").unwrap();
    /// assert_eq!(written.request.as_deref(), Some("POST /login"));
    /// let again = Written::from_query(&written.to_query()).unwrap();
    /// assert_eq!(again.ip.as_deref(), Some("192.0.2.7"));
    /// assert_eq!(Written::from_query("colour=blue").unwrap_err().field, "colour");
    /// ```
    ///
    /// # Errors
    /// [`InputError`] for a parameter that there is not, or that stands twice.
    pub fn from_query(query: &str) -> Result<Self, InputError> {
        let mut written = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.into_owned();
            let once = match &*name {
                "request" => &mut written.request,
                "ip" => &mut written.ip,
                "host" => &mut written.host,
                "header" => {
                    written.headers.push(value);
                    continue;
                }
                "domain" => &mut written.domain,
                "descriptor" => {
                    written.descriptors.push(value);
                    continue;
                }
                _ => {
                    let known = "there are `request`, `ip`, `header` and `host`, or `domain` and \
                                 `descriptor`";
                    let what = format!("there is no such parameter; {known}");
                    return Err(wrong(&name, what));
                }
            };
            if once.replace(value).is_some() {
                return Err(wrong(&name, "stands twice; write it once"));
            }
        }
        Ok(written)
    }

    /// What [`Written::from_query`] reads.
    pub fn to_query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let once = [
            ("request", &self.request),
            ("ip", &self.ip),
            ("host", &self.host),
            ("domain", &self.domain),
        ];
        for (name, value) in once {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        for header in &self.headers {
            query.append_pair("header", header);
        }
        for descriptor in &self.descriptors {
            query.append_pair("descriptor", descriptor);
        }
        query.finish()
    }
}

impl Question {
    /// Understands what is written.
    ///
    /// ```
    /// use jeton::policy::Facts;
    /// use jeton_server::explain::{Question, Written};
    /// let written = Written {
    ///     request: Some("POST /login?next=home".to_owned()),
    ///     headers: vec!["X-Plan: pro".to_owned()],
    ///     ..Written::default()
    /// };
    /// let question = Question::read(&written).unwrap();
    /// let facts = question.facts();
    /// assert_eq!((facts.method(), facts.path()), (Some("POST"), Some("/login")));
    /// ```
    ///
    /// # Errors
    /// [`InputError`] names the parameter, what is wrong with it and what to write.
    pub fn read(written: &Written) -> Result<Self, InputError> {
        let descriptors = descriptors(written)?;
        let Some(request) = written
            .request
            .as_deref()
            .or(descriptors.is_some().then_some("/"))
        else {
            let what = "is missing; write method and path, such as \"POST /login\"";
            return Err(wrong("request", what));
        };
        let (method, target) = request_line(request)?;
        let (mut head, ()) = http::Request::new(()).into_parts();
        head.method = method;
        head.uri = target;
        head.headers = fields(written)?;
        let client = written.ip.as_deref().map(address).transpose()?;
        Ok(Self {
            head,
            client,
            descriptors,
        })
    }

    /// Asks a gate. Charges nothing.
    pub fn ask(&self, gate: &Gate) -> Pin<Box<dyn Future<Output = Explained> + Send>> {
        match &self.descriptors {
            Some(descriptors) => Box::pin(descriptors.explain(gate)),
            None => Box::pin(gate.explain(&self.facts())),
        }
    }

    /// Whether it is about descriptors, which have no answer of their own.
    pub(super) const fn is_of_descriptors(&self) -> bool {
        self.descriptors.is_some()
    }

    /// The facts that a door would hand to the gate.
    pub const fn facts(&self) -> HttpFacts<'_> {
        HttpFacts::new(&self.head, self.client)
    }

    /// The head of the request.
    pub const fn head(&self) -> &Parts {
        &self.head
    }
}

/// What stands instead of a request, if it does.
fn descriptors(written: &Written) -> Result<Option<Descriptors>, InputError> {
    let Some(domain) = &written.domain else {
        if written.descriptors.is_empty() {
            return Ok(None);
        }
        return Err(wrong("domain", "is missing; descriptors have one"));
    };
    let beside = [
        ("request", written.request.is_some()),
        ("ip", written.ip.is_some()),
        ("host", written.host.is_some()),
        ("header", !written.headers.is_empty()),
    ];
    if let Some((field, _)) = beside.into_iter().find(|(_, is_there)| *is_there) {
        let what = "stands beside a domain; Envoy sends descriptors only, and an address as \
                    remote_address=192.0.2.7";
        return Err(wrong(field, what));
    }
    Descriptors::read(domain, &written.descriptors).map(Some)
}

pub(super) fn wrong(field: &str, what: impl Into<String>) -> InputError {
    InputError {
        field: field.to_owned(),
        what: what.into(),
    }
}

/// `POST /login`, as it begins a request; the version after it may be there.
fn request_line(text: &str) -> Result<(Method, Uri), InputError> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (name, target) = match words.as_slice() {
        [target] => ("GET", *target),
        [name, target] => (*name, *target),
        [name, target, version] if version.starts_with("HTTP/") => (*name, *target),
        _ => {
            let what = format!("{text:?} is no method and path; write \"POST /login\"");
            return Err(wrong("request", what));
        }
    };
    Ok((method(name)?, uri(target)?))
}

/// Methods tell case apart (RFC 9110, section 9.1), so `post` would match no rule and surprise.
fn method(name: &str) -> Result<Method, InputError> {
    const STANDARD: [Method; 9] = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::CONNECT,
        Method::OPTIONS,
        Method::TRACE,
        Method::PATCH,
    ];
    let meant = STANDARD
        .iter()
        .find(|known| known.as_str().eq_ignore_ascii_case(name));
    match (Method::from_bytes(name.as_bytes()), meant) {
        (Ok(method), Some(meant)) if method != *meant => {
            let what = format!("methods are written in capitals: write {meant}, not {name}");
            Err(wrong("request", what))
        }
        (Ok(method), _) => Ok(method),
        (Err(_), _) => Err(wrong("request", format!("{name:?} is no method of HTTP"))),
    }
}

fn uri(target: &str) -> Result<Uri, InputError> {
    let begins = |with: &&str| target.starts_with(with);
    let whole = ["/", "http://", "https://"].iter().any(begins) || target == "*";
    if !whole {
        let what = format!("the path {target:?} does not begin with a slash");
        return Err(wrong("request", what));
    }
    target.parse().map_err(|error| {
        let what = format!("{target:?} is no path: {error}; write odd characters as %20");
        wrong("request", what)
    })
}

fn fields(written: &Written) -> Result<HeaderMap, InputError> {
    let mut fields = HeaderMap::new();
    for line in &written.headers {
        let (name, value) = field(line)?;
        let added = fields.try_append(name, value);
        added.map_err(|_| wrong("header", "there are too many of them"))?;
    }
    if let Some(host) = &written.host {
        let value = HeaderValue::from_str(host);
        let value = value.map_err(|_| wrong("host", format!("{host:?} is no host")))?;
        if fields.insert(HOST, value).is_some() {
            return Err(wrong("host", "stands beside a header `host`; write one"));
        }
    }
    Ok(fields)
}

/// Values may be secrets, so they are not repeated.
fn field(line: &str) -> Result<(HeaderName, HeaderValue), InputError> {
    let Some((name, value)) = line.split_once(':') else {
        let what = "a field has a colon after its name; write \"x-plan: pro\"";
        return Err(wrong("header", what));
    };
    let read = HeaderName::from_bytes(name.trim().as_bytes());
    let read = read.map_err(|_| wrong("header", format!("{name:?} is no name of a field")))?;
    let value = HeaderValue::from_bytes(value.trim().as_bytes());
    let odd = |_| wrong("header", format!("the value of {read} has odd characters"));
    Ok((read.clone(), value.map_err(odd)?))
}

fn address(text: &str) -> Result<IpAddr, InputError> {
    let wrong = |_| wrong("ip", format!("{text:?} is no IP address"));
    text.parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use jeton::policy::Facts;

    use super::*;

    fn ask(query: &str) -> Result<Question, InputError> {
        Question::read(&Written::from_query(query)?)
    }

    #[test]
    fn a_query_becomes_what_a_door_would_see() {
        let question = ask(
            "request=POST+/login%3Fa%3D1%26b&ip=2001:db8::7&host=API.example&header=X-Plan:+pro\
             &header=x-plan:%20trial",
        )
        .unwrap();
        let facts = question.facts();
        assert_eq!(facts.method(), Some("POST"));
        assert_eq!(
            (facts.path(), facts.query()),
            (Some("/login"), Some("a=1&b"))
        );
        assert_eq!(facts.host(), Some("API.example"));
        assert_eq!(facts.client_ip(), "2001:db8::7".parse().ok());
        let mut lines = Vec::new();
        facts.header("x-plan", &mut |line| lines.push(line.to_vec()));
        assert_eq!(lines, [b"pro".to_vec(), b"trial".to_vec()]);
    }

    #[test]
    fn a_target_alone_is_got_and_a_version_is_passed_over() {
        for (text, method, path) in [
            ("/x", "GET", "/x"),
            ("DELETE /x", "DELETE", "/x"),
            ("GET /x HTTP/1.1", "GET", "/x"),
            ("PURGE /x", "PURGE", "/x"),
            ("OPTIONS *", "OPTIONS", "*"),
        ] {
            let written = Written {
                request: Some(text.to_owned()),
                ..Written::default()
            };
            let question = Question::read(&written).unwrap();
            let facts = question.facts();
            assert_eq!(
                (facts.method(), facts.path()),
                (Some(method), Some(path)),
                "{text}"
            );
            assert_eq!(facts.client_ip(), None);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (query, field, said) in [
            ("", "request", "is missing"),
            ("request=", "request", "no method and path"),
            ("request=post+/login", "request", "write POST"),
            ("request=GET+login", "request", "slash"),
            ("request=GET+/a+b+c", "request", "no method and path"),
            ("request=G(T+/", "request", "no method"),
            ("request=GET+/%7F", "request", "no path"),
            ("request=/&ip=1.2.3", "ip", "no IP address"),
            ("request=/&ip=1.2.3.4&ip=1.2.3.4", "ip", "twice"),
            ("request=/&header=x-plan", "header", "colon"),
            ("request=/&header=x+y:1", "header", "no name"),
            ("request=/&header=authorization:s3cret%07", "header", "odd"),
            ("request=/&host=a%0Ab", "host", "no host"),
            ("request=/&host=a&header=host:b", "host", "beside"),
            ("request=/&plan=pro", "plan", "no such parameter"),
            ("domain=d", "descriptor", "is missing"),
            ("domain=&descriptor=a%3D1", "domain", "is empty"),
            ("descriptor=a%3D1", "domain", "is missing"),
            ("domain=d&descriptor=a", "descriptor", "no key=value"),
            ("domain=d&domain=e&descriptor=a%3D1", "domain", "twice"),
            (
                "domain=d&descriptor=a%3D1&request=/",
                "request",
                "beside a domain",
            ),
            (
                "domain=d&descriptor=a%3D1&ip=1.2.3.4",
                "ip",
                "remote_address",
            ),
        ] {
            let error = ask(query).expect_err(query);
            assert_eq!(error.field, field, "{query}: {error}");
            assert!(error.what.contains(said), "{query}: {error}");
            assert!(!error.what.contains("s3cret"), "{error}");
        }
    }
}
