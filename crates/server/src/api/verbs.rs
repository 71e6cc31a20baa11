//! `POST /v1/take` and `POST /v1/check`.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jeton::wire::problem::Problem;
use jeton::{Answered, Verb};

use super::{Api, answer};
use crate::engine::{Event, InputError, Line, step};

/// The longest body that is read, in bytes.
const MAX_BODY: usize = 64 << 10;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

pub(super) async fn take(State(api): State<Api>, request: Request) -> Response {
    answer(&api, Verb::Take, request)
        .await
        .unwrap_or_else(|refusal| refusal)
}

pub(super) async fn check(State(api): State<Api>, request: Request) -> Response {
    answer(&api, Verb::Check, request)
        .await
        .unwrap_or_else(|refusal| refusal)
}

async fn answer(api: &Api, verb: Verb, request: Request) -> Result<Response, Response> {
    let denial = denial_status(request.uri()).map_err(|error| invalid(&error))?;
    let body = whole(request.into_body()).await?;
    let asked = Instant::now();
    let event = Event::from_body(&body, verb).map_err(|error| invalid(&error))?;
    let answered = step(&api.0.gate, &event)
        .map_err(|error| invalid(&with_a_list(error)))?
        .wait()
        .await;
    api.0.metrics.decided(asked, &answered);
    Ok(respond(&answered, denial))
}

fn respond(answered: &Answered, denial: Option<StatusCode>) -> Response {
    let mut response = answer::json(&Line::of_call(answered));
    if let Some(status) = denial
        && let Some(refusal) = answered.refusal()
    {
        *response.status_mut() = status;
        refusal.write_fields(response.headers_mut());
    }
    response
}

/// The status of a denial: `?deny=429`, or that of every other answer.
fn denial_status(uri: &Uri) -> Result<Option<StatusCode>, InputError> {
    match uri.query() {
        None | Some("") => Ok(None),
        Some("deny=429") => Ok(Some(StatusCode::TOO_MANY_REQUESTS)),
        Some(query) => {
            let name = query.split(['=', '&']).next().unwrap_or_default();
            let what = "the only parameter is `deny=429`".to_owned();
            Err(InputError {
                field: name.to_owned(),
                what,
            })
        }
    }
}

async fn whole(body: Body) -> Result<Bytes, Response> {
    let reading = tokio::time::timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect());
    match reading.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(answer::problem(
            &Problem::content_too_large(MAX_BODY as u64),
        )),
        Ok(Err(_)) => Err(answer::problem(&Problem::bad_request(
            "The body broke off.",
        ))),
        Err(_) => Err(answer::problem(&Problem::request_timeout())),
    }
}

/// Whoever names no rule that there is can be told where they are.
fn with_a_list(mut error: InputError) -> InputError {
    if error.field.ends_with("rule") {
        let joint = if error.what.ends_with('?') { "" } else { ";" };
        error.what.push_str(joint);
        error.what.push_str(" GET /v1/rules lists them");
    }
    error
}

fn invalid(error: &InputError) -> Response {
    let detail = error.to_string();
    if error.field.is_empty() {
        answer::problem(&Problem::bad_request(detail))
    } else {
        answer::problem(&Problem::invalid_field(error.field.as_str(), detail))
    }
}
