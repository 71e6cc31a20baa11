//! The gate's answer in the words of each command.

use jeton::{BatchAnswer, Decision, Disposition, Span, StoreErrorKind};

use super::protocol::Writer;
use super::throttle::Dialect;

/// In whose words an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Of a command whose caller brought a quota of so many units at once.
    Brought { dialect: Dialect, limit: u32 },
    /// Of `JETON.…`.
    Own,
    /// Of a reset under a quota that nobody has named.
    Forgotten,
}

/// There is no such number.
const NONE: i64 = -1;
/// The cost is more than ever fits.
const IMPOSSIBLE: i64 = -2;

/// Writes `answer`.
#[inline]
pub(super) fn write(form: Form, answer: &BatchAnswer<'_>, out: &mut Writer<'_>) {
    if let Disposition::Degraded {
        error,
        denied: true,
    } = answer.disposition()
    {
        return unavailable(error, out);
    }
    match form {
        Form::Own => own(answer, out),
        Form::Forgotten => out.five([i64::from(answer.allowed()), NONE, NONE, NONE, 0]),
        Form::Brought { dialect, limit } => brought(dialect, limit, answer, out),
    }
}

/// `[allowed, limit, remaining, retry_after_us, reset_after_us]`.
fn own(answer: &BatchAnswer<'_>, out: &mut Writer<'_>) {
    let retry_after = match answer.retry_after() {
        Some(wait) => micros(wait),
        None if answer.impossible() => IMPOSSIBLE,
        None => NONE,
    };
    let number = |of: fn(&Decision) -> i64| answer.decision().map_or(NONE, of);
    out.five([
        i64::from(answer.allowed()),
        number(|decision| i64::from(decision.limit)),
        number(|decision| i64::from(decision.remaining)),
        retry_after,
        number(|decision| micros(decision.reset_after)),
    ]);
}

/// What the store did not say is 0: these clients expect numbers.
#[inline]
fn brought(dialect: Dialect, limit: u32, answer: &BatchAnswer<'_>, out: &mut Writer<'_>) {
    let (remaining, reset_after) = answer.decision().map_or((0, 0), |decision| {
        (i64::from(decision.remaining), seconds(decision.reset_after))
    });
    let is_allowed = answer.allowed();
    let retry_after = answer.retry_after().map(seconds);
    let limit = i64::from(answer.decision().map_or(limit, |decision| decision.limit));
    out.five(match dialect {
        Dialect::Cell => [
            i64::from(!is_allowed),
            limit,
            remaining,
            retry_after.unwrap_or(NONE),
            reset_after,
        ],
        Dialect::Crab => [
            i64::from(is_allowed),
            limit,
            remaining,
            reset_after,
            retry_after.unwrap_or(if is_allowed { 0 } else { NONE }),
        ],
    });
}

/// No limit denied: nothing that looks like a denial.
#[cold]
fn unavailable(error: StoreErrorKind, out: &mut Writer<'_>) {
    let what = format!("{error}, and on_failure refuses what was asked; try again");
    out.error("UNAVAILABLE", what);
}

/// Whole seconds that suffice.
#[inline]
fn seconds(span: Span) -> i64 {
    i64::try_from(span.as_secs_ceil()).unwrap_or(i64::MAX)
}

fn micros(span: Span) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
