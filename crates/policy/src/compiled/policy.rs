//! The policy: settings and rules, ready to use and never changed.

use jeton_core::{Quota, RuleId};
use jeton_wire::client_ip::Ipv6Prefix;

use super::allowed::{Allowed, preflights};
use super::charge::Counter;
use super::encode::Lens;
use super::id::rule_id;
use crate::diagnostic::{Report, nearest};
use crate::envoy::{self, Descriptors, Domain};
use crate::key::KeyPart;
use crate::rule::{Allowance, CostSpec, Mode, OnFailure, Rule};
use crate::settings::{Settings, Store};
use crate::sharing::Ahead;

/// A policy, and what is worth a word about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// Ready to use.
    pub policy: Policy,
    /// Warnings; no errors.
    pub report: Report,
}

/// Settings and rules, ready to use and never changed.
#[derive(Debug)]
pub struct Policy {
    settings: Settings,
    /// Those of the file, and behind them those of descriptors.
    rules: Vec<CompiledRule>,
    /// How many rules every request is asked about.
    own: usize,
    descriptors: Descriptors,
}

/// A rule with all that can be known before a request comes.
#[derive(Debug)]
pub struct CompiledRule {
    rule: Rule,
    id: RuleId,
    preflight_id: RuleId,
    allowed: Allowed,
    preflights: Option<Quota>,
    /// In the order of the plans as they were written.
    plans: Vec<Allowed>,
    trial: Option<Trial>,
    /// The rule's, else the store's.
    on_failure: OnFailure,
    /// Indices of rules that do not apply when this one matches.
    pub(super) replaces: Vec<usize>,
    prefix: Ipv6Prefix,
    ahead: Option<Ahead>,
}

/// Terms that are counted beside the rule's own.
#[derive(Debug)]
struct Trial {
    id: RuleId,
    quota: Quota,
}

impl Policy {
    /// Compiles what has passed every check.
    pub(crate) fn compile(settings: Settings, mut rules: Vec<Rule>, domains: &[Domain]) -> Self {
        let own = rules.len();
        let mut descriptors = Descriptors::default();
        if settings.rls.is_some() {
            let (tree, limits) = envoy::compile(domains, own);
            descriptors = tree;
            rules.extend(limits);
        }
        let names: Vec<String> = rules.iter().map(|rule| rule.name.clone()).collect();
        let at = |name: &String| names.iter().position(|other| other == name);
        let ahead = Ahead::of(&rules, &settings.store);
        let compile = |(rule, ahead): (Rule, Option<Ahead>)| {
            let replaces = rule.replaces.iter().filter_map(at).collect();
            CompiledRule {
                ahead,
                ..CompiledRule::new(rule, replaces, &settings)
            }
        };
        let rules = rules.into_iter().zip(ahead).map(compile).collect();
        Self {
            settings,
            rules,
            own,
            descriptors,
        }
    }

    /// Everything but the rules.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same over another store: for who tries it out elsewhere than where it is served. What
    /// becomes of requests without a store's decision stays as it is.
    #[must_use]
    pub fn over(mut self, store: Store) -> Self {
        let rules: Vec<Rule> = self.rules.iter().map(|rule| rule.rule.clone()).collect();
        for (rule, ahead) in self.rules.iter_mut().zip(Ahead::of(&rules, &store)) {
            rule.ahead = ahead;
        }
        self.settings.store = store;
        self
    }

    /// The limits of descriptors, which are found by what a request brings.
    pub const fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    /// The rules that every request is asked about: all but the limits of descriptors.
    pub(crate) fn asked_rules(&self) -> &[CompiledRule] {
        self.rules.get(..self.own).unwrap_or_default()
    }

    /// The rules of the file and the limits of descriptors: all but the one that limits are counted
    /// under which requests bring.
    pub fn told_rules(&self) -> &[CompiledRule] {
        let end = self.descriptors.own().unwrap_or(self.rules.len());
        self.rules.get(..end).unwrap_or(&self.rules)
    }

    /// The rules in the order of the file; behind them the limits of descriptors, and with [`Rls`] the
    /// rule that limits are counted under which requests bring.
    ///
    /// [`Rls`]: crate::Rls
    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// The rule of that name, and its index.
    pub fn rule(&self, name: &str) -> Option<(usize, &CompiledRule)> {
        self.rules
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.rule.name == name)
    }

    /// Names of header fields, in lower case, that choose a plan or name a cost, each once. Doors
    /// show evaluations such a field only of peers that they trust, and take it out otherwise.
    pub fn believed_headers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for CompiledRule { rule, .. } in &self.rules {
            let plan = match rule.plan.as_ref().map(|plans| &plans.source) {
                Some(KeyPart::Header(name)) => Some(name.as_str()),
                _ => None,
            };
            let cost = match &rule.cost {
                CostSpec::Request(name) => Some(name.as_str()),
                _ => None,
            };
            for name in [plan, cost].into_iter().flatten() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The name of a rule that `name` may be a slip of the fingers for.
    pub fn rule_named_like(&self, name: &str) -> Option<&str> {
        nearest(name, self.rules.iter().map(CompiledRule::name))
    }
}

