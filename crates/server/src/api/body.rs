//! Bodies of calls, read within bounds.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jeton::wire::problem::Problem;

use super::answer;
use crate::engine::{Failed, InputError};

/// The longest body of one call, in bytes.
pub(super) const MAX_CALL: usize = 64 << 10;

/// The longest body of a batch, in bytes.
pub(super) const MAX_BATCH: usize = 1 << 20;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// All of a body of at most `most` bytes.
///
/// # Errors
/// The refusal: it is longer, broke off or did not come.
pub(super) async fn whole(body: Body, most: usize) -> Result<Bytes, Response> {
    let reading = tokio::time::timeout(BODY_TIME, Limited::new(body, most).collect());
    match reading.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(answer::problem(&Problem::content_too_large(most as u64)))
        }
        Ok(Err(_)) => Err(answer::problem(&Problem::bad_request(
            "The body broke off.",
        ))),
        Err(_) => Err(answer::problem(&Problem::request_timeout())),
    }
}

/// What is wrong with a call, as a problem that names the member.
pub(super) fn invalid(error: &InputError) -> Response {
    answer::problem(&wrong(error))
}

/// Why a call was not carried out.
pub(super) fn problem_of(failed: &Failed) -> Problem<'_> {
    match failed {
        Failed::Input(error) => wrong(error),
        Failed::Store { .. } => Problem::new(503, sentence(&failed.to_string())),
    }
}

fn wrong(error: &InputError) -> Problem<'_> {
    let detail = error.to_string();
    if error.field.is_empty() {
        Problem::bad_request(detail)
    } else {
        Problem::invalid_field(error.field.as_str(), detail)
    }
}

/// A message as a sentence of its own.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
