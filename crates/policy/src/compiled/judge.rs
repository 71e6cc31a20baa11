//! Which rules speak of a request, and what they charge.
//!
//! Precedence: the block list, the exempt list, an operator's block of a key, a rule (or plan, or
//! override) that denies, rules that replace others, a missing part of a key, a cost that is no
//! number; then all that remain, which are charged together or not at all.

use jeton_core::{MAX_OPS, Micros, Quota};

use super::allowed::Allowed;
use super::charge::{Charge, Counter, Source};
use super::evaluate::Buffers;
use super::orders::Orders;
use super::policy::{CompiledRule, Policy};
use super::slot::{Slot, Standing, TermsOf};
use super::verdict::{Denied, DenyReason, Verdict};
use crate::request::Request;
use crate::rule::Missing;

/// A policy with what operators set, at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) policy: &'a Policy,
    pub(super) orders: &'a Orders,
    pub(super) now: Micros,
}

impl<'a> Asked<'a> {
    /// Asks every rule. Also tells whether none has anything to say.
    pub(super) fn consult(self, request: &Request<'_>, buffers: &mut Buffers) -> (Verdict, bool) {
        for (index, rule) in self.policy.asked_rules().iter().enumerate() {
            if let Ok(slot) = rule.slot(index, request, &mut buffers.keys) {
                buffers.slots.push(slot);
            }
        }
        let unmatched = buffers.slots.is_empty();
        (self.judge(request, buffers), unmatched)
    }

    fn judge(self, request: &Request<'_>, buffers: &mut Buffers) -> Verdict {
        if !self.orders.is_empty()
            && let Some(blocked) = self.apply_orders(buffers)
        {
            return blocked;
        }
        if let Some(denied) = buffers.vote(|slot, keys| self.word_of(slot, keys)) {
            return Verdict::Denied(denied);
        }
        self.drop_replaced(&mut buffers.slots);
        if let Some(denied) = buffers.vote(|slot, _| self.misses(slot, request)) {
            return Verdict::Denied(denied);
        }
        let bad_cost = |slot: &Slot| slot.cost.is_none().then_some(DenyReason::BadCost);
        if let Some(Denied { rule, .. }) = buffers.vote(|slot, _| bad_cost(slot)) {
            return Verdict::BadCost { rule };
        }
        let Buffers { keys, slots, .. } = buffers;
        slots.retain(|slot| slot.is_heard() && self.quota(slot, keys).is_some());
        let trials = slots.iter().filter(|slot| self.has_trial(slot)).count();
        let trials = if trials > 0 && request.is_preflight() {
            0
        } else {
            trials
        };
        if slots.len() + trials > MAX_OPS {
            return Verdict::TooManyRules;
        }
        Verdict::Charges
    }

    /// Gives rules and keys what operators set for them. The verdict if a rule with a vote has a
    /// block in force.
    pub(super) fn apply_orders(self, buffers: &mut Buffers) -> Option<Verdict> {
        let mut blocked: Option<(usize, Option<Micros>)> = None;
        for slot in &mut buffers.slots {
            slot.mode = self.orders.mode(slot.rule).unwrap_or(slot.mode);
            let key = buffers.keys.get(slot.key.clone()).unwrap_or_default();
            let Some(of_key) = self.orders.of_key(slot.rule, key) else {
                continue;
            };
            if of_key.altered(self.now).is_some() {
                slot.terms = TermsOf::Override;
            }
            match of_key.blocked(self.now) {
                None => {}
                Some(until) if slot.mode.has_vote() => {
                    let longest = blocked.is_none_or(|(_, other)| ends_later(until, other));
                    blocked = longest.then_some((slot.rule, until)).or(blocked);
                }
                Some(_) => {
                    slot.standing = Standing::WouldDeny;
                    let (rule, reason) = (slot.rule, DenyReason::Block);
                    buffers.shadow_denials.push(Denied { rule, reason });
                }
            }
        }
        blocked.map(|(rule, until)| Verdict::BlockedUntil { rule, until })
    }

    /// Why a rule denies whatever has been used.
    fn word_of(self, slot: &Slot, keys: &[u8]) -> Option<DenyReason> {
        let denies = self.allowed(slot, keys)? == &Allowed::Deny;
        denies.then_some(match slot.terms {
            TermsOf::Rule => DenyReason::Word,
            TermsOf::Plan(_) => DenyReason::Plan,
            TermsOf::Override => DenyReason::Override,
        })
    }

