//! One event through the gate.

use jeton::{ChargeError, Deciding, Gate, NamedCharge};
use smallvec::SmallVec;

use super::event::{Charge, Event, Subject};
use super::input::InputError;

/// Carries an event out.
///
/// # Errors
/// [`InputError`] if the policy has no such rule or the key does not fit it; nothing was charged.
pub fn step(gate: &Gate, event: &Event<'_>) -> Result<Deciding, InputError> {
    match &event.subject {
        Subject::Request(request, cost) => Ok(gate.decide(&**request, event.verb, *cost)),
        Subject::One(charge) => charge_all(gate, event, std::slice::from_ref(charge))
            .map_err(|error| located(&error, |_, member| member.to_owned())),
        Subject::Several(charges) => charge_all(gate, event, charges)
            .map_err(|error| located(&error, |index, member| format!("charges[{index}].{member}"))),
    }
}

fn charge_all(
    gate: &Gate,
    event: &Event<'_>,
    charges: &[Charge<'_>],
) -> Result<Deciding, ChargeError> {
    let keys: SmallVec<[_; 2]> = charges.iter().map(Charge::parts).collect();
    let named: SmallVec<[NamedCharge<'_>; 2]> = charges
        .iter()
        .zip(&keys)
        .map(|(charge, key)| NamedCharge {
            rule: charge.rule.as_str(),
            key,
            cost: charge.cost,
        })
        .collect();
    gate.charge(event.verb, &named)
}

fn located(error: &ChargeError, member: impl Fn(usize, &str) -> String) -> InputError {
    let field = match error {
        ChargeError::UnknownRule { index, .. } => member(*index, "rule"),
        ChargeError::Key { index, .. } => member(*index, "key"),
        _ => "charges".to_owned(),
    };
    InputError::new(field, error.to_string())
}
