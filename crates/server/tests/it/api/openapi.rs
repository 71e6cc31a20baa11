//! `/openapi.json`: a valid document, of all that is served and nothing else.

use std::collections::BTreeSet;

use http::Method;
use jeton::wire::problem::{Format, Problem};
use jeton_server::api::Reach;
use serde_json::Value;

use super::desk::Desk;

const RULE: &str = "[[rule]]\nname = \"a\"\nkey = \"client-ip\"\nalgorithm = \"gcra\"\nrate = \"1/h\"\n\
                    burst = 1000\n";

/// What the API is to have, by the manual.
const PATHS: [&str; 23] = [
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/v1/auth",
    "/v1/batch",
    "/v1/block",
    "/v1/blocks",
    "/v1/cancel",
    "/v1/check",
    "/v1/commit",
    "/v1/explain",
    "/v1/extend",
    "/v1/modes",
    "/v1/modes/{rule}",
    "/v1/overrides",
    "/v1/overrides/{rule}/{key}",
    "/v1/refund",
    "/v1/reserve",
    "/v1/reset",
    "/v1/rules",
    "/v1/take",
    "/v1/unblock",
];

fn documents() -> Vec<Value> {
    let tokens = "[api]\nlisten = \"127.0.0.1:0\"\ntoken = \"t\"\nadmin_token = \"a\"\n";
    [
        (String::new(), Reach::Loopback),
        (tokens.to_owned(), Reach::Network),
    ]
    .map(|(api, reach)| Desk::reached(&format!("{api}{RULE}"), reach).document)
    .into()
}

#[test]
fn it_is_a_valid_document() {
    for document in documents() {
        let text = document.to_string();
        let read = oas3::from_json(&text).expect("an OpenAPI document");
        assert_eq!(read.openapi, "3.1.0");
        let mut ids = BTreeSet::new();
        for (path, method, operation) in read.operations() {
            let place = format!("{method} {path}");
            let id = operation.operation_id.clone().expect("an id");
            assert!(ids.insert(id), "{place}: an id twice");
            assert!(operation.summary.is_some(), "{place}");
            let responses = operation.responses.as_ref().expect("responses");
            assert!(
                responses.keys().any(|status| status.starts_with('2')),
                "{place}"
            );
            let named = path.matches('{').count();
            let in_path = operation.parameters(&read).expect("parameters").into_iter();
            let in_path = in_path.filter(|it| it.location == oas3::spec::ParameterIn::Path);
            assert_eq!(in_path.count(), named, "{place}");
        }
    }
}

#[test]
fn every_schema_is_one_and_every_reference_leads_somewhere() {
    fn references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    for document in documents() {
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 15, "{found:?}");
        let schemas = document["components"]["schemas"]
            .as_object()
            .expect("schemas");
        for reference in &found {
            let name = reference
                .strip_prefix("#/components/schemas/")
                .expect("a schema");
            assert!(schemas.contains_key(name), "{reference}");
        }
        for (name, schema) in schemas {
            assert!(
                jsonschema::draft202012::meta::is_valid(schema),
                "{name}: {schema}"
            );
            let is_used = found.contains(format!("#/components/schemas/{name}").as_str());
            assert!(is_used, "{name} is used nowhere");
        }
    }
}

#[test]
fn what_is_served_is_described_and_what_is_described_is_served() {
    let methods = ["GET", "POST", "PUT", "DELETE", "PATCH"];
    let desk = Desk::new(RULE);
    let paths = desk.document["paths"].as_object().expect("paths");
    let known: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(known, BTreeSet::from(PATHS));
    for (path, item) in paths {
        let target = path.replace("{rule}", "a").replace("{key}", "k");
        let mut described: BTreeSet<&str> = BTreeSet::new();
        for method in methods {
            let is_described = item.get(method.to_ascii_lowercase()).is_some();
            let answer = desk.call_as(None, method.parse().expect("a method"), &target, "");
            assert_eq!(
                answer.status != 405,
                is_described,
                "{method} {path}: {}",
                answer.text
            );
            let nowhere = answer.text.contains("nothing at this path");
            assert!(!nowhere, "{method} {path}");
            described.extend(is_described.then_some(method));
        }
        if path == "/v1/auth" {
            continue;
        }
        if described.contains("GET") {
            described.insert("HEAD");
        }
        let options = desk.send(Desk::request(Method::OPTIONS, &target));
        let allowed = options.field("allow").expect("what is allowed");
        let allowed: BTreeSet<&str> = allowed.split(',').collect();
        assert_eq!((options.status, allowed), (204, described), "{path}");
    }
    for other in [
        "/",
        "/v1",
        "/v1/",
        "/v2/take",
        "/v1/take/",
        "/openapi",
        "/V1/take",
    ] {
        assert_eq!(desk.get(other).status, 404, "{other}");
    }
}

#[test]
fn what_needs_a_token_says_so() {
    let [open, guarded] = documents().try_into().expect("two documents");
    assert!(!open.to_string().contains("\"security\""));
    let of = |path: &str, method: &str| &guarded["paths"][path][method]["security"];
    assert_eq!(
        of("/v1/take", "post")[1]["admin_token"],
        serde_json::json!([])
    );
    assert_eq!(of("/v1/block", "post").as_array().map(Vec::len), Some(1));
    for (path, method) in [("/healthz", "get"), ("/readyz", "get"), ("/v1/auth", "get")] {
        assert!(of(path, method).is_null(), "{path}");
    }
    for statuses in ["401", "403"] {
        assert!(!guarded["paths"]["/v1/block"]["post"]["responses"][statuses].is_null());
    }
}

#[test]
fn a_problem_has_the_members_that_are_described() {
    let desk = Desk::new(RULE);
    let schema = &desk.document["components"]["schemas"]["Problem"]["properties"];
    let known: BTreeSet<&String> = schema.as_object().expect("properties").keys().collect();
    let refused = desk
        .post("/v1/take", &serde_json::json!({ "rule": "nobody" }))
        .body;
    let field: BTreeSet<&String> = refused.as_object().expect("a problem").keys().collect();
    let denied = Problem::quota_exceeded(&["a"], Some(1)).body(Format::Json);
    let denied: Value = serde_json::from_str(&denied).expect("a problem");
    let limits: BTreeSet<&String> = denied.as_object().expect("a problem").keys().collect();
    assert_eq!(&field | &limits, known);
}
