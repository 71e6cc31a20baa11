//! One request: which rules speak of it, and what they charge.
//!
//! Precedence: the block list, the exempt list, a rule that denies, rules that replace others,
//! then all that remain, which are charged together or not at all.

use std::ops::Range;

use jeton_core::{MAX_OPS, Mode, Quota, RuleId};

use super::encode::push_key;
use super::policy::{CompiledRule, Policy};
use crate::facts::Facts;
use crate::request::Request;
use crate::rule::{Allowance, Missing};

/// Memory that evaluations reuse, so that they do not allocate.
#[derive(Debug, Default)]
pub struct Buffers {
    keys: Vec<u8>,
    charged: Vec<Slot>,
    shadow_denials: Vec<Denied>,
}

/// A rule that speaks of the request.
#[derive(Clone, Debug)]
struct Slot {
    rule: usize,
    key: Range<usize>,
    complete: bool,
    in_doubt: bool,
    replaced: bool,
}

/// What is to happen with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The charges decide, all together; without any it passes.
    Charges,
    /// Its address is on the block list. Nothing is charged.
    Blocked,
    /// Its address is on the exempt list. Nothing is charged.
    Exempt,
    /// A rule refuses it (403). Nothing is charged.
    Denied(Denied),
    /// More rules speak of it than can be decided in one step. No decision is possible.
    TooManyRules,
}

/// A refusal that no counter takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Index of the rule.
    pub rule: usize,
    /// Why.
    pub reason: DenyReason,
}

/// Why a rule refuses without counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenyReason {
    /// `limit = "deny"`.
    Word,
    /// A part of the key is missing, and `missing = "deny"`.
    MissingKey,
}

/// One charge of a request.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Index of the rule.
    pub rule: usize,
    /// Which counter: the rule's, or that of its preflights.
    pub id: RuleId,
    /// Which key in it.
    pub key: &'a [u8],
    /// Under which quota.
    pub quota: &'a Quota,
    /// Whether it has a vote.
    pub mode: Mode,
    /// Whether this is a CORS preflight, on the counter beside the rule's.
    pub preflight: bool,
}

/// What a policy says of one request.
#[derive(Debug)]
pub struct Evaluation<'a> {
    policy: &'a Policy,
    buffers: &'a Buffers,
    verdict: Verdict,
    unmatched: bool,
    preflight: bool,
}

impl<'a> Evaluation<'a> {
    /// What is to happen.
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// `true` if no list and no rule speaks of the request: it passes, and should be counted.
    pub const fn is_unmatched(&self) -> bool {
        self.unmatched
    }

    /// The charges in the order of the file; none unless the verdict is [`Verdict::Charges`].
    pub fn charges(&self) -> impl Iterator<Item = Charge<'a>> + use<'a> {
        let Self {
            policy,
            buffers,
            preflight,
            ..
        } = *self;
        let slots: &[Slot] = match self.verdict {
            Verdict::Charges => &buffers.charged,
            _ => &[],
        };
        slots
            .iter()
            .filter_map(move |slot| policy.charge(buffers, slot, preflight))
    }

    /// Refusals of rules in shadow, which have no vote: to be counted only.
    pub fn shadow_denials(&self) -> &'a [Denied] {
        &self.buffers.shadow_denials
    }
}

impl Policy {
    /// What this policy says of one request.
    ///
    /// Pure: the same facts give the same answer. Nothing is allocated once `buffers` are warm
    /// and the path comes in normal form.
    pub fn evaluate<'a>(&'a self, facts: &dyn Facts, buffers: &'a mut Buffers) -> Evaluation<'a> {
        buffers.keys.clear();
        buffers.charged.clear();
        buffers.shadow_denials.clear();
        let request = Request::new(facts);
        let listed = self.listed(&request);
        let (verdict, unmatched) = match listed {
            Some(verdict) => (verdict, false),
            None => self.consult(&request, buffers),
        };
        let preflight = !buffers.charged.is_empty() && request.is_preflight();
        Evaluation {
            policy: self,
            buffers,
            verdict,
            unmatched,
            preflight,
        }
    }

    fn listed(&self, request: &Request<'_>) -> Option<Verdict> {
        let lists = &self.settings().lists;
        let address = request.client_ip?;
        if lists.block.contains(address) {
            Some(Verdict::Blocked)
        } else if lists.exempt.contains(address) {
            Some(Verdict::Exempt)
        } else {
            None
        }
    }

    /// Asks every rule. Also tells whether none has anything to say.
    fn consult(&self, request: &Request<'_>, buffers: &mut Buffers) -> (Verdict, bool) {
        for (index, rule) in self.rules().iter().enumerate() {
            if let Some(slot) = rule.slot(index, request, &mut buffers.keys) {
                buffers.charged.push(slot);
            }
        }
        let unmatched = buffers.charged.is_empty();
        if let Some(denied) = self.denied_by_word(buffers) {
            return (Verdict::Denied(denied), unmatched);
        }
        self.drop_replaced(&mut buffers.charged);
        if let Some(denied) = self.denied_by_missing(request, buffers) {
            return (Verdict::Denied(denied), unmatched);
        }
        buffers.charged.retain(|slot| self.quota_of(slot).is_some());
        if buffers.charged.len() > MAX_OPS {
            return (Verdict::TooManyRules, unmatched);
        }
        (Verdict::Charges, unmatched)
    }

