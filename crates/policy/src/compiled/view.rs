//! One request as each rule sees it, before any is taken out: what an explanation is made of.

use jeton_core::{Cost, Micros};

use super::encode::push_word;
use super::evaluate::Buffers;
use super::judge::Asked;
use super::orders::Orders;
use super::policy::Policy;
use super::slot::{Silent, Slot, TermsOf};
use crate::key::KeyPart;
use crate::request::Request;
use crate::rule::{Allowance, Mode};

/// What a rule that speaks of a request makes of it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) key: Vec<u8>,
    pub(crate) terms: TermsOf,
    /// What they allow.
    pub(crate) allowance: Allowance,
    /// When the override ends whose terms they are.
    pub(crate) until: Option<Micros>,
    pub(crate) mode: Mode,
    /// `None` if the request names one that is not a number.
    pub(crate) cost: Option<Cost>,
    /// The first rule that replaces it.
    pub(crate) lifted_by: Option<usize>,
}

impl Policy {
    /// The views of all rules in the order of the file, or why a rule has none: found by the same
    /// steps as an evaluation.
    pub(crate) fn views(
        &self,
        request: &Request<'_>,
        orders: &Orders,
        now: Micros,
    ) -> Vec<Result<View, Silent<'_>>> {
        let policy = self;
        let asked = Asked {
            policy,
            orders,
            now,
        };
        let mut buffers = Buffers::default();
        let mut places = Vec::new();
        for (index, rule) in self.asked_rules().iter().enumerate() {
            let slot = rule.slot(index, request, &mut buffers.keys);
            places.push(slot.map(|slot| {
                buffers.slots.push(slot);
                buffers.slots.len() - 1
            }));
        }
        // Blocks are a matter of the verdict.
        let _ = asked.apply_orders(&mut buffers);
        let view = |place: usize| {
            let slot = buffers.slots.get(place)?;
            View::new(asked, &buffers, slot)
        };
        let views = places.into_iter().map(|place| place.map(view));
        views.filter_map(Result::transpose).collect()
    }
}

impl View {
    fn new(asked: Asked<'_>, buffers: &Buffers, slot: &Slot) -> Option<Self> {
        let rule = asked.policy.rules().get(slot.rule)?.rule();
        let key = buffers.keys.get(slot.key.clone())?;
        let altered = || asked.orders.of_key(slot.rule, key)?.altered(asked.now);
        let (allowance, until) = match slot.terms {
            TermsOf::Rule => (rule.allowance, None),
            TermsOf::Plan(plan) => (rule.plan.as_ref()?.named.get(plan)?.1, None),
            TermsOf::Override => (altered()?.allowance, altered()?.until),
        };
        let lifts = |by: &&Slot| {
            let lifter = asked.lifter(by);
            lifter.is_some_and(|lifter| lifter.lifts(slot))
        };
        Some(Self {
            key: key.to_vec(),
            terms: slot.terms,
            allowance,
            until,
            mode: slot.mode,
            cost: slot.cost,
            lifted_by: buffers.slots.iter().find(lifts).map(|by| by.rule),
        })
    }
}

/// The word that a request says in one place, as it is compared.
pub(crate) fn word(place: &KeyPart, request: &Request<'_>) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    push_word(place, request, &mut word).then_some(word)
}
