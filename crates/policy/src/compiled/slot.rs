//! A rule that speaks of a request, with all that the request says to it.

use std::ops::Range;

use jeton_core::Cost;

use super::encode::{push_key, push_word};
use super::policy::CompiledRule;
use crate::key::KeyPart;
use crate::matching::Unmet;
use crate::request::Request;
use crate::rule::{CostSpec, Missing, Mode};
use crate::value::push_header;

/// A rule that speaks of a request.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) rule: usize,
    /// Where its key stands among those of the request.
    pub(super) key: Range<usize>,
    pub(super) terms: TermsOf,
    pub(super) mode: Mode,
    /// `None` if the request names one that is not a number.
    pub(super) cost: Option<Cost>,
    /// Whether no part of the key is missing.
    pub(super) complete: bool,
    /// Whether only some readings of the path match.
    pub(super) in_doubt: bool,
    pub(super) standing: Standing,
}

impl Slot {
    pub(super) fn is_heard(&self) -> bool {
        self.standing == Standing::Heard
    }
}

/// What becomes of a rule that speaks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may deny, and is charged if nothing does.
    Heard,
    /// Without a vote, and counted as one that would have denied: it is not charged.
    WouldDeny,
    /// Another one replaces it.
    Replaced,
}

/// Why a rule does not speak of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Silent<'r> {
    /// A condition of its `match` does not hold.
    Unmet(Unmet<'r>),
    /// This part of its key is missing, the first of perhaps several, and `missing = "skip"`.
    Skipped(&'r KeyPart),
}

/// Whose terms hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermsOf {
    Rule,
    Plan(usize),
    Override,
}

impl CompiledRule {
    /// What a request means to this rule, or why it does not speak of it. Its key is appended to
    /// `keys`.
    pub(super) fn slot(
        &self,
        index: usize,
        request: &Request<'_>,
        keys: &mut Vec<u8>,
    ) -> Result<Slot, Silent<'_>> {
        let rule = self.rule();
        let matched = rule.matches.meet(request).map_err(Silent::Unmet)?;
        let start = keys.len();
        let missing = push_key(&rule.key, self.lens(), matched, request, keys);
        if let (Some(part), Missing::Skip) = (missing, rule.missing) {
            keys.truncate(start);
            return Err(Silent::Skipped(part));
        }
        let complete = missing.is_none();
        Ok(Slot {
            rule: index,
            key: start..keys.len(),
            terms: self.terms_of(request, keys),
            mode: rule.mode,
            cost: self.cost_of(request, keys),
            complete,
            in_doubt: matched.in_doubt,
            standing: Standing::Heard,
        })
    }

    /// The plan that the request names, if the rule has it.
    fn terms_of(&self, request: &Request<'_>, scratch: &mut Vec<u8>) -> TermsOf {
        let Some(plans) = &self.rule().plan else {
            return TermsOf::Rule;
        };
        let push = |out: &mut Vec<u8>| push_word(&plans.source, request, out);
        let plan = read(scratch, push, |word| self.plan(word)).flatten();
        plan.map_or(TermsOf::Rule, TermsOf::Plan)
    }

    fn cost_of(&self, request: &Request<'_>, scratch: &mut Vec<u8>) -> Option<Cost> {
        match &self.rule().cost {
            CostSpec::Request(name) => {
                let push = |out: &mut Vec<u8>| push_header(request.facts, name, out);
                read(scratch, push, number).unwrap_or(Some(Cost::ONE))
            }
            _ => Some(self.default_cost()),
        }
    }

    /// What a request costs that says nothing of it.
    pub fn default_cost(&self) -> Cost {
        match self.rule().cost {
            CostSpec::Fixed(units)
            | CostSpec::Response {
                estimate: units, ..
            } => Cost::new(units),
            CostSpec::Request(_) => Cost::ONE,
        }
    }
}

/// Reads a value at the end of a buffer, which it leaves as it was. `None` if there is no value.
fn read<T>(
    scratch: &mut Vec<u8>,
    push: impl FnOnce(&mut Vec<u8>) -> bool,
    read: impl FnOnce(&[u8]) -> T,
) -> Option<T> {
    let start = scratch.len();
    let found = push(scratch);
    let value = scratch.get(start..).filter(|_| found).map(read);
    scratch.truncate(start);
    value
}

/// Digits and nothing else; as many of them as anybody likes.
fn number(text: &[u8]) -> Option<Cost> {
    if text.is_empty() {
        return None;
    }
    let units = text.iter().try_fold(0_u64, |units, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(units.saturating_mul(10).saturating_add(digit))
    });
    units.map(Cost::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_digits_and_saturates() {
        let cost = |text: &str| number(text.as_bytes()).map(Cost::get);
        assert_eq!(cost("0"), Some(0));
        assert_eq!(cost("0042"), Some(42));
        assert_eq!(cost(&"9".repeat(400)), Some(u32::MAX));
        for text in ["", "-1", "+1", "1.5", "1e3", " 1", "1, 2", "0x10", "١"] {
            assert_eq!(cost(text), None, "{text:?}");
        }
    }

    #[test]
    fn reading_a_value_leaves_the_keys_alone() {
        let mut keys = b"key".to_vec();
        let push = |out: &mut Vec<u8>| {
            out.extend_from_slice(b"word");
            true
        };
        assert_eq!(read(&mut keys, push, <[u8]>::to_vec).unwrap(), b"word");
        let half = |out: &mut Vec<u8>| {
            out.push(1);
            false
        };
        assert_eq!(read(&mut keys, half, <[u8]>::to_vec), None);
        assert_eq!(keys, b"key");
    }
}
