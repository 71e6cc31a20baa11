//! What is allowed, and still worth a word.

mod doors;
mod forged;
mod reach;
mod store;
mod terms;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jeton_wire::client_ip::{Prefixes, Source, Trust};

use super::Draft;
use super::addresses::shown;
use crate::diagnostic::{Fault, code};
use crate::envoy::Domain;
use crate::raw::{Context, Section, Value};
use crate::rule::{Allowance, Mode};
use crate::settings::Settings;
use crate::source::Mark;

pub(crate) use forged::{fault as invented_key, invented};
use terms::warn_about_plans;
pub(crate) use terms::{TermPlaces, warn_about_terms};

pub(super) fn warn(
    cx: &mut Context<'_>,
    root: &Section<'_>,
    settings: &Settings,
    (drafts, domains): (&[Draft], &[Domain]),
) {
    let has_files = settings
        .rls
        .as_ref()
        .is_some_and(|rls| rls.envoy_config.is_some());
    let no_rules = (!root.has("rule") || root.has_empty_list("rule")) && !has_files;
    let door = ["proxy", "api", "rls"]
        .iter()
        .find_map(|door| root.item(door));
    // Where something could not be read, that may have been the rules.
    if let (true, false, Some(item)) = (no_rules, cx.findings.has_errors(), door) {
        let fault = Fault::new(code::NO_RULES, "there is no rule, so nothing is limited")
            .fix("[[rule]] with name, key, algorithm and a limit");
        cx.findings.warning(item.mark, fault);
    }
    trust(cx, root, settings);
    doors::warn(cx, root, settings, drafts);
    store::warn(cx, root, settings, drafts);
    for draft in drafts {
        if let Allowance::Quota(terms) = &draft.rule.allowance {
            warn_about_terms(
                &mut cx.findings,
                &draft.rule.name,
                terms,
                &draft.marks.places(),
                settings.store.max_memory,
            );
        }
        warn_about_plans(&mut cx.findings, draft, settings.store.max_memory);
        shadow_replaces(cx, drafts, draft);
    }
    // Of a policy that is refused nobody knows what its rules would leave each other.
    if !cx.findings.has_errors() {
        reach::warn(cx, settings, drafts);
        reach::warn_about_domains(cx, drafts, domains);
        forged::warn(cx, drafts);
    }
}

fn trust(cx: &mut Context<'_>, root: &Section<'_>, settings: &Settings) {
    let finder = &settings.client_ip.finder;
    if let Trust::Prefixes(networks) = &finder.trust
        && finder.source != Source::None
        && holds_everybody(networks)
    {
        let what = format!("everybody's {} is believed", shown(&finder.source));
        let fault = Fault::new(code::TRUSTS_ALL, what)
            .label("any client can choose its address")
            .fix("the addresses of your own proxies, or hops = 1");
        cx.findings
            .warning(place(root, "client_ip", "trusted"), fault);
    }
    if holds_everybody(&settings.lists.exempt) {
        let fault = Fault::new(
            code::TRUSTS_ALL,
            "everybody is exempt, so nothing is limited",
        )
        .fix("the addresses that you mean");
        cx.findings.warning(place(root, "lists", "exempt"), fault);
    }
}

/// Whether a set holds all addresses of a family.
fn holds_everybody(networks: &Prefixes) -> bool {
    let ends = |low: IpAddr, high: IpAddr| networks.contains(low) && networks.contains(high);
    let v4 = ends(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::BROADCAST.into());
    let v6 = ends(
        Ipv6Addr::UNSPECIFIED.into(),
        Ipv6Addr::from([0xff; 16]).into(),
    );
    v4 || v6
}

/// A rule without a vote must not lift a limit that is in force.
fn shadow_replaces(cx: &mut Context<'_>, drafts: &[Draft], draft: &Draft) {
    if draft.rule.mode.has_vote() {
        return;
    }
    for (name, mark) in draft.rule.replaces.iter().zip(&draft.marks.replaces) {
        let enforced = |other: &&Draft| other.rule.name == *name && other.rule.mode.has_vote();
        if drafts.iter().any(|other| enforced(&other)) {
            let standing = match draft.rule.mode {
                Mode::Mark => "only marks",
                _ => "is in shadow",
            };
            let what = format!(
                "{:?} {standing}, so {name:?} applies beside it",
                draft.rule.name
            );
            let fault = Fault::new(code::REPLACED_SHADOW, what).fix("mode = \"enforce\", in time");
            cx.findings.warning(*mark, fault);
        }
    }
}

/// Where a setting of a section stands.
fn place(root: &Section<'_>, section: &str, key: &str) -> Mark {
    let section_mark = || root.item(section).map(|item| item.mark);
    let mark = written(root, section, key).or_else(section_mark);
    mark.unwrap_or_default()
}

/// Where a setting of a section stands, if it is written out.
fn written(root: &Section<'_>, section: &str, key: &str) -> Option<Mark> {
    match &root.item(section)?.value {
        Value::Table(table) => table.get(key).map(|item| item.mark),
        _ => None,
    }
}
