//! One charge of a request.

use std::time::Duration;

use jeton_core::{Cost, Kind, OnDeny, Quota, RuleId};

use super::policy::CompiledRule;
use crate::rule::{CostSpec, Mode, OnFailure, ResponseCost, StatusSet};

/// Which counter of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// The rule's own.
    Requests,
    /// The one beside it for CORS preflights.
    Preflights,
    /// The one beside it for the terms on trial, which never has a vote.
    Trial,
}

/// One charge of a request.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Index of the rule.
    pub rule: usize,
    /// The identity of the counter on every store.
    pub id: RuleId,
    /// Which counter of the rule that is.
    pub counter: Counter,
    /// Which key in it.
    pub key: &'a [u8],
    /// Under which quota: the rule's, its plan's, an override's, or the one on trial.
    pub quota: &'a Quota,
    /// Whether it has a vote.
    pub mode: Mode,
    /// What a denial by it costs.
    pub on_deny: OnDeny,
    /// The rule's own cost: fixed, or what the request says, or an estimate.
    pub cost: Cost,
    /// The plan whose quota this is.
    pub plan: Option<&'a str>,
    /// Whether an operator's override gave the quota.
    pub overridden: bool,
    /// Units that settling it may go below nothing left; [`Cost::MAX`] for one limit.
    pub max_debt: Cost,
    /// What becomes known only with the answer; none if the charge is final.
    pub settle: Option<Settle<'a>>,
    /// How long a request waits that is refused only because of units held; zero where nothing is
    /// held that an answer would settle.
    pub hold_wait: Duration,
    /// What happens when the store gives no decision.
    pub on_failure: OnFailure,
}

/// What becomes known only with the answer to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle<'a> {
    /// Whether it counts: all or nothing, by its status.
    Status(&'a StatusSet),
    /// Its cost, which it names.
    Response(&'a ResponseCost),
    /// When it ends: its units are returned then, and kept until then (`concurrency`).
    Lease,
}

/// Where the quota of a charge comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) rule: usize,
    pub(super) counter: Counter,
    pub(super) key: &'a [u8],
    pub(super) quota: &'a Quota,
    pub(super) mode: Mode,
    pub(super) cost: Cost,
    pub(super) plan: Option<&'a str>,
    pub(super) overridden: bool,
}

impl CompiledRule {
    /// A charge to one of its counters.
    pub(super) fn charge<'a>(&'a self, source: Source<'a>) -> Charge<'a> {
        let Source {
            rule,
            counter,
            key,
            quota,
            mode,
            cost,
            plan,
            overridden,
        } = source;
        let settle = self.settle(counter, quota);
        Charge {
            rule,
            id: self.counter_id(counter),
            counter,
            key,
            quota,
            mode,
            on_deny: self.rule().on_deny,
            cost,
            plan,
            overridden,
            max_debt: self.rule().max_debt.map_or(Cost::MAX, Cost::new),
            settle,
            hold_wait: match settle {
                Some(Settle::Status(_) | Settle::Response(_)) => self.rule().hold_wait,
                Some(Settle::Lease) | None => Duration::ZERO,
            },
            on_failure: self.on_failure(),
        }
    }

    /// What its charges wait for. The answer to a preflight says nothing of what is meant.
    fn settle(&self, counter: Counter, quota: &Quota) -> Option<Settle<'_>> {
        let rule = self.rule();
        match (&rule.cost, &rule.count) {
            _ if quota.kind() == Kind::Concurrency => Some(Settle::Lease),
            _ if counter == Counter::Preflights => None,
            (CostSpec::Response { source, .. }, _) => Some(Settle::Response(source)),
            (_, Some(statuses)) => Some(Settle::Status(statuses)),
            _ => None,
        }
    }
}
