//! Charges that an event names.

use jeton::policy::NamedKeyError;
use jeton::{ChargeError, Deciding, Gate, NamedCharge};
use smallvec::SmallVec;

use crate::engine::event::{Charge, Subject};
use crate::engine::fields::Text;
use crate::engine::input::InputError;

/// Hands the charges that an event names to `ask`, and says of which one it complains.
pub(super) fn named(
    gate: &Gate,
    subject: &Subject<'_>,
    ask: impl FnOnce(&[NamedCharge<'_>]) -> Result<Deciding, ChargeError>,
) -> Result<Deciding, InputError> {
    let (charges, is_one) = match subject {
        Subject::One(charge) => (std::slice::from_ref(charge), true),
        Subject::Several(charges) => (charges.as_slice(), false),
        Subject::Request(..) => (&[][..], false),
    };
    let member = |index: usize, member: &str| {
        if is_one {
            member.to_owned()
        } else {
            format!("charges[{index}].{member}")
        }
    };
    let keys: SmallVec<[_; 2]> = charges.iter().map(Charge::parts).collect();
    let mut named: SmallVec<[NamedCharge<'_>; 2]> = SmallVec::new();
    for (index, (charge, key)) in charges.iter().zip(&keys).enumerate() {
        named.push(read(charge, key).map_err(|error| InputError {
            field: member(index, &error.field),
            ..error
        })?);
    }
    ask(&named).map_err(|error| located(gate, charges, &error, member))
}

fn read<'a>(charge: &'a Charge<'_>, key: &'a [&'a str]) -> Result<NamedCharge<'a>, InputError> {
    let mut named = NamedCharge::new(charge.rule.as_str(), key);
    named.cost = charge.cost;
    named.plan = charge.plan.as_ref().map(Text::as_str);
    if let Some(receipt) = &charge.receipt {
        let receipt = receipt.as_str().parse();
        let receipt = receipt.map_err(|_| InputError::new("receipt", "is none of ours"))?;
        named = named.receipt(receipt);
    }
    Ok(named)
}

fn located(
    gate: &Gate,
    charges: &[Charge<'_>],
    error: &ChargeError,
    member: impl Fn(usize, &str) -> String,
) -> InputError {
    let charge = error.index().and_then(|index| charges.get(index));
    let (name, what) = match error {
        ChargeError::UnknownRule { .. } => ("rule", None),
        ChargeError::Key { error, .. } => {
            let wanted = charge.and_then(|charge| wanted_key(gate, charge.rule.as_str(), *error));
            ("key", wanted)
        }
        ChargeError::UnknownPlan { .. } | ChargeError::TwoPlans { .. } => ("plan", None),
        ChargeError::Receipt { .. } => ("receipt", None),
        ChargeError::NeedsHold { rule, .. } => {
            let what = format!(
                "{rule} limits how much is in flight: use `reserve`, and `cancel` when it is over"
            );
            ("rule", Some(what))
        }
        _ => return InputError::new("charges", error.to_string()),
    };
    let field = error
        .index()
        .map_or_else(|| "charges".to_owned(), |index| member(index, name));
    InputError::new(field, what.unwrap_or_else(|| error.to_string()))
}

/// What is wrong with a key, and what its rule counts by.
pub(super) fn wanted_key(gate: &Gate, rule: &str, error: NamedKeyError) -> Option<String> {
    let policy = gate.policy();
    let (_, compiled) = policy.rule(rule)?;
    let parts: Vec<String> = compiled
        .rule()
        .key
        .iter()
        .map(ToString::to_string)
        .collect();
    if parts.is_empty() {
        return None;
    }
    let what = match error {
        NamedKeyError::Parts { given: 0, .. } => "is missing".to_owned(),
        other => other.to_string(),
    };
    Some(format!(
        "{what}; rule {rule} counts by {}",
        parts.join(" and ")
    ))
}
