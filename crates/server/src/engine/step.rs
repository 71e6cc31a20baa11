//! One event through the gate.

use jeton::policy::NamedKeyError;
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
        Subject::Request(request, cost) => Ok(gate.decide(&**request, event.verb, Some(*cost))),
        Subject::One(charge) => {
            let charges = std::slice::from_ref(charge);
            charge_all(gate, event, charges)
                .map_err(|error| located(gate, charges, &error, |_, member| member.to_owned()))
        }
        Subject::Several(charges) => charge_all(gate, event, charges).map_err(|error| {
            let member = |index, member: &str| format!("charges[{index}].{member}");
            located(gate, charges, &error, member)
        }),
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
        .map(|(charge, key)| NamedCharge::new(charge.rule.as_str(), key).cost(charge.cost))
        .collect();
    gate.charge(event.verb, &named)
}

fn located(
    gate: &Gate,
    charges: &[Charge<'_>],
    error: &ChargeError,
    member: impl Fn(usize, &str) -> String,
) -> InputError {
    match error {
        ChargeError::UnknownRule { index, .. } => {
            InputError::new(member(*index, "rule"), error.to_string())
        }
        ChargeError::Key { index, error } => {
            let what = charges
                .get(*index)
                .and_then(|charge| wanted_key(gate, charge, *error));
            InputError::new(
                member(*index, "key"),
                what.unwrap_or_else(|| error.to_string()),
            )
        }
        _ => InputError::new("charges", error.to_string()),
    }
}

/// What is wrong with the key of a charge, and what the rule counts by.
fn wanted_key(gate: &Gate, charge: &Charge<'_>, error: NamedKeyError) -> Option<String> {
    let policy = gate.policy();
    let name = charge.rule.as_str();
    let (_, rule) = policy.rule(name)?;
    let parts: Vec<String> = rule.rule().key.iter().map(ToString::to_string).collect();
    if parts.is_empty() {
        return None;
    }
    let what = match error {
        NamedKeyError::Parts { given: 0, .. } => "is missing".to_owned(),
        other => other.to_string(),
    };
    Some(format!(
        "{what}; rule {name} counts by {}",
        parts.join(" and ")
    ))
}
