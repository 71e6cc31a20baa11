//! What operators set while a policy runs, and see: overrides, modes, blocks.

mod shown;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::StatusCode;
use jeton::OrderError;
use jeton::policy::Mode;
use jeton::wire::problem::Problem;

use super::body::{MAX_CALL, invalid, problem_of, whole};
use super::{Api, answer};
use crate::engine::orders::{read_mode, read_override, setting_in};
use crate::engine::{Failed, InputError, refused};
pub(super) use shown::{Blocks, Modes, OverrideInForce, Overrides, RuleMode};

/// The rule and the key of a path.
pub(super) type OfKey = Result<Path<(String, String)>, PathRejection>;

/// The rule of a path.
pub(super) type OfRule = Result<Path<String>, PathRejection>;

/// `GET /v1/blocks`.
pub(super) async fn blocks(State(api): State<Api>) -> Response {
    answer::json(&Blocks::of(&api.0.gate))
}

/// `GET /v1/overrides`.
pub(super) async fn overrides(State(api): State<Api>) -> Response {
    answer::json(&Overrides::of(&api.0.gate))
}

/// `GET /v1/modes`.
pub(super) async fn modes(State(api): State<Api>) -> Response {
    answer::json(&Modes::of(&api.0.gate))
}

/// `GET /v1/overrides/{rule}/{key}`.
pub(super) async fn see_override(State(api): State<Api>, of: OfKey) -> Response {
    let see = async {
        let (rule, key) = target(&api, of).map_err(|error| invalid(&error))?;
        let found = api.0.gate.override_of(&rule, &parts(&key));
        found
            .map_err(|error| not_taken(&api, &rule, &error))?
            .and_then(|order| OverrideInForce::of(&api.0.gate, &order))
            .map(|found| answer::json(&found))
            .ok_or_else(|| missing("There is no override of this key."))
    };
    see.await.unwrap_or_else(|refusal| refusal)
}

/// `PUT /v1/overrides/{rule}/{key}`.
pub(super) async fn put_override(State(api): State<Api>, of: OfKey, request: Request) -> Response {
    let put = async {
        let (rule, key) = target(&api, of).map_err(|error| invalid(&error))?;
        let body = whole(request.into_body(), MAX_CALL).await?;
        let (settings, lasting) = read_override(&body).map_err(|error| invalid(&error))?;
        let (gate, parts) = (&api.0.gate, parts(&key));
        let set = gate.set_override(&rule, &parts, settings, lasting).await;
        set.map_err(|error| not_taken(&api, &rule, &error))?;
        let found = gate.override_of(&rule, &parts);
        let found = found.map_err(|error| not_taken(&api, &rule, &error))?;
        let found = found.and_then(|order| OverrideInForce::of(gate, &order));
        found
            .map(|found| answer::json(&found))
            .ok_or_else(|| missing("The override is over already."))
    };
    put.await.unwrap_or_else(|refusal| refusal)
}

/// `DELETE /v1/overrides/{rule}/{key}`.
pub(super) async fn lift_override(State(api): State<Api>, of: OfKey) -> Response {
    let lift = async {
        let (rule, key) = target(&api, of).map_err(|error| invalid(&error))?;
        let lifted = api.0.gate.lift_override(&rule, &parts(&key)).await;
        if lifted.map_err(|error| not_taken(&api, &rule, &error))? {
            Ok(empty())
        } else {
            Err(missing("There is no override of this key."))
        }
    };
    lift.await.unwrap_or_else(|refusal| refusal)
}

/// `PUT /v1/modes/{rule}`.
pub(super) async fn put_mode(State(api): State<Api>, of: OfRule, request: Request) -> Response {
    let put = async {
        let Path(rule) = of.map_err(|error| invalid(&unreadable(&error)))?;
        let body = whole(request.into_body(), MAX_CALL).await?;
        let mode = read_mode(&body).map_err(|error| invalid(&error))?;
        set_mode(&api, &rule, Some(mode)).await?;
        let shown = RuleMode::of(&api.0.gate, &rule, mode);
        Ok(answer::json(&shown))
    };
    put.await.unwrap_or_else(|refusal| refusal)
}

/// `DELETE /v1/modes/{rule}`.
pub(super) async fn lift_mode(State(api): State<Api>, of: OfRule) -> Response {
    let lift = async {
        let Path(rule) = of.map_err(|error| invalid(&unreadable(&error)))?;
        if set_mode(&api, &rule, None).await? {
            Ok(empty())
        } else {
            Err(missing("The rule is in the mode of the policy."))
        }
    };
    lift.await.unwrap_or_else(|refusal| refusal)
}

async fn set_mode(api: &Api, rule: &str, mode: Option<Mode>) -> Result<bool, Response> {
    let set = api.0.gate.set_mode(rule, mode).await;
    set.map_err(|error| not_taken(api, rule, &error))
}

/// Rule and key of a path. A JSON array of texts is a text for each part, of which the gate asks
/// whether they are as many as the rule has; any other text is a key of one part.
fn target(api: &Api, of: OfKey) -> Result<(String, Vec<String>), InputError> {
    let Path((rule, key)) = of.map_err(|error| unreadable(&error))?;
    let policy = api.0.gate.policy();
    if let Ok(parts) = serde_json::from_str(&key) {
        return Ok((rule, parts));
    }
    let parts = policy
        .rule(&rule)
        .map_or(1, |(_, rule)| rule.rule().key.len());
    if parts <= 1 {
        return Ok((rule, vec![key]));
    }
    let what = format!(
        "rule {rule} counts by {parts} parts; write a JSON array of {parts} texts, percent-encoded"
    );
    Err(InputError::new("key", what))
}

fn parts(key: &[String]) -> Vec<&str> {
    key.iter().map(String::as_str).collect()
}

fn unreadable(error: &PathRejection) -> InputError {
    InputError::new("", error.body_text())
}

fn missing(detail: &str) -> Response {
    answer::problem_of(StatusCode::NOT_FOUND, detail)
}

fn empty() -> Response {
    let mut response = answer::respond(StatusCode::NO_CONTENT, "", axum::body::Body::empty());
    response.headers_mut().remove(http::header::CONTENT_TYPE);
    response
}

/// Why an order was not taken: a rule that is not there is a path that is not there.
fn not_taken(api: &Api, rule: &str, error: &OrderError) -> Response {
    let is_unknown = matches!(error, OrderError::UnknownRule { .. });
    let failed = match refused(&api.0.gate, rule, error) {
        Failed::Input(error) if error.field.is_empty() => {
            InputError::new(setting_in(&error.what), error.what).into()
        }
        other => other,
    };
    if let (true, Failed::Input(error)) = (is_unknown, &failed) {
        let status = StatusCode::NOT_FOUND.as_u16();
        let problem = Problem::new(status, error.to_string()).with_field(error.field.as_str());
        return answer::problem(&problem);
    }
    answer::problem(&problem_of(&failed))
}