    fn of(&self, slot: &Slot) -> Option<&CompiledRule> {
        self.rules().get(slot.rule)
    }

    fn quota_of(&self, slot: &Slot) -> Option<&Quota> {
        self.of(slot)?.quota()
    }

    /// The first rule with a vote that denies by word.
    fn denied_by_word(&self, buffers: &mut Buffers) -> Option<Denied> {
        let denies = |slot: &&Slot| {
            self.of(slot)
                .is_some_and(|rule| rule.rule().allowance == Allowance::Deny)
        };
        let refusal = |slot: &Slot| Denied {
            rule: slot.rule,
            reason: DenyReason::Word,
        };
        self.vote(
            buffers.charged.iter().filter(denies).map(refusal),
            &mut buffers.shadow_denials,
        )
    }

    /// The first rule with a vote that denies because a part of its key is missing. Browsers leave
    /// credentials out of preflights, which therefore share a counter instead.
    fn denied_by_missing(&self, request: &Request<'_>, buffers: &mut Buffers) -> Option<Denied> {
        let denies = |slot: &&Slot| {
            let wanted = self
                .of(slot)
                .is_some_and(|rule| rule.rule().missing == Missing::Deny);
            wanted && !slot.complete && !request.is_preflight()
        };
        let refusal = |slot: &Slot| Denied {
            rule: slot.rule,
            reason: DenyReason::MissingKey,
        };
        let found = buffers.charged.iter().filter(denies).map(refusal);
        let verdict = self.vote(found, &mut buffers.shadow_denials);
        // A rule in shadow that would have denied has nothing to charge.
        let shadow = &buffers.shadow_denials;
        buffers
            .charged
            .retain(|slot| !shadow.iter().any(|denied| denied.rule == slot.rule));
        verdict
    }

    /// The first denial with a vote; those without one go to `shadow`.
    fn vote(
        &self,
        denials: impl Iterator<Item = Denied>,
        shadow: &mut Vec<Denied>,
    ) -> Option<Denied> {
        let mut verdict = None;
        for denied in denials {
            match self.rules().get(denied.rule).map(CompiledRule::mode) {
                Some(Mode::Shadow) => shadow.push(denied),
                _ => verdict = verdict.or(Some(denied)),
            }
        }
        verdict
    }

    /// Takes out the rules that a matching one replaces. A rule in shadow has no vote, so it
    /// replaces only rules in shadow; a replaced rule still replaces others. A rule whose path
    /// does not match in every reading replaces none: the others may be the service's.
    fn drop_replaced(&self, slots: &mut Vec<Slot>) {
        for by in 0..slots.len() {
            let sure = slots.get(by).filter(|slot| !slot.in_doubt);
            let Some(rule) = sure.and_then(|slot| self.of(slot)) else {
                continue;
            };
            let lifted = |slot: &Slot| {
                let has_vote = self
                    .of(slot)
                    .is_some_and(|other| other.mode() == Mode::Enforce);
                rule.replaces.contains(&slot.rule) && !(rule.mode() == Mode::Shadow && has_vote)
            };
            if rule.replaces.is_empty() {
                continue;
            }
            for slot in slots.iter_mut() {
                slot.replaced |= lifted(slot);
            }
        }
        slots.retain(|slot| !slot.replaced);
    }

    fn charge<'a>(
        &'a self,
        buffers: &'a Buffers,
        slot: &Slot,
        preflight: bool,
    ) -> Option<Charge<'a>> {
        let rule = self.of(slot)?;
        let (id, quota) = if preflight {
            (rule.preflight_id(), rule.preflight_quota()?)
        } else {
            (rule.id(), rule.quota()?)
        };
        let key = buffers.keys.get(slot.key.clone())?;
        Some(Charge {
            rule: slot.rule,
            id,
            key,
            quota,
            mode: rule.mode(),
            preflight,
        })
    }
}

impl CompiledRule {
    /// The key of a request that this rule speaks of, appended to `keys`.
    fn slot(&self, index: usize, request: &Request<'_>, keys: &mut Vec<u8>) -> Option<Slot> {
        let rule = self.rule();
        let matched = rule.matches.find(request)?;
        let start = keys.len();
        let complete = push_key(&rule.key, self.lens(), matched, request, keys);
        if !complete && rule.missing == Missing::Skip {
            keys.truncate(start);
            return None;
        }
        Some(Slot {
            rule: index,
            key: start..keys.len(),
            complete,
            in_doubt: matched.in_doubt,
            replaced: false,
        })
    }
}
