//! What rules say about each other.

use jeton_core::MAX_OPS;

use super::Draft;
use crate::diagnostic::{Fault, code, nearest};
use crate::raw::Context;
use crate::rule::{Allowance, CostSpec};
use crate::settings::Settings;
use crate::source::Mark;

/// A rule's name, and where it stands.
type Named<'a> = (&'a str, Mark);

/// `broken` names the rules that have other mistakes.
pub(super) fn check(cx: &mut Context<'_>, drafts: &[Draft], broken: &[Named<'_>]) {
    names_are_unique(cx, drafts, broken);
    for draft in drafts {
        replaces_is_possible(cx, drafts, broken, draft);
    }
    no_cycles(cx, drafts);
    one_plan_holds_them(cx, drafts);
}

fn find<'d>(drafts: &'d [Draft], name: &str) -> Option<&'d Draft> {
    drafts.iter().find(|draft| draft.rule.name == name)
}

fn names_are_unique(cx: &mut Context<'_>, drafts: &[Draft], broken: &[Named<'_>]) {
    let sound = drafts
        .iter()
        .map(|draft| (draft.rule.name.as_str(), draft.marks.name));
    let mut all: Vec<Named<'_>> = sound.chain(broken.iter().copied()).collect();
    all.sort_by_key(|(_, mark)| *mark);
    for (at, (name, mark)) in all.iter().enumerate() {
        if all[..at].iter().any(|(other, _)| other == name) {
            let fault = Fault::new(code::DUPLICATE, format!("two rules are named {name:?}"))
                .label("one rule, one name, one counter")
                .fix(format!("name = {:?}", format!("{name}-2")));
            let _: Option<()> = cx.error(*mark, fault);
        }
    }
}

fn replaces_is_possible(
    cx: &mut Context<'_>,
    drafts: &[Draft],
    broken: &[Named<'_>],
    draft: &Draft,
) {
    let own = &draft.rule.name;
    for (name, mark) in draft.rule.replaces.iter().zip(&draft.marks.replaces) {
        let fault = |what: String| Fault::new(code::REPLACES, what);
        let found = match find(drafts, name) {
            _ if name == own => {
                Err(fault(format!("{name:?} cannot replace itself")).fix("leave it out"))
            }
            Some(other) if other.rule.allowance == Allowance::Deny => Err(fault(format!(
                "{name:?} denies, and a deny is not replaced"
            ))
            .fix(format!("a narrower `match` for {name:?}"))),
            Some(_) => Ok(()),
            None if broken.iter().any(|(other, _)| other == name) => Ok(()),
            None => {
                let fault = fault(format!("there is no rule named {name:?}"));
                let names = drafts.iter().map(|draft| draft.rule.name.as_str());
                Err(match nearest(name, names.filter(|other| other != own)) {
                    Some(near) => fault.fix(format!("{near:?}")),
                    None => fault.fix("the `name` of another rule"),
                })
            }
        };
        cx.findings.keep(*mark, found);
    }
}

/// Rules that replace each other in a ring would all vanish when all of them match.
fn no_cycles(cx: &mut Context<'_>, drafts: &[Draft]) {
    for (at, draft) in drafts.iter().enumerate() {
        let name = &draft.rule.name;
        // Reported once, at the first rule of the ring.
        let reached = reachable(drafts, draft);
        let ring = reached.contains(&name.as_str()) && !draft.rule.replaces.contains(name);
        let told = drafts[..at].iter().any(|earlier| {
            reached.contains(&earlier.rule.name.as_str())
                && reachable(drafts, earlier).contains(&name.as_str())
        });
        if let (true, false, Some(mark)) = (ring, told, draft.marks.replaces.first()) {
            let what = format!("{name:?} is replaced by a rule that it replaces");
            let fault = Fault::new(code::REPLACES, what)
                .label("together they would limit nothing")
                .fix("let only one of them replace the other");
            let _: Option<()> = cx.error(*mark, fault);
        }
    }
}

/// Names that a rule replaces, directly or through others.
fn reachable<'d>(drafts: &'d [Draft], from: &'d Draft) -> Vec<&'d str> {
    let mut names: Vec<&str> = from.rule.replaces.iter().map(String::as_str).collect();
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        at += 1;
        let next = find(drafts, name)
            .into_iter()
            .flat_map(|draft| &draft.rule.replaces);
        for name in next {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names
}

/// All rules of a request are decided in one step, which has room for so many.
fn one_plan_holds_them(cx: &mut Context<'_>, drafts: &[Draft]) {
    let always = |draft: &&Draft| {
        draft.rule.matches.is_everything()
            && matches!(draft.rule.allowance, Allowance::Quota(_))
            && (!draft.rule.mode.has_vote() || !is_replaced(drafts, draft))
    };
    let mut charges = 0;
    let too_many = drafts.iter().filter(always).find(|draft| {
        charges += 1 + usize::from(draft.rule.trial.is_some());
        charges > MAX_OPS
    });
    if let Some(draft) = too_many {
        let what = format!("more than {MAX_OPS} rules and trials speak of every request");
        let fault = Fault::new(code::TOO_MANY, what).fix("match = { … }");
        let _: Option<()> = cx.error(draft.marks.name, fault);
    }
}

/// Only a cost that is known afterwards can go into debt: one that the answer names, or one that
/// a caller of the API commits. Libraries, which have neither section, commit too.
pub(super) fn debts_are_possible(cx: &mut Context<'_>, settings: &Settings, drafts: &[Draft]) {
    if settings.proxy.is_none() || settings.api.is_some() {
        return;
    }
    for Draft { rule, marks } in drafts {
        let by_response = matches!(rule.cost, CostSpec::Response { .. });
        if rule.max_debt.is_some() && !by_response {
            let what = "`max_debt` has no effect: each cost is known before it is charged";
            let fault = Fault::new(code::CONTRADICTION, what)
                .fix("leave it out, or cost = { response = \"header:x-units\", estimate = 5 }");
            let _: Option<()> = cx.error(marks.max_debt, fault);
        }
    }
}

fn is_replaced(drafts: &[Draft], draft: &Draft) -> bool {
    drafts
        .iter()
        .any(|other| other.rule.replaces.contains(&draft.rule.name))
}
