//! The settings of a rule as text, as its policy has them or could have.

use std::fmt::Display;

use jeton_core::{Anchor, Kind, OnDeny};
use jeton_wire::client_ip::Ipv6Prefix;

use crate::compiled::CompiledRule;
use crate::key::KeyPart;
use crate::matching::Match;
use crate::printable::printable;
use crate::rule::{Allowance, CostSpec, Missing, Plans, ResponseCost, Rule, Terms};
use crate::setting::{Origin, Setting};
use crate::units::print_duration;

/// A setting as text.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) name: String,
    /// To be compared.
    pub(super) value: String,
    /// To be shown.
    pub(super) shown: String,
}

impl Written {
    fn new(name: impl Into<String>, value: impl Display) -> Self {
        let value = value.to_string();
        Self {
            name: name.into(),
            shown: printable(&value),
            value,
        }
    }

    /// A value that tells clients apart, or may.
    fn hidden(name: impl Into<String>, value: &str) -> Self {
        Self {
            name: name.into(),
            value: value.to_owned(),
            shown: "(not shown)".to_owned(),
        }
    }
}

/// What makes the counters of a rule its own, apart from its name.
pub(super) fn identity(rule: &CompiledRule, prefix: Ipv6Prefix) -> Vec<Written> {
    let mut all = vec![key(rule.rule())];
    let parts = &rule.rule().key;
    if parts.contains(&KeyPart::ClientIp(None)) {
        all.push(Written::new("[client_ip] ipv6_prefix", prefix.bits()));
    }
    if parts.contains(&KeyPart::Path) {
        let match_case = rule.rule().matches.match_case;
        all.push(Written::new("match.match_case", match_case));
    }
    if let Some(quota) = rule.quota() {
        let kind = match quota.kind() {
            Kind::FixedEpoch | Kind::FixedFirst => "fixed".to_owned(),
            kind => format!("{kind:?}"),
        };
        let shown = rule.rule().algorithm.unwrap_or_default().to_owned();
        all.push(Written {
            name: "algorithm".to_owned(),
            value: kind,
            shown,
        });
    }
    all.extend(anchor(&rule.rule().allowance));
    all
}

/// Everything that can be written in a rule, but what tells it from others. Taken apart without a `..`, so that no
/// setting that comes later is forgotten here.
pub(super) fn settings_of(rule: &Rule) -> Vec<Written> {
    let Rule {
        name,
        matches,
        key: _,
        missing,
        allowance,
        algorithm,
        mode,
        plan,
        count: _,
        cost: _,
        hold_wait: _,
        max_debt: _,
        on_deny: _,
        on_failure,
        trial,
        replaces,
        secret_key,
        descriptor,
    } = rule;
    let mut all = vec![key(rule)];
    // Rules are told apart by name; these are not, and are called otherwise when another is like them.
    if descriptor.is_some() {
        all.push(Written::new("name", name));
    }
    conditions(matches, &mut all);
    all.extend(algorithm.map(|word| Written::new("algorithm", word)));
    let own = settings_of_allowance(allowance);
    all.extend(own.map(|(name, value)| Written::new(name, value)));
    all.extend(anchor(allowance));
    plans(plan.as_ref(), &mut all);
    let trial = trial.map(|terms| in_one(&Allowance::Quota(terms)));
    all.extend(trial.map(|terms| Written::new("trial", terms)));
    costs(rule, &mut all);
    all.push(Written::new("mode", mode.word()));
    all.push(Written::new("missing", missing_word(*missing)));
    all.extend(on_failure.map(|what| Written::new("on_failure", what)));
    if !replaces.is_empty() {
        all.push(Written::new("replaces", replaces.join(", ")));
    }
    all.push(Written::new("secret_key", secret_key));
    all
}

fn key(rule: &Rule) -> Written {
    Written::new("key", list(&rule.key))
}

fn anchor(allowance: &Allowance) -> Option<Written> {
    match allowance {
        Allowance::Quota(Terms::FixedWindow { anchor, .. }) => Some(Written::new(
            "anchor",
            match anchor {
                Anchor::Epoch => "epoch",
                Anchor::FirstRequest => "first-request",
            },
        )),
        _ => None,
    }
}

