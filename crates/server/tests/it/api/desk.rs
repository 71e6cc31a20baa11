//! The API in this process, on a clock that moves by hand, every answer of it held to what
//! `/openapi.json` says.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use jeton::policy::{NoReferences, Policy, Source};
use jeton::{Clock, Gate, Micros, Settings, Store, Table};
use jeton_server::api::{Api, Caller, Reach};
use jeton_server::metrics::Metrics;
use jeton_server::store::Backend;
use jsonschema::Validator;
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const US: u64 = 1;
pub(crate) const MS: u64 = 1_000 * US;
pub(crate) const S: u64 = 1_000 * MS;
pub(crate) const MIN: u64 = 60 * S;
pub(crate) const H: u64 = 60 * MIN;
pub(crate) const DAY: u64 = 24 * H;

/// When the clock begins: a midnight, where windows begin too.
const START: u64 = 20_000 * DAY;

/// An API to a policy.
pub(crate) struct Desk {
    router: Router,
    clock: Clock,
    runtime: tokio::runtime::Runtime,
    pub(crate) document: Value,
    validators: RefCell<HashMap<String, Validator>>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// `null` if it is no JSON.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.headers
            .get(name)
            .map(|value| value.to_str().expect("text"))
    }

    pub(crate) fn allowed(&self) -> bool {
        assert_eq!(self.status, 200, "{}", self.text);
        self.body["allowed"].as_bool().expect("an answer")
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.body["decisions"][0]["remaining"]
            .as_u64()
            .expect("a decision")
    }

    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        self.body["retry_after_ms"].as_u64()
    }
}

impl Desk {
    /// An API on loopback to these rules.
    pub(crate) fn new(policy: &str) -> Self {
        Self::reached(policy, Reach::Loopback)
    }

    pub(crate) fn reached(policy: &str, reach: Reach) -> Self {
        let table = Arc::new(Table::new(&Settings::default()).expect("a table"));
        Self::over(policy, reach, Arc::clone(&table) as _, table)
    }

    /// An API whose states are in `store`.
    pub(crate) fn over(
        policy: &str,
        reach: Reach,
        store: Arc<dyn Store>,
        table: Arc<Table>,
    ) -> Self {
        let source = Source::new("jeton.toml", policy);
        let loaded = Policy::load(&source, &NoReferences);
        let policy = loaded.unwrap_or_else(|report| panic!("{report}")).policy;
        let clock = Clock::fixed(Micros::new(START));
        let gate = Gate::new(policy, store, clock.clone());
        let metrics = Arc::new(Metrics::new(gate.clone(), Backend::Memory(table), 1));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let mut desk = Self {
            router: Api::new(gate, metrics).router(reach),
            clock,
            runtime,
            document: Value::Null,
            validators: RefCell::default(),
        };
        desk.document = desk.send(Self::request(Method::GET, "/openapi.json")).body;
        desk
    }

    /// Moves the clock to an instant after the beginning.
    pub(crate) fn at(&self, after_us: u64) -> &Self {
        self.clock.set(Micros::new(START + after_us));
        self
    }

    /// A request of a program on this machine.
    pub(crate) fn request(method: Method, target: &str) -> Request<Body> {
        let request = Request::builder().method(method).uri(target);
        let request = request.header("host", "localhost:7070");
        request
            .extension(Caller::Tcp(IpAddr::from([127, 0, 0, 1])))
            .body(Body::empty())
            .expect("a request")
    }

    /// A call with a body.
    pub(crate) fn call(&self, method: Method, target: &str, body: &Value) -> Answer {
        self.call_as(None, method, target, &body.to_string())
    }

    pub(crate) fn call_as(
        &self,
        token: Option<&str>,
        method: Method,
        target: &str,
        body: &str,
    ) -> Answer {
        let mut request = Self::request(method, target).map(|_| Body::from(body.to_owned()));
        let headers = request.headers_mut();
        headers.insert("content-type", "application/json".parse().expect("a value"));
        if let Some(token) = token {
            let line = format!("Bearer {token}").parse().expect("a value");
            headers.insert("authorization", line);
        }
        self.send(request)
    }

    pub(crate) fn post(&self, target: &str, body: &Value) -> Answer {
        self.call(Method::POST, target, body)
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.send(Self::request(Method::GET, target))
    }

    /// Takes so many units of the rule `a`.
    pub(crate) fn take(&self, key: &str, cost: u64) -> Answer {
        self.post(
            "/v1/take",
            &json!({ "rule": "a", "key": key, "cost": cost }),
        )
    }

    pub(crate) fn check(&self, key: &str, cost: u64) -> Answer {
        self.post(
            "/v1/check",
            &json!({ "rule": "a", "key": key, "cost": cost }),
        )
    }

    /// How many of so many tries of one unit pass now.
    pub(crate) fn passed(&self, tries: usize) -> usize {
        (0..tries).filter(|_| self.take("k", 1).allowed()).count()
    }

    /// Sends a request, and holds the answer to the description.
    pub(crate) fn send(&self, request: Request<Body>) -> Answer {
        let method = request.method().as_str().to_ascii_lowercase();
        let path = request.uri().path().to_owned();
        let (status, headers, bytes) = self.runtime.block_on(async {
            let response = self
                .router
                .clone()
                .oneshot(request)
                .await
                .expect("an answer");
            let (head, body) = response.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            (head.status, head.headers, body)
        });
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let answer = Answer {
            status: status.as_u16(),
            headers,
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        };
        if !self.document.is_null() {
            self.holds(&method, &path, &answer);
        }
        answer
    }

    /// An answer is one of those that are described.
    fn holds(&self, method: &str, path: &str, answer: &Answer) {
        let Some(item) = self.described(path) else {
            assert_eq!(
                answer.status, 404,
                "{path} is not described: {}",
                answer.text
            );
            return;
        };
        let method = if method == "head" && item["head"].is_null() {
            "get"
        } else {
            method
        };
        let operation = &item[method];
        if operation.is_null() {
            let is_none = [204, 403, 405, 415].contains(&answer.status);
            assert!(
                is_none,
                "{method} {path} is not described: {}",
                answer.status
            );
            return;
        }
        let described = &operation["responses"][answer.status.to_string()];
        let place = format!("{method} {path} {}", answer.status);
        assert!(
            !described.is_null(),
            "{place} is not described: {}",
            answer.text
        );
        if answer.text.is_empty() {
            return;
        }
        let media = answer.field("content-type").expect("a content type");
        let content = &described["content"][media];
        assert!(!content.is_null(), "{place}: {media} is not described");
        if media.ends_with("json") {
            let mut known = self.validators.borrow_mut();
            let validator = known
                .entry(content["schema"].to_string())
                .or_insert_with(|| {
                    let mut schema = content["schema"].clone();
                    schema["components"] = self.document["components"].clone();
                    jsonschema::draft202012::new(&schema).expect("a schema")
                });
            let wrong: Vec<String> = validator
                .iter_errors(&answer.body)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{place}: {wrong:?}\n{}", answer.text);
        }
    }

    fn described(&self, path: &str) -> Option<&Value> {
        let fits = |template: &str| {
            let (mut wanted, mut found) = (template.split('/'), path.split('/'));
            let same = |(wanted, found): (&str, &str)| {
                wanted == found || (wanted.starts_with('{') && !found.is_empty())
            };
            wanted.by_ref().count() == found.by_ref().count()
                && template.split('/').zip(path.split('/')).all(same)
        };
        let paths = self.document["paths"].as_object().expect("paths");
        paths
            .iter()
            .find(|(template, _)| fits(template))
            .map(|(_, item)| item)
    }
}
