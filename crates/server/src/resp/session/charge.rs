//! The commands that are decided by the gate.

use std::str::from_utf8;

use jeton::policy::{BROUGHT, NamedKeyError};
use jeton::{Brought, ChargeError, Cost, NamedCharge, Verb};
use smallvec::SmallVec;

use super::super::answer::Form;
use super::super::commands::{Entry, Name};
use super::super::protocol::natural;
use super::super::throttle::{self, Dialect};
use super::{House, Session, Turn};

impl Session {
    /// Adds one to the batch, or answers why not.
    #[inline]
    pub(super) fn charge(
        &mut self,
        entry: &Entry,
        arguments: &[&[u8]],
        house: &House,
        turn: &mut Turn,
    ) {
        let verb = match entry.name {
            Name::Check => Verb::Check,
            Name::Refund => Verb::Refund,
            Name::Reset => Verb::Reset,
            Name::ClThrottle => return self.throttle(Dialect::Cell, entry, arguments, house, turn),
            Name::Throttle => return self.throttle(Dialect::Crab, entry, arguments, house, turn),
            _ => Verb::Take,
        };
        if let Err(what) = named(verb, arguments, house, turn) {
            self.say(turn, |out| {
                out.error("ERR", format!("{}: {what}", entry.word));
            });
        }
    }

    #[inline]
    fn throttle(
        &mut self,
        dialect: Dialect,
        entry: &Entry,
        arguments: &[&[u8]],
        house: &House,
        turn: &mut Turn,
    ) {
        let [key, max_burst, count, period, quantity @ ..] = arguments else {
            return;
        };
        let quota = throttle::quota(dialect, [max_burst, count, period], &mut self.latest);
        let cost = throttle::quantity(quantity.first().copied());
        match (quota, cost) {
            (Ok(quota), Ok(cost)) => {
                let limit = quota.limit();
                let charge = Brought { key, quota, cost };
                turn.batch(house).brought(Verb::Take, &charge);
                turn.answers.decision(Form::Brought { dialect, limit });
            }
            (Err(refused), _) | (_, Err(refused)) => {
                self.say(turn, |out| {
                    out.error("ERR", format!("{}: {refused}", entry.word));
                });
            }
        }
    }
}

/// Adds `rule key [cost [part ...]]` to the batch, or tells what is wrong with it.
fn named(verb: Verb, arguments: &[&[u8]], house: &House, turn: &mut Turn) -> Result<(), String> {
    let [rule, key, rest @ ..] = arguments else {
        return Err("rule and key are needed".to_owned());
    };
    let (cost, parts) = match rest.split_first() {
        Some((cost, parts)) if verb != Verb::Reset => (Some(units(cost)?), parts),
        _ => (None, rest),
    };
    if *rule == BROUGHT.as_bytes() {
        return match parts {
            [] => forget(verb, key, house, turn),
            _ => Err(format!("the key of {BROUGHT:?} is one text")),
        };
    }
    let key = [*key].into_iter().chain(parts.iter().copied()).map(text);
    let key: SmallVec<[&str; 4]> = key.collect::<Result<_, _>>()?;
    let mut charge = NamedCharge::new(text(rule)?, &key);
    charge.cost = cost;
    let added = turn.batch(house).named(verb, charge);
    added.map_err(|error| match error {
        ChargeError::Key {
            error: NamedKeyError::Parts { given, wanted },
            ..
        } => other_parts(given, wanted, verb),
        error => error.to_string(),
    })?;
    turn.answers.decision(Form::Own);
    Ok(())
}

/// What was used under quotas that callers bring can be forgotten without knowing them.
fn forget(verb: Verb, key: &[u8], house: &House, turn: &mut Turn) -> Result<(), String> {
    if verb != Verb::Reset {
        return Err(format!(
            "{BROUGHT:?} is the rule of CL.THROTTLE and THROTTLE, which bring its quota: use those"
        ));
    }
    let quota = throttle::any().map_err(|refused| refused.to_string())?;
    let cost = Cost::ZERO;
    turn.batch(house)
        .brought(verb, &Brought { key, quota, cost });
    turn.answers.decision(Form::Forgotten);
    Ok(())
}

fn other_parts(given: usize, wanted: usize, verb: Verb) -> String {
    let plural = if wanted == 1 { "" } else { "s" };
    let mut what = format!("the key of this rule has {wanted} part{plural}, not {given}");
    if wanted > 1 {
        let cost = if verb == Verb::Reset { "" } else { "cost " };
        // Texts are written in the place of all but the first.
        let rest = vec!["part"; wanted - 1].join(" ");
        what = format!("{what}; write: rule part {cost}{rest}");
    }
    what
}

fn units(text: &[u8]) -> Result<Cost, String> {
    let units = natural(text).map(Cost::new);
    units.ok_or_else(|| "cost must be a whole number of units, from 0 up".to_owned())
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    from_utf8(bytes).map_err(|_| "rules and their keys are text in UTF-8".to_owned())
}