    /// Browsers leave credentials out of preflights, which therefore share a counter instead.
    fn misses(self, slot: &Slot, request: &Request<'_>) -> Option<DenyReason> {
        let rule = self.of(slot)?.rule();
        let denies = rule.missing == Missing::Deny && !slot.complete && !request.is_preflight();
        denies.then_some(DenyReason::MissingKey)
    }

    /// Takes out the rules that a matching one replaces; a replaced rule still replaces others.
    fn drop_replaced(self, slots: &mut Vec<Slot>) {
        for by in 0..slots.len() {
            let Some(lifter) = slots.get(by).and_then(|slot| self.lifter(slot)) else {
                continue;
            };
            for slot in slots.iter_mut() {
                if lifter.lifts(slot) {
                    slot.standing = Standing::Replaced;
                }
            }
        }
        slots.retain(|slot| slot.standing != Standing::Replaced);
    }

    /// What a matching rule replaces, if anything. A rule whose path does not match in every
    /// reading replaces none: the others may be the service's.
    pub(super) fn lifter(self, slot: &Slot) -> Option<Lifter<'a>> {
        let replaces = &self.of(slot)?.replaces;
        let is_one = !replaces.is_empty() && !slot.in_doubt;
        let has_vote = slot.mode.has_vote();
        is_one.then_some(Lifter { replaces, has_vote })
    }

    fn of(self, slot: &Slot) -> Option<&'a CompiledRule> {
        self.policy.rules().get(slot.rule)
    }

    /// What the terms in force allow.
    fn allowed(self, slot: &Slot, keys: &[u8]) -> Option<&'a Allowed> {
        let rule = self.of(slot)?;
        match slot.terms {
            TermsOf::Rule => Some(rule.allowed()),
            TermsOf::Plan(plan) => rule.plan_allowed(plan),
            TermsOf::Override => {
                let key = keys.get(slot.key.clone())?;
                let altered = self.orders.of_key(slot.rule, key)?.altered(self.now)?;
                Some(&altered.allowed)
            }
        }
    }

    fn quota(self, slot: &Slot, keys: &[u8]) -> Option<&'a Quota> {
        self.allowed(slot, keys)?.quota()
    }

    fn has_trial(self, slot: &Slot) -> bool {
        let trial = self.of(slot).and_then(CompiledRule::trial_quota);
        slot.terms == TermsOf::Rule && trial.is_some()
    }

    /// A preflight is charged under the rule's own terms, whatever plan and override say: it
    /// does not carry what tells them.
    pub(super) fn charge(
        self,
        buffers: &'a Buffers,
        slot: &Slot,
        preflight: bool,
    ) -> Option<Charge<'a>> {
        let rule = self.of(slot)?;
        let own = self.quota(slot, &buffers.keys)?;
        let terms = if preflight { TermsOf::Rule } else { slot.terms };
        Some(rule.charge(Source {
            rule: slot.rule,
            counter: if preflight {
                Counter::Preflights
            } else {
                Counter::Requests
            },
            key: buffers.keys.get(slot.key.clone())?,
            quota: if preflight {
                rule.preflight_quota()?
            } else {
                own
            },
            mode: slot.mode,
            cost: slot.cost?,
            plan: match terms {
                TermsOf::Plan(plan) => rule.plan_name(plan),
                TermsOf::Rule | TermsOf::Override => None,
            },
            overridden: terms == TermsOf::Override,
        }))
    }
}

impl Buffers {
    /// The first denial with a vote. Rules without one are not heard from there on, and their
    /// denials are kept to be counted.
    fn vote(&mut self, why: impl Fn(&Slot, &[u8]) -> Option<DenyReason>) -> Option<Denied> {
        let mut verdict = None;
        for slot in self.slots.iter_mut().filter(|slot| slot.is_heard()) {
            let Some(reason) = why(slot, &self.keys) else {
                continue;
            };
            let rule = slot.rule;
            if slot.mode.has_vote() {
                verdict = verdict.or(Some(Denied { rule, reason }));
            } else {
                slot.standing = Standing::WouldDeny;
                self.shadow_denials.push(Denied { rule, reason });
            }
        }
        verdict
    }
}

/// A matching rule that replaces others.
pub(super) struct Lifter<'a> {
    replaces: &'a [usize],
    has_vote: bool,
}

impl Lifter<'_> {
    /// Whether it replaces this one. A rule without a vote replaces only rules without one.
    pub(super) fn lifts(&self, other: &Slot) -> bool {
        self.replaces.contains(&other.rule) && (self.has_vote || !other.mode.has_vote())
    }
}

/// Whether one block ends after another; `None` is the end of time.
fn ends_later(until: Option<Micros>, other: Option<Micros>) -> bool {
    match (until, other) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(until), Some(other)) => until > other,
    }
}
