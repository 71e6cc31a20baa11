//! One request: what a policy says of it.

use jeton_core::Micros;

use super::charge::{Charge, Counter, Source};
use super::judge::Asked;
use super::orders::Orders;
use super::policy::Policy;
use super::slot::Slot;
use super::verdict::{Denied, Verdict};
use crate::facts::Facts;
use crate::request::Request;
use crate::rule::Mode;

/// Memory that evaluations reuse, so that they do not allocate.
#[derive(Debug, Default)]
pub struct Buffers {
    pub(super) keys: Vec<u8>,
    pub(super) slots: Vec<Slot>,
    pub(super) shadow_denials: Vec<Denied>,
}

/// What a policy says of one request.
#[derive(Debug)]
pub struct Evaluation<'a> {
    asked: Asked<'a>,
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

    /// The charges in the order of the file, each with that of the terms on trial after it; none
    /// unless the verdict is [`Verdict::Charges`].
    pub fn charges(&self) -> impl Iterator<Item = Charge<'a>> + use<'a> {
        let Self {
            asked,
            buffers,
            preflight,
            ..
        } = *self;
        let slots: &[Slot] = match self.verdict {
            Verdict::Charges => &buffers.slots,
            _ => &[],
        };
        slots.iter().flat_map(move |slot| {
            let own = asked.charge(buffers, slot, preflight);
            let trial = own.and_then(|own| asked.policy.trial(&own));
            own.into_iter().chain(trial)
        })
    }

    /// Refusals of rules without a vote: to be counted only.
    pub fn shadow_denials(&self) -> &'a [Denied] {
        &self.buffers.shadow_denials
    }
}

impl Policy {
    /// What this policy says of one request, with what operators set, at one instant.
    ///
    /// Pure: the same facts give the same answer. Nothing is allocated once `buffers` are warm
    /// and the path comes in normal form. A header field that chooses a plan or names a cost is
    /// believed: hand over only what comes from trusted peers
    /// ([`believed_headers`](Self::believed_headers)).
    pub fn evaluate<'a>(
        &'a self,
        facts: &dyn Facts,
        orders: &'a Orders,
        now: Micros,
        buffers: &'a mut Buffers,
    ) -> Evaluation<'a> {
        buffers.keys.clear();
        buffers.slots.clear();
        buffers.shadow_denials.clear();
        let request = Request::new(facts);
        let policy = self;
        let asked = Asked {
            policy,
            orders,
            now,
        };
        let (verdict, unmatched) = match self.listed(&request) {
            Some(verdict) => (verdict, false),
            None => asked.consult(&request, buffers),
        };
        let preflight = !buffers.slots.is_empty() && request.is_preflight();
        Evaluation {
            asked,
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

    /// The charge of the terms on trial beside one under the rule's own terms.
    pub(super) fn trial<'a>(&'a self, own: &Charge<'a>) -> Option<Charge<'a>> {
        if own.counter != Counter::Requests || own.plan.is_some() || own.overridden {
            return None;
        }
        let rule = self.rules().get(own.rule)?;
        Some(rule.charge(Source {
            rule: own.rule,
            counter: Counter::Trial,
            key: own.key,
            quota: rule.trial_quota()?,
            mode: Mode::Shadow,
            cost: own.cost,
            plan: None,
            overridden: false,
        }))
    }
}
