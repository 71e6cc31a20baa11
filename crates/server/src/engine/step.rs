//! One event through the gate.

mod charges;
mod orders;
mod outcome;

use jeton::{Answered, DEFAULT_TTL, Deciding, Disposition, Gate, Handle, Settlement, Span, Verb};

use super::event::{Ask, Event, Subject};
use super::input::InputError;
use super::op::Op;
pub(crate) use orders::refused;
pub use outcome::{Failed, Outcome};

/// What finds the reservation that a text stands for: `None` if there is none any more.
pub type Reservations<'r> = dyn Fn(&str) -> Result<Option<Handle>, InputError> + Sync + 'r;

/// Carries an event out.
///
/// # Errors
/// [`Failed`] if the event cannot be carried out, or if no store did; nothing was changed.
pub async fn step(
    gate: &Gate,
    event: &Event<'_>,
    reservations: &Reservations<'_>,
) -> Result<Outcome, Failed> {
    match &event.ask {
        Ask::Decide {
            op,
            subject,
            receipts,
        } => {
            let deciding = decide(gate, verb(*op), subject)?;
            let answered = vetted(deciding.wait().await)?;
            let corrects = matches!(op, Op::Refund | Op::Reset);
            if corrects {
                stored(&answered)?;
            }
            let receipts = *receipts;
            Ok(Outcome::Decided { answered, receipts })
        }
        Ask::Reserve { subject, ttl, .. } => {
            let ttl = ttl.unwrap_or(DEFAULT_TTL);
            let deciding = match subject {
                Subject::Request(request, cost) => gate.reserve(&**request, *cost, ttl),
                Subject::One(_) | Subject::Several(_) => {
                    charges::named(gate, subject, |named| gate.reserve_charges(named, ttl))?
                }
            };
            let answered = vetted(deciding.wait().await)?;
            Ok(Outcome::Reserved { answered, ttl })
        }
        Ask::Commit { handle, actual } => {
            let settle = |handle: &Handle| (gate.commit(handle, *actual), None);
            settled(reservations(handle.as_str())?, settle).await
        }
        Ask::Cancel { handle } => {
            let settle = |handle: &Handle| (gate.cancel(handle), None);
            settled(reservations(handle.as_str())?, settle).await
        }
        Ask::Extend { handle, ttl } => {
            let settle = |handle: &Handle| {
                let lasting = ttl.unwrap_or(handle.ttl());
                (gate.extend(handle, *ttl), Some(lasting))
            };
            settled(reservations(handle.as_str())?, settle).await
        }
        Ask::Block { of, lasting } => orders::block(gate, of, *lasting).await,
        Ask::Unblock(of) => orders::unblock(gate, of).await,
        Ask::ResetEverywhere(of) => orders::reset(gate, of).await,
    }
}

const fn verb(op: Op) -> Verb {
    match op {
        Op::Check => Verb::Check,
        Op::Refund => Verb::Refund,
        Op::Reset => Verb::Reset,
        _ => Verb::Take,
    }
}

fn decide(gate: &Gate, verb: Verb, subject: &Subject<'_>) -> Result<Deciding, InputError> {
    match subject {
        Subject::Request(request, cost) => Ok(gate.decide(&**request, verb, *cost)),
        Subject::One(_) | Subject::Several(_) => {
            charges::named(gate, subject, |named| gate.charge(verb, named))
        }
    }
}

/// What a request cannot be answered with.
fn vetted(answered: Answered) -> Result<Answered, InputError> {
    let name = |rule: usize| {
        let rule = answered.policy().rules().get(rule);
        rule.map_or("", jeton::policy::CompiledRule::name)
            .to_owned()
    };
    match answered.disposition() {
        Disposition::NeedsHold { rule } => Err(InputError::new(
            "request",
            format!(
                "rule {} limits how much is in flight: reserve, and cancel when it is over",
                name(rule)
            ),
        )),
        Disposition::BadCost { rule } => Err(InputError::new(
            "request.headers",
            format!(
                "the field that tells rule {} the cost says no number",
                name(rule)
            ),
        )),
        _ => Ok(answered),
    }
}

/// What changes nothing but by a store.
fn stored(answered: &Answered) -> Result<(), Failed> {
    match answered.disposition() {
        Disposition::Degraded { error, .. } => Err(Failed::of_store(error, answered.policy())),
        _ => Ok(()),
    }
}

async fn settled(
    handle: Option<Handle>,
    settle: impl FnOnce(&Handle) -> (Deciding, Option<Span>),
) -> Result<Outcome, Failed> {
    let Some(handle) = handle else {
        return Ok(Outcome::Unknown);
    };
    // What it borrows must not be kept while it waits.
    let (deciding, ttl) = settle(&handle);
    let answered = deciding.wait().await;
    stored(&answered)?;
    Ok(match answered.settlement() {
        Some(Settlement::Done) => Outcome::Settled {
            answered,
            repeated: false,
            ttl,
        },
        Some(Settlement::Repeated { .. }) => Outcome::Settled {
            answered,
            repeated: true,
            ttl: None,
        },
        _ => Outcome::Unknown,
    })
}
