//! The policy: settings and rules, ready to use and never changed.

use jeton_core::{Mode, Quota, RuleId};
use jeton_wire::client_ip::Ipv6Prefix;

use super::PREFLIGHT_FACTOR;
use super::encode::Lens;
use super::id::{Counter, rule_id};
use crate::diagnostic::{Report, nearest};
use crate::rule::{Allowance, Rule, Terms};
use crate::settings::Settings;

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
    rules: Vec<CompiledRule>,
}

/// A rule with all that can be known before a request comes.
#[derive(Debug)]
pub struct CompiledRule {
    rule: Rule,
    id: RuleId,
    preflight_id: RuleId,
    quotas: Option<Quotas>,
    /// Indices of rules that do not apply when this one matches.
    pub(super) replaces: Vec<usize>,
    prefix: Ipv6Prefix,
}

#[derive(Debug)]
struct Quotas {
    requests: Quota,
    preflights: Quota,
}

impl Policy {
    /// Compiles what has passed every check.
    pub(crate) fn compile(settings: Settings, rules: Vec<Rule>) -> Self {
        let prefix = settings.client_ip.ipv6_prefix;
        let names: Vec<String> = rules.iter().map(|rule| rule.name.clone()).collect();
        let at = |name: &String| names.iter().position(|other| other == name);
        let compile = |rule: Rule| {
            let replaces = rule.replaces.iter().filter_map(at).collect();
            CompiledRule::new(rule, replaces, prefix)
        };
        Self {
            settings,
            rules: rules.into_iter().map(compile).collect(),
        }
    }

    /// Everything but the rules.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The rules in the order of the file.
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

    /// The name of a rule that `name` may be a slip of the fingers for.
    pub fn rule_named_like(&self, name: &str) -> Option<&str> {
        nearest(name, self.rules.iter().map(CompiledRule::name))
    }
}

impl CompiledRule {
    fn new(rule: Rule, replaces: Vec<usize>, prefix: Ipv6Prefix) -> Self {
        let quotas = match &rule.allowance {
            Allowance::Quota(terms) => quotas(terms),
            Allowance::Unlimited | Allowance::Deny => None,
        };
        Self {
            id: rule_id(&rule, prefix, Counter::Requests),
            preflight_id: rule_id(&rule, prefix, Counter::Preflights),
            quotas,
            replaces,
            prefix,
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

    /// What it allows; `None` for `unlimited` and `deny`.
    pub fn quota(&self) -> Option<&Quota> {
        self.quotas.as_ref().map(|quotas| &quotas.requests)
    }

    /// What it allows to CORS preflights: [`PREFLIGHT_FACTOR`] times as much, or as many times as
    /// a quota can hold.
    pub fn preflight_quota(&self) -> Option<&Quota> {
        self.quotas.as_ref().map(|quotas| &quotas.preflights)
    }

    /// Whether it has a vote.
    pub const fn mode(&self) -> Mode {
        self.rule.mode
    }

    pub(super) const fn lens(&self) -> Lens {
        Lens {
            prefix: self.prefix,
            match_case: self.rule.matches.match_case,
        }
    }
}

fn quotas(terms: &Terms) -> Option<Quotas> {
    let requests = terms.quota().ok()?;
    let preflights = (1..=PREFLIGHT_FACTOR)
        .rev()
        .find_map(|factor| terms.times(factor)?.quota().ok());
    Some(Quotas {
        requests,
        preflights: preflights.unwrap_or(requests),
    })
}
