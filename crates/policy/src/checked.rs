//! Second stage: what the file means. Every mistake becomes a finding, and only a file without
//! one leaves this stage.

mod across;
mod addresses;
mod allowance;
mod answer;
mod api;
mod change;
mod cost;
mod count;
mod doors;
mod failure;
mod listen;
mod matches;
mod plans;
mod resp;
mod rls;
mod rule;
mod sections;
mod settling;
mod store;
mod warnings;

pub(crate) use allowance::{AlgorithmWords, LIMITS, refused};
pub(crate) use change::{Change, change_fits, changed};
pub(crate) use listen::{parse_listen, parse_upstream};
pub(crate) use rule::key_parts;
pub(crate) use store::{DISK_WORDS, REDIS_WORDS};
pub(crate) use warnings::{TermPlaces, invented, invented_key, warn_about_terms};

use crate::diagnostic::{Fault, code};
use crate::envoy::Domain;
use crate::language::{ROOT, Shape, Vocabulary, word};
use crate::raw::{self, Context, Item, Section, Table, Value};
use crate::rule::Rule;
use crate::settings::Settings;
use crate::source::Mark;
use doors::Standing;

/// The whole policy language.
pub(crate) const FILE: Vocabulary = Vocabulary {
    section: ROOT,
    example: "",
    about: "A policy: the rules of one file, and where they are asked.",
    known: &[
        word(
            "proxy",
            Shape::Table(&sections::PROXY),
            sections::PROXY.about,
        ),
        word("api", Shape::Table(&api::API), api::API.about),
        word("rls", Shape::Table(&rls::RLS), rls::RLS.about),
        word("resp", Shape::Table(&resp::RESP), resp::RESP.about),
        word("store", Shape::Table(&store::STORE), store::STORE.about),
        word(
            "client_ip",
            Shape::Table(&addresses::CLIENT_IP),
            addresses::CLIENT_IP.about,
        ),
        word(
            "answer",
            Shape::Table(&answer::ANSWER),
            answer::ANSWER.about,
        ),
        word(
            "lists",
            Shape::Table(&addresses::LISTS),
            addresses::LISTS.about,
        ),
        word("rule", Shape::Tables(&rule::RULE), rule::RULE.about),
    ],
    required: &[],
    later: raw::SECTIONS,
};

/// A rule with the places of what other checks may have to say about it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) rule: Rule,
    pub(crate) marks: Marks,
}

/// Places of a rule's settings; the rule itself where there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) name: Mark,
    pub(crate) algorithm: Mark,
    /// `burst`, or the `rate` that stands for it.
    pub(crate) burst: Mark,
    pub(crate) limit: Mark,
    pub(crate) key: Mark,
    pub(crate) plan: Mark,
    pub(crate) plans: Mark,
    pub(crate) cost: Mark,
    pub(crate) count: Mark,
    pub(crate) max_debt: Mark,
    pub(crate) replaces: Vec<Mark>,
}

/// What a file means.
pub(crate) struct Meaning {
    pub(crate) settings: Settings,
    pub(crate) rules: Vec<Rule>,
    /// Limits of descriptors, which stand in files of their own.
    pub(crate) domains: Vec<Domain>,
}

/// The meaning of a file, if it has one.
pub(crate) fn check(cx: &mut Context<'_>, table: &Table) -> Option<Meaning> {
    let root = Section::of(cx, &FILE, table, Mark::default());
    let proxy = sections::proxy(cx, &root);
    let api = api::api(cx, &root);
    let (rls, domains) = rls::rls(cx, &root);
    let resp = resp::resp(cx, &root);
    let settings = Settings {
        proxy: proxy.as_ref().map(|proxy| proxy.value.clone()),
        api: api.as_ref().map(|api| api.value.clone()),
        rls: rls.as_ref().map(|rls| rls.value.clone()),
        resp: resp.as_ref().map(|resp| resp.value.clone()),
        store: store::store(cx, &root),
        client_ip: addresses::client_ip(cx, &root),
        answer: answer::answer(cx, &root),
        lists: addresses::lists(cx, &root),
    };
    let standing = |section, usual_port, listen, mark| Standing {
        section,
        usual_port,
        listen,
        mark,
    };
    let doors = [
        proxy
            .as_ref()
            .map(|it| standing("[proxy]", 8080, &it.value.listen, it.mark)),
        api.as_ref()
            .map(|it| standing("[api]", 7070, &it.value.listen, it.mark)),
        rls.as_ref()
            .map(|it| standing("[rls]", 8081, &it.value.listen, it.mark)),
        resp.as_ref()
            .map(|it| standing("[resp]", 6380, &it.value.listen, it.mark)),
    ];
    doors::distinct_addresses(cx, &doors);
    let (drafts, broken) = rules(cx, &root);
    across::check(cx, &drafts, &broken);
    across::debts_are_possible(cx, &settings, &drafts);
    warnings::warn(cx, &root, &settings, (&drafts, &domains));
    if cx.findings.has_errors() || cx.beside.errors() > 0 {
        return None;
    }
    Some(Meaning {
        settings,
        rules: drafts.into_iter().map(|draft| draft.rule).collect(),
        domains,
    })
}

/// Every `[[rule]]` that could be read, and the names of those that could not.
fn rules<'t>(cx: &mut Context<'_>, root: &Section<'t>) -> (Vec<Draft>, Vec<(&'t str, Mark)>) {
    let (mut drafts, mut broken) = (Vec::new(), Vec::new());
    match root.item("rule").map(|item| (&item.value, item.mark)) {
        None => {}
        Some((Value::List(items), _)) => {
            for item in items {
                match rule::rule(cx, item) {
                    Some(draft) => drafts.push(draft),
                    None => broken.extend(name_of(item)),
                }
            }
        }
        Some((_, mark)) => {
            let fault = Fault::new(code::TYPE, "a rule stands in double brackets").fix("[[rule]]");
            let _: Option<()> = cx.error(mark, fault);
        }
    }
    (drafts, broken)
}

/// What a rule is called that has other mistakes, and where.
fn name_of(item: &Item) -> Option<(&str, Mark)> {
    let Value::Table(table) = &item.value else {
        return None;
    };
    let entry = table.entries.iter().find(|entry| entry.key == "name")?;
    match &entry.item.value {
        Value::Text(name) => Some((name, entry.key_mark)),
        _ => None,
    }
}
