//! What a file of descriptors may say, and hardly means.

use std::collections::{HashMap, HashSet};

use super::limit::Descriptor;
use super::rules::Domain;
use crate::diagnostic::{Fault, Findings, code, nearest};
use crate::source::Mark;

/// A limit that another one replaces, by its name.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) name: String,
    pub(super) mark: Mark,
}

/// `rate_limit` without a number.
pub(super) fn denies_all() -> Fault {
    let what = "`rate_limit` without `requests_per_unit` lets nothing pass";
    Fault::new(code::DESCRIPTORS, what).fix("requests_per_unit: 0, if that is meant")
}

/// Descriptors of one list that lead nowhere. One that takes values out of a limit beside it has its use.
pub(super) fn leaves(list: &[(Descriptor, Mark)], doubts: &mut Vec<(Mark, Fault)>) {
    let is_wide = |one: &Descriptor| {
        let has_wildcard = |text: &String| text.contains('*');
        one.value.as_ref().is_none_or(has_wildcard) || has_wildcard(&one.key)
    };
    let mut wide: HashMap<&str, usize> = HashMap::new();
    let mut by_wildcard = 0;
    for (own, _) in list.iter().filter(|(own, _)| is_wide(own)) {
        *wide.entry(&own.key).or_default() += 1;
        by_wildcard += usize::from(own.key.contains('*'));
    }
    for (own, mark) in list {
        if own.limit.is_some() || !own.descriptors.is_empty() || own.key.is_empty() {
            continue;
        }
        let of_key = wide.get(&*own.key).copied().unwrap_or_default();
        let takes_out =
            of_key > usize::from(is_wide(own)) || by_wildcard > usize::from(own.key.contains('*'));
        if takes_out {
            continue;
        }
        let what = format!("the descriptor {:?} limits nothing", own.key);
        let fault = Fault::new(code::DESCRIPTORS, what);
        let fix = "rate_limit, or descriptors below it; or leave it out";
        let fault = fault.label("no rate_limit, and no descriptors below it");
        doubts.push((*mark, fault.fix(fix)));
    }
}

/// Names of limits that a domain does not have.
pub(super) fn replaces_nothing(
    domain: Option<&Domain>,
    replaced: &[Replaced],
    findings: &mut Findings<'_>,
) {
    let mut names = HashSet::new();
    if let Some(domain) = domain.filter(|_| !replaced.is_empty()) {
        collect(&domain.descriptors, &mut names);
    }
    for Replaced { name, mark } in replaced {
        if name.is_empty() || names.contains(name.as_str()) {
            continue;
        }
        let what = format!("no limit of this domain has the `name` {name:?}");
        let fault = Fault::new(code::DESCRIPTORS, what).label("so it replaces nothing");
        let fault = match nearest(name, names.iter().copied()) {
            Some(near) => fault.fix(format!("name: {near}")),
            None => fault.fix("the `name` in the `rate_limit` of another descriptor"),
        };
        findings.warning(*mark, fault);
    }
}

fn collect<'d>(descriptors: &'d [Descriptor], names: &mut HashSet<&'d str>) {
    for Descriptor {
        limit, descriptors, ..
    } in descriptors
    {
        names.extend(limit.as_ref().and_then(|limit| limit.name.as_deref()));
        collect(descriptors, names);
    }
}