fn settings_of_allowance(
    allowance: &Allowance,
) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let word = |word: &str| [Some(("limit", word.to_owned())), None];
    let both = |one, other| [Some(one), Some(other)];
    let all = match allowance {
        Allowance::Unlimited => word("unlimited"),
        Allowance::Deny => word("deny"),
        Allowance::Quota(Terms::Bucket { pace, burst }) => {
            both(("rate", pace.to_string()), ("burst", burst.to_string()))
        }
        Allowance::Quota(
            Terms::FixedWindow { limit, window, .. }
            | Terms::SlidingLog { limit, window }
            | Terms::SlidingCounter { limit, window },
        ) => both(
            ("limit", limit.to_string()),
            ("window", print_duration(*window)),
        ),
        Allowance::Quota(Terms::Concurrency { limit, lease }) => both(
            ("limit", limit.to_string()),
            ("lease", print_duration(*lease)),
        ),
    };
    all.into_iter().flatten()
}

/// `rate 50/s, burst 200`.
fn in_one(allowance: &Allowance) -> String {
    let all = settings_of_allowance(allowance).map(|(name, value)| format!("{name} {value}"));
    all.collect::<Vec<_>>().join(", ")
}

fn plans(plans: Option<&Plans>, all: &mut Vec<Written>) {
    let Some(plans) = plans else { return };
    all.push(Written::new("plan", &plans.source));
    for (name, allowance) in &plans.named {
        let name = format!("plans.{}", printable(name));
        all.push(Written::new(name, in_one(allowance)));
    }
}

fn costs(rule: &Rule, all: &mut Vec<Written>) {
    if let Some(statuses) = &rule.count {
        all.push(Written::new("count", statuses));
    }
    all.push(Written::new("cost", cost(&rule.cost)));
    let hold_wait = format!("{:?}", rule.hold_wait);
    all.push(Written::new("hold_wait", hold_wait));
    let max_debt = rule.max_debt.map(|units| Written::new("max_debt", units));
    all.extend(max_debt);
    let on_deny = match rule.on_deny {
        OnDeny::Keep => "keep",
        OnDeny::Charge => "charge",
    };
    all.push(Written::new("on_deny", on_deny));
}

fn cost(cost: &CostSpec) -> String {
    let response = |source: &ResponseCost| source.to_string();
    match cost {
        CostSpec::Fixed(units) => units.to_string(),
        CostSpec::Request(name) => format!("header:{name}"),
        CostSpec::Response { source, estimate } => {
            format!("{} of the answer, estimate {estimate}", response(source))
        }
    }
}

const fn missing_word(missing: Missing) -> &'static str {
    match missing {
        Missing::Share => "share",
        Missing::Skip => "skip",
        Missing::Deny => "deny",
    }
}

fn conditions(matches: &Match, all: &mut Vec<Written>) {
    let Match {
        domains,
        methods,
        paths,
        match_case,
        hosts,
        with,
        without,
        headers,
    } = matches;
    all.extend(any("match.domain", domains));
    all.extend(any("match.method", methods));
    all.extend(any("match.path", paths));
    if *match_case {
        all.push(Written::new("match.match_case", true));
    }
    all.extend(any("match.host", hosts));
    for (name, parts) in [("match.with", with), ("match.without", without)] {
        if !parts.is_empty() {
            all.push(Written::new(name, list(parts)));
        }
    }
    for (name, value) in headers {
        all.push(Written::hidden(format!("match.header.{name}"), value.get()));
    }
}

/// A list of values, some of which may come from where they may not be shown.
fn any<T: Display>(name: &str, values: &[Setting<T>]) -> Option<Written> {
    if values.is_empty() {
        return None;
    }
    let raw: Vec<String> = values.iter().map(|value| value.get().to_string()).collect();
    let written = Written::new(name, raw.join(", "));
    let is_shown = |value: &Setting<T>| *value.origin() == Origin::Literal;
    if values.iter().all(is_shown) {
        return Some(written);
    }
    let shown = list(values);
    Some(Written { shown, ..written })
}

fn list<T: Display>(values: &[T]) -> String {
    let all: Vec<String> = values.iter().map(T::to_string).collect();
    printable(&all.join(", "))
}
