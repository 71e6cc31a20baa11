//! Calls that take one event: `POST /v1/take` and its like.

use std::time::Instant;

use axum::extract::Request;
use axum::response::Response;
use http::{StatusCode, Uri};
use jeton::wire::problem::Problem;
use jeton::{Disposition, Handle};

use super::body::{MAX_CALL, invalid, problem_of, whole};
use super::{Api, answer};
use crate::engine::{CallAnswer, Event, Failed, InputError, Op, Outcome, step};

/// Carries out a call that asks for `op`.
pub(super) async fn call(api: Api, op: Op, request: Request) -> Response {
    answer(&api, op, request)
        .await
        .unwrap_or_else(|refusal| refusal)
}

async fn answer(api: &Api, op: Op, request: Request) -> Result<Response, Response> {
    let denial = denial_status(op, request.uri()).map_err(|error| invalid(&error))?;
    let body = whole(request.into_body(), MAX_CALL).await?;
    let asked = Instant::now();
    let event = Event::from_body(&body, op).map_err(|error| invalid(&error))?;
    let outcome = step(&api.0.gate, &event, &reservation).await;
    let outcome = outcome.map_err(|failed| answer::problem(&problem_of(&with_a_list(failed))))?;
    if outcome.answered().is_some() {
        api.0.metrics.decided(asked);
    }
    if let Outcome::Unknown = outcome {
        return Err(answer::problem(&unknown()));
    }
    Ok(respond(&outcome, denial))
}

/// The reservation that a text stands for. What is none of ours is as little known as what is over.
#[allow(
    clippy::unnecessary_wraps,
    reason = "a trace refuses names that it does not know"
)]
pub(super) fn reservation(text: &str) -> Result<Option<Handle>, InputError> {
    Ok(text.parse().ok())
}

/// A handle that stands for nothing.
pub(super) fn unknown() -> Problem<'static> {
    let detail = "`handle`: there is no such reservation: never made, expired, or forgotten by its \
                  store.";
    Problem::new(StatusCode::NOT_FOUND.as_u16(), detail).with_field("handle")
}

fn respond(outcome: &Outcome, denial: Option<StatusCode>) -> Response {
    let mut response = answer::json(&CallAnswer::of(outcome));
    if let Some(status) = denial
        && let Some(answered) = outcome.answered()
        && let Some(refusal) = answered.refusal()
    {
        // A 429 always means a limit: what no store decided is no denial.
        let is_degraded = matches!(answered.disposition(), Disposition::Degraded { .. });
        let outage = is_degraded.then_some(StatusCode::SERVICE_UNAVAILABLE);
        *response.status_mut() = outage.unwrap_or(status);
        refusal.write_fields(response.headers_mut());
    }
    response
}

/// The status of a denial: `?deny=429`, or that of every other answer.
fn denial_status(op: Op, uri: &Uri) -> Result<Option<StatusCode>, InputError> {
    let decides = matches!(op, Op::Take | Op::Check | Op::Reserve);
    match uri.query() {
        None | Some("") => Ok(None),
        Some("deny=429") if decides => Ok(Some(StatusCode::TOO_MANY_REQUESTS)),
        Some(query) => {
            let name = query.split(['=', '&']).next().unwrap_or_default();
            let what = if decides {
                "the only parameter is `deny=429`"
            } else {
                "there are no parameters here"
            };
            Err(InputError::new(name, what))
        }
    }
}

/// Whoever names no rule that there is can be told where they are.
pub(super) fn with_a_list(mut failed: Failed) -> Failed {
    if let Failed::Input(error) = &mut failed
        && error.field.ends_with("rule")
        && error.what.starts_with("no rule")
    {
        let joint = if error.what.ends_with('?') { "" } else { ";" };
        error.what.push_str(joint);
        error.what.push_str(" GET /v1/rules lists them");
    }
    failed
}
