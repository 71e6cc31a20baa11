//! Routes and types as an `OpenAPI` 3.1 document.

use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::doc::{Answer, Doc, Media, Parameter, shape};
use crate::api::access::{Access, Tokens};
use crate::api::answer::ProblemDocument;
use crate::api::listen::Reach;
use crate::api::routes::{Route, Verb};

/// Where `OpenAPI` keeps schemas.
const SCHEMAS: &str = "/components/schemas";

/// The methods that `OpenAPI` knows.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

const DESCRIPTION: &str = "Decides, in one indivisible step, whether a request may pass now. Spans \
    are whole milliseconds, rounded up. Every refusal is a problem document (RFC 9457); that of a \
    wrong member names it in `field`. A body that is read must be `application/json`.";

/// The document.
pub(in crate::api) fn document(routes: &[Route], tokens: &Tokens, reach: Reach) -> Value {
    let mut writer = Writer::new(tokens, reach);
    let mut paths = Map::new();
    for route in routes {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        for (method, operation) in writer.operations(route) {
            item[method] = operation;
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Jeton decision API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": writer.schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "`[api] token`, or the admin token",
                },
                "admin_token": {
                    "type": "http", "scheme": "bearer",
                    "description": "`[api] admin_token`",
                },
            },
        },
    })
}

struct Writer<'a> {
    tokens: &'a Tokens,
    reach: Reach,
    read: SchemaGenerator,
    written: SchemaGenerator,
}

impl<'a> Writer<'a> {
    fn new(tokens: &'a Tokens, reach: Reach) -> Self {
        let generator = |contract| {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = SCHEMAS.into();
                settings.meta_schema = None;
                settings.contract = contract;
            });
            settings.into_generator()
        };
        Self {
            tokens,
            reach,
            read: generator(Contract::Deserialize),
            written: generator(Contract::Serialize),
        }
    }

    fn schemas(mut self) -> Map<String, Value> {
        let mut schemas = self.read.take_definitions(true);
        schemas.extend(self.written.take_definitions(true));
        schemas.sort_keys();
        schemas
    }

    fn operations(&mut self, route: &Route) -> Vec<(&'static str, Value)> {
        let doc = &route.doc;
        match route.method {
            Verb::Get => vec![("get", self.operation(route, doc.id))],
            Verb::Post => vec![("post", self.operation(route, doc.id))],
            Verb::Put => vec![("put", self.operation(route, doc.id))],
            Verb::Delete => vec![("delete", self.operation(route, doc.id))],
            Verb::Any => METHODS
                .into_iter()
                .map(|method| {
                    (
                        method,
                        self.operation(route, &format!("{}_{method}", doc.id)),
                    )
                })
                .collect(),
        }
    }

    fn operation(&mut self, route: &Route, id: &str) -> Value {
        let Doc {
            summary,
            parameters,
            body,
            ..
        } = &route.doc;
        let parameters: Vec<Value> = parameters.iter().map(|it| self.parameter(it)).collect();
        let mut operation = json!({
            "operationId": id,
            "summary": summary,
            "responses": self.responses(route),
        });
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(body) = body {
            operation["requestBody"] = json!({
                "required": true,
                "description": format!("At most {} bytes.", body.most_bytes),
                "content": { Media::Json.name(): { "schema": (body.shape)(&mut self.read) } },
            });
        }
        if self.tokens.ask_for(route.access) {
            operation["security"] = match route.access {
                Access::Admin => json!([{ "admin_token": [] }]),
                _ => json!([{ "token": [] }, { "admin_token": [] }]),
            };
        }
        operation
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        json!({
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.is_needed,
            "description": parameter.what,
            "schema": (parameter.shape)(&mut self.read),
        })
    }

    fn responses(&mut self, route: &Route) -> Value {
        let mut responses = Map::new();
        for answer in &route.doc.answers {
            let written = self.answer(answer);
            let status = answer.status.to_string();
            match responses.get_mut(&status) {
                // Another way to answer with that status.
                Some(before) => merge(before, &written),
                None => drop(responses.insert(status, written)),
            }
        }
        for (status, what) in self.refusals(route) {
            let refusal = self.answer(&Answer {
                status,
                what,
                content: Some((Media::Problem, shape::<ProblemDocument>)),
                fields: if status == 401 {
                    &["www-authenticate"]
                } else {
                    &[]
                },
            });
            match responses.get_mut(&status.to_string()) {
                Some(before) => merge(before, &refusal),
                None => drop(responses.insert(status.to_string(), refusal)),
            }
        }
        Value::Object(responses)
    }

    /// The refusals that a route has for what it is.
    fn refusals(&self, route: &Route) -> Vec<(u16, &'static str)> {
        let mut refusals = Vec::new();
        let is_forward_auth = route.method == Verb::Any;
        if route.method.has_body() {
            refusals.extend([
                (400, "Not a call that can be carried out."),
                (408, "The body did not come in time."),
                (413, "The body is too long."),
                (415, "The body is not said to be JSON."),
            ]);
        }
        let asks = self.tokens.ask_for(route.access);
        if asks {
            refusals.push((401, "No token that is known here."));
        }
        let guards = self.reach == Reach::Loopback || route.method != Verb::Get;
        if !is_forward_auth && (guards || (asks && route.access == Access::Admin)) {
            refusals.push((
                403,
                "Not for this caller: another host, another origin, another token.",
            ));
        }
        refusals
    }

    fn answer(&mut self, answer: &Answer) -> Value {
        let mut written = json!({ "description": answer.what });
        if let Some((media, shape)) = answer.content {
            written["content"] = json!({ media.name(): { "schema": shape(&mut self.written) } });
        }
        for field in answer.fields {
            written["headers"][field] = json!({ "schema": { "type": "string" } });
        }
        written
    }
}

/// What a status is answered with in one way or another.
fn merge(before: &mut Value, more: &Value) {
    for part in ["content", "headers"] {
        for (name, value) in more[part].as_object().into_iter().flatten() {
            before[part][name] = value.clone();
        }
    }
}