impl CompiledRule {
    fn new(rule: Rule, replaces: Vec<usize>, settings: &Settings) -> Self {
        let prefix = settings.client_ip.ipv6_prefix;
        let allowed = |allowance| Allowed::of(allowance).unwrap_or(Allowed::Deny);
        let plans = rule.plan.iter().flat_map(|plans| &plans.named);
        let trial = rule.trial.and_then(|terms| {
            let id = rule_id(&rule, prefix, Counter::Trial);
            let quota = terms.quota().ok()?;
            Some(Trial { id, quota })
        });
        Self {
            id: rule_id(&rule, prefix, Counter::Requests),
            preflight_id: rule_id(&rule, prefix, Counter::Preflights),
            allowed: allowed(&rule.allowance),
            preflights: match &rule.allowance {
                Allowance::Quota(terms) => preflights(terms),
                Allowance::Unlimited | Allowance::Deny => None,
            },
            plans: plans.map(|(_, allowance)| allowed(allowance)).collect(),
            trial,
            on_failure: rule.on_failure.unwrap_or(settings.store.on_failure),
            replaces,
            prefix,
            ahead: None,
            rule,
        }
    }

    /// The rule as it was written.
    pub const fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// Its identity on every store: the same on every node and after every restart, another one
    /// when its name or its key changes.
    pub const fn id(&self) -> RuleId {
        self.id
    }

    /// The identity of the counter that CORS preflights are charged to.
    pub const fn preflight_id(&self) -> RuleId {
        self.preflight_id
    }

    /// The identity of the counter of the terms on trial, if it has such.
    pub fn trial_id(&self) -> Option<RuleId> {
        self.trial.as_ref().map(|trial| trial.id)
    }

    /// The identity of one of its counters.
    pub(super) fn counter_id(&self, counter: Counter) -> RuleId {
        match counter {
            Counter::Requests => self.id,
            Counter::Preflights => self.preflight_id,
            Counter::Trial => self.trial_id().unwrap_or(self.id),
        }
    }

    /// What it allows; `None` for `unlimited` and `deny`.
    pub const fn quota(&self) -> Option<&Quota> {
        self.allowed.quota()
    }

    /// What it allows to CORS preflights: [`PREFLIGHT_FACTOR`](super::PREFLIGHT_FACTOR) times as
    /// much, or as many times as a quota can hold.
    pub const fn preflight_quota(&self) -> Option<&Quota> {
        self.preflights.as_ref()
    }

    /// The terms on trial; `None` if it has none.
    pub fn trial_quota(&self) -> Option<&Quota> {
        self.trial.as_ref().map(|trial| &trial.quota)
    }

    /// What one of its plans allows: `None` if it has no such plan, or the plan is a word.
    pub fn plan_quota(&self, name: &str) -> Option<&Quota> {
        self.plan_allowed(self.plan(name.as_bytes())?)?.quota()
    }

    /// Whether it has a vote, unless an operator says otherwise.
    pub const fn mode(&self) -> Mode {
        self.rule.mode
    }

    /// What becomes of its requests when the store gives no decision.
    pub const fn on_failure(&self) -> OnFailure {
        self.on_failure
    }

    /// What the store's leases do with it.
    pub(crate) const fn ahead(&self) -> Option<&Ahead> {
        self.ahead.as_ref()
    }

    pub(super) const fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    pub(super) fn plan_allowed(&self, plan: usize) -> Option<&Allowed> {
        self.plans.get(plan)
    }

    /// The plan of that name. There are a few, with short names: nothing is quicker than to
    /// compare them all.
    pub(super) fn plan(&self, name: &[u8]) -> Option<usize> {
        let named = &self.rule.plan.as_ref()?.named;
        named.iter().position(|(own, _)| own.as_bytes() == name)
    }

    /// The name of a plan by its place.
    pub(super) fn plan_name(&self, plan: usize) -> Option<&str> {
        let (name, _) = self.rule.plan.as_ref()?.named.get(plan)?;
        Some(name)
    }

    /// How much of an IPv6 address its key holds, unless a part says otherwise.
    pub(crate) const fn ipv6_prefix(&self) -> Ipv6Prefix {
        self.prefix
    }

    pub(super) const fn lens(&self) -> Lens {
        Lens {
            prefix: self.prefix,
            match_case: self.rule.matches.match_case,
        }
    }
}
