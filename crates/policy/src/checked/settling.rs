//! `cost`, `count`, `max_debt`, `hold_wait`, `on_deny`, taken together: what a request costs, and
//! what is known only after it was answered.

use std::time::Duration;

use jeton_core::OnDeny;

use super::allowance::value_mark;
use super::cost::cost;
use super::count::count;
use crate::diagnostic::{Fault, code};
use crate::language::names;
use crate::raw::{Context, Section};
use crate::rule::{Allowance, CostSpec, Rule, Terms};
use crate::units::{grouped, parse_duration, zero};

pub(super) const ON_DENY: [(&str, OnDeny); 2] =
    [("keep", OnDeny::Keep), ("charge", OnDeny::Charge)];
pub(super) const ON_DENY_WORDS: &[&str] = &names(&ON_DENY);

pub(super) const NOTHING_COUNTED: &str = "has no effect: this rule counts nothing";

const RETURNED: &str = "is for limits over time: units in flight come back when they end";

/// The longest that a request may wait for units held.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Reads the settings into a rule that has its allowance, plans and trial.
pub(super) fn settle(cx: &mut Context<'_>, section: &Section<'_>, rule: &mut Rule) {
    rule.count = count(cx, section);
    let cost = cost(cx, section);
    let unread = section.has("cost") && cost.is_none();
    rule.cost = cost.unwrap_or_default();
    rule.on_deny = section
        .word(cx, "on_deny", &ON_DENY, &[])
        .unwrap_or_default();
    rule.max_debt = max_debt(cx, section);
    rule.hold_wait = hold_wait(cx, section).unwrap_or(rule.hold_wait);
    match &rule.allowance {
        Allowance::Quota(terms) => {
            fits_terms(cx, section, rule, terms);
            if !unread {
                fits_itself(cx, section, rule);
            }
            cost_fits(cx, section, rule, terms);
        }
        Allowance::Unlimited | Allowance::Deny => {
            for key in [
                "count",
                "cost",
                "on_deny",
                "max_debt",
                "hold_wait",
                "on_failure",
            ] {
                section.refuse(cx, key, NOTHING_COUNTED, "leave it out");
            }
        }
    }
}

/// Here 0 means what it says: nothing may be owed.
fn max_debt(cx: &mut Context<'_>, section: &Section<'_>) -> Option<u64> {
    let debt = section.count(cx, "max_debt", || zero("a debt of 0"));
    debt.map(|debt| debt.value)
}

fn fits_terms(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule, terms: &Terms) {
    if !matches!(terms, Terms::Concurrency { .. }) {
        return;
    }
    section.refuse(cx, "count", RETURNED, "leave it out");
    section.refuse(cx, "max_debt", RETURNED, "leave it out");
    if matches!(rule.cost, CostSpec::Response { .. }) {
        let why = format!("by the answer {RETURNED}");
        section.refuse(cx, "cost", &why, "cost = 1");
    }
    if rule.on_deny == OnDeny::Charge {
        let why = "has no effect: who is refused holds nothing that could come back";
        section.refuse(cx, "on_deny", why, "on_deny = \"keep\"");
    }
    if section.has("hold_wait") {
        let why =
            "is for units that an answer settles; a limit of requests in flight waits for none";
        section.refuse(cx, "hold_wait", why, "leave it out");
    }
}

fn fits_itself(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule) {
    let by_response = matches!(rule.cost, CostSpec::Response { .. });
    let concurrency = matches!(rule.allowance, Allowance::Quota(Terms::Concurrency { .. }));
    if concurrency {
        return;
    }
    if by_response && section.has("count") {
        let why = "and a cost that the answer names exclude each other: both settle the request";
        section.refuse(cx, "count", why, "keep one of them");
    }
    if rule.on_deny == OnDeny::Charge && section.has("count") {
        let why = "and `count` exclude each other: who is refused gets no answer that could count";
        section.refuse(cx, "on_deny", why, "on_deny = \"keep\"");
    }
    if !by_response && !section.has("count") {
        let why = "has no effect without `count` or a cost that the answer names: nothing is held";
        section.refuse(cx, "hold_wait", why, "leave it out");
    }
}

/// No request that costs more than a limit can ever hold could pass.
fn cost_fits(cx: &mut Context<'_>, section: &Section<'_>, rule: &Rule, own: &Terms) {
    let cost = match rule.cost {
        CostSpec::Fixed(units) => units,
        CostSpec::Response { estimate, .. } => estimate,
        CostSpec::Request(_) => 1,
    };
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let plans = plans.filter_map(|(name, allowance)| match allowance {
        Allowance::Quota(terms) => Some((format!("the plan {name:?}"), *terms)),
        Allowance::Unlimited | Allowance::Deny => None,
    });
    let trial = rule.trial.map(|terms| ("the trial".to_owned(), terms));
    let own_terms = ("this rule".to_owned(), *own);
    let mut all = std::iter::once(own_terms).chain(plans).chain(trial);
    if let Some((whose, terms)) = all.find(|(_, terms)| terms.most() < cost) {
        let most = terms.most();
        let what = format!(
            "a request costs {}, and {whose} never holds more than {}",
            grouped(cost),
            grouped(most)
        );
        let fault = Fault::new(code::TOO_DEAR, what)
            .label("none could ever pass")
            .fix(format!("at most {most}, or a larger limit"));
        let _: Option<()> = cx.error(value_mark(section, "cost"), fault);
    }
    let most = largest(rule, own);
    if let Some(debt) = rule.max_debt.filter(|debt| *debt > most) {
        let what = format!(
            "`max_debt` is {}, and no debt is larger than one limit",
            grouped(debt)
        );
        let fault = Fault::new(code::CONTRADICTION, what).fix(format!("max_debt = {most}"));
        let _: Option<()> = cx.error(value_mark(section, "max_debt"), fault);
    }
}

/// The largest limit that a request can meet here.
fn largest(rule: &Rule, own: &Terms) -> u64 {
    let plans = rule.plan.iter().flat_map(|plans| &plans.named);
    let plans = plans.map(|(_, allowance)| match allowance {
        Allowance::Quota(terms) => terms.most(),
        Allowance::Unlimited | Allowance::Deny => 0,
    });
    plans.fold(own.most(), u64::max)
}

fn hold_wait(cx: &mut Context<'_>, section: &Section<'_>) -> Option<Duration> {
    let parse = |text: &str| {
        let wait = Duration::from_micros(parse_duration(text)?.as_micros());
        if wait > LONGEST_WAIT {
            let what = "`hold_wait` is above a minute";
            return Err(Fault::new(code::DURATION, what).fix("\"1min\""));
        }
        Ok(wait)
    };
    let wait = section.parsed(cx, "hold_wait", parse)?;
    Some(*wait.value.get())
}
