//! What operators order: for a key of one rule, or of every rule that has such keys.

use jeton::policy::{KeyPart, Policy};
use jeton::{Gate, NamedCharge, OrderError, Span, Verb};
use smallvec::SmallVec;

use super::charges::wanted_key;
use super::outcome::{Failed, Outcome};
use super::stored;
use crate::engine::event::Counters;
use crate::engine::input::InputError;

/// The most charges of one plan that leave room for the trial of each.
const AT_ONCE: usize = 8;

pub(super) async fn block(
    gate: &Gate,
    of: &Counters<'_>,
    lasting: Option<Span>,
) -> Result<Outcome, Failed> {
    let (rules, key) = (meant(&gate.policy(), of)?, of.parts());
    for rule in &rules {
        let blocked = gate.block(rule, &key, lasting).await;
        blocked.map_err(|error| refused(gate, rule, &error))?;
    }
    let key = shown(gate, &rules, &key);
    Ok(Outcome::Ordered {
        rules,
        key,
        lasting,
    })
}

pub(super) async fn unblock(gate: &Gate, of: &Counters<'_>) -> Result<Outcome, Failed> {
    let (meant, key) = (meant(&gate.policy(), of)?, of.parts());
    let mut rules = Vec::new();
    for rule in &meant {
        let lifted = gate.unblock(rule, &key).await;
        if lifted.map_err(|error| refused(gate, rule, &error))? {
            rules.push(rule.clone());
        }
    }
    Ok(Outcome::Ordered {
        rules,
        key: shown(gate, &meant, &key),
        lasting: None,
    })
}

pub(super) async fn reset(gate: &Gate, of: &Counters<'_>) -> Result<Outcome, Failed> {
    let (rules, key) = (meant(&gate.policy(), of)?, of.parts());
    let mut answers = Vec::new();
    for some in rules.chunks(AT_ONCE) {
        let charges: SmallVec<[NamedCharge<'_>; AT_ONCE]> = some
            .iter()
            .map(|rule| NamedCharge::new(rule, &key))
            .collect();
        let deciding = gate.charge(Verb::Reset, &charges);
        // Rules and keys fit; the policy may have been swapped in between.
        let deciding = deciding.map_err(|error| InputError::new("key", error.to_string()))?;
        drop(charges);
        let answered = deciding.wait().await;
        stored(&answered)?;
        answers.push(answered);
    }
    Ok(Outcome::Reset(answers))
}

/// The rules that are meant: the one that is named, or every one whose key has that many parts.
fn meant(policy: &Policy, of: &Counters<'_>) -> Result<Vec<String>, InputError> {
    if let Some(rule) = &of.rule {
        return Ok(vec![rule.as_str().to_owned()]);
    }
    let parts = of.parts().len();
    let has_such_keys = |key: &[KeyPart]| key.len() == parts && !key.contains(&KeyPart::Global);
    let rules = policy.rules().iter();
    let rules = rules.filter(|rule| has_such_keys(&rule.rule().key));
    let rules: Vec<String> = rules.map(|rule| rule.name().to_owned()).collect();
    if rules.is_empty() {
        let plural = if parts == 1 { "" } else { "s" };
        let what = format!("no rule has keys of {parts} part{plural}; name a `rule`");
        return Err(InputError::new("key", what));
    }
    Ok(rules)
}

/// A key as it may be shown: as a fingerprint, if the keys of any of the rules are secret.
fn shown(gate: &Gate, rules: &[String], key: &[&str]) -> Vec<String> {
    let policy = gate.policy();
    let compiled = rules.iter().filter_map(|rule| Some(policy.rule(rule)?.1));
    let secret_first = compiled.min_by_key(|rule| !rule.rule().secret_key);
    let shown = secret_first.and_then(|rule| {
        let mut bytes = Vec::new();
        rule.named_key(key, &mut bytes).ok()?;
        Some(rule.shown_key(&bytes, gate.fingerprints()))
    });
    shown.unwrap_or_default()
}

/// Why an order about a rule was not taken, by the member that it complains of.
pub(crate) fn refused(gate: &Gate, rule: &str, error: &OrderError) -> Failed {
    let whole = error.to_string();
    let (field, what) = match error {
        OrderError::Store(error) => return Failed::of_store(error.kind, &gate.policy()),
        OrderError::UnknownRule { .. } => ("rule", None),
        OrderError::Key(error) => ("key", wanted_key(gate, rule, *error)),
        OrderError::NoAddress { .. } => ("key", None),
        _ => ("", None),
    };
    InputError::new(field, what.unwrap_or(whole)).into()
}
