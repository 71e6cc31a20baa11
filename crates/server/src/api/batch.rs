//! `POST /v1/batch`: many calls in one, each by itself.

mod outgoing;

use std::borrow::Cow;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use jeton::wire::problem::{Format, Problem};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::value::RawValue;

use super::access::IsOperator;
use super::body::{MAX_BATCH, invalid, problem_of, whole};
use super::decide::{reservation, unknown, with_a_list};
use super::{Api, answer};
use crate::engine::{CallAnswer, Event, Failed, InputError, Op, Outcome, bodies, step};
use outgoing::Outgoing;

/// The most calls of one batch.
const MAX_CALLS: usize = 1000;

/// Carries out every call, in order. One that is wrong has a problem for an answer, and the others
/// go on.
pub(super) async fn batch(State(api): State<Api>, request: Request) -> Response {
    carry_out(&api, request)
        .await
        .unwrap_or_else(|refusal| refusal)
}

async fn carry_out(api: &Api, request: Request) -> Result<Response, Response> {
    if request.uri().query().is_some_and(|query| !query.is_empty()) {
        return Err(invalid(&InputError::new(
            "",
            "there are no parameters here",
        )));
    }
    let is_operator = request.extensions().get() == Some(&IsOperator(true));
    let body = whole(request.into_body(), MAX_BATCH).await?;
    let calls = calls(&body).map_err(|error| invalid(&error))?;
    let outcomes = one_by_one(api, &calls, is_operator).await;
    let answers: Vec<Answer<'_>> = outcomes.iter().map(Answer::of).collect();
    Ok(answer::json(&answers))
}

fn calls(body: &[u8]) -> Result<Vec<&RawValue>, InputError> {
    let calls: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| {
        let what = format!(
            "must be a JSON array of calls such as {{\"op\":\"take\",\"rule\":\"api\"}}: {error}"
        );
        InputError::new("", what)
    })?;
    match calls.len() {
        0 => Err(InputError::new(
            "",
            "the batch is empty; write at least one call",
        )),
        1..=MAX_CALLS => Ok(calls),
        many => {
            let what = format!("{many} calls in one batch; at most {MAX_CALLS} can be");
            Err(InputError::new("", what))
        }
    }
}

/// What became of one call: an outcome, or the text of a problem.
type Became = Result<Outcome, Box<RawValue>>;

/// Carries calls out in their order, without waiting for one before the next is sent. What operators
/// order stands between those before and those after it.
async fn one_by_one(api: &Api, calls: &[&RawValue], is_operator: bool) -> Vec<Became> {
    let mut outgoing = Outgoing::with_capacity(calls.len());
    for call in calls {
        let event = read(call, is_operator);
        let is_order = event
            .as_ref()
            .is_ok_and(|event| event.op().is_for_operators());
        if is_order {
            outgoing.land().await;
        }
        outgoing.send(one(api, event)).await;
        if is_order {
            outgoing.land().await;
        }
    }
    outgoing.landed().await
}

fn read(call: &RawValue, is_operator: bool) -> Result<Event<'_>, Box<RawValue>> {
    let event = Event::from_entry(call.get().as_bytes());
    let event = event.map_err(|error| refused(&error.into()))?;
    if event.op().is_for_operators() && !is_operator {
        let detail = "This is for operators: send the admin token.";
        let status = StatusCode::FORBIDDEN.as_u16();
        return Err(raw(&Problem::new(status, detail).with_field("op")));
    }
    Ok(event)
}

async fn one(api: &Api, event: Result<Event<'_>, Box<RawValue>>) -> Became {
    let asked = Instant::now();
    let outcome = step(&api.0.gate, &event?, &reservation).await;
    let outcome = outcome.map_err(|failed| refused(&with_a_list(failed)))?;
    if outcome.answered().is_some() {
        api.0.metrics.decided(asked);
    }
    match outcome {
        Outcome::Unknown => Err(raw(&unknown())),
        outcome => Ok(outcome),
    }
}

fn refused(failed: &Failed) -> Box<RawValue> {
    raw(&problem_of(failed))
}

fn raw(problem: &Problem<'_>) -> Box<RawValue> {
    // What `wire` writes is JSON.
    RawValue::from_string(problem.body(Format::Json)).unwrap_or_default()
}

/// What became of one call.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Carried(CallAnswer<'a>),
    Problem(&'a RawValue),
}

impl<'a> Answer<'a> {
    fn of(outcome: &'a Became) -> Self {
        match outcome {
            Ok(outcome) => Self::Carried(CallAnswer::of(outcome)),
            Err(problem) => Self::Problem(problem),
        }
    }
}

/// The body of a batch, as a schema: each call is the body of its op, and says which.
pub(super) struct Calls;

impl JsonSchema for Calls {
    fn schema_name() -> Cow<'static, str> {
        "Batch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let calls: Vec<Schema> = Op::ALL
            .iter()
            .map(|(op, name)| entry(*op, name, generator))
            .collect();
        json_schema!({
            "description": "Calls that are carried out in order, each by itself.",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_CALLS,
            "items": { "anyOf": calls },
        })
    }
}

/// The schema of a body that also says its op.
fn entry(op: Op, name: &str, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = match op {
        Op::Take => bodies::Take::json_schema(generator),
        Op::Check => bodies::Check::json_schema(generator),
        Op::Refund => bodies::Refund::json_schema(generator),
        Op::Reset => bodies::Reset::json_schema(generator),
        Op::Reserve => bodies::Reserve::json_schema(generator),
        Op::Extend => bodies::Extend::json_schema(generator),
        Op::Commit => bodies::Commit::json_schema(generator),
        Op::Cancel => bodies::Cancel::json_schema(generator),
        Op::Block => bodies::Block::json_schema(generator),
        Op::Unblock => bodies::Unblock::json_schema(generator),
    };
    if let Some(properties) = schema
        .get_mut("properties")
        .and_then(|it| it.as_object_mut())
    {
        properties.insert("op".to_owned(), serde_json::json!({ "const": name }));
    }
    if op != Op::default() {
        let object = schema.ensure_object();
        let required = object
            .entry("required")
            .or_insert_with(|| serde_json::json!([]));
        if let Some(required) = required.as_array_mut() {
            required.push("op".into());
        }
    }
    schema
}

/// The answers to a batch, as a schema.
pub(super) struct Answers;

impl JsonSchema for Answers {
    fn schema_name() -> Cow<'static, str> {
        "BatchAnswer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let answer = generator.subschema_for::<CallAnswer<'_>>();
        let problem = generator.subschema_for::<answer::ProblemDocument>();
        json_schema!({
            "description": "An answer or a problem for each call, in their order.",
            "type": "array",
            "items": { "anyOf": [answer, problem] },
        })
    }
}
