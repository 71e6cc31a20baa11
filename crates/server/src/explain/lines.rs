//! The lines of an explanation, one for each counter.

use super::document::Document;
use super::rules::{Counted, Entry, Speaking};
use super::text::Mark;
use super::time::{instant, span};
use crate::cli::grouped;

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) mark: Mark,
    pub(super) name: String,
    /// What is left; empty if nothing is counted.
    pub(super) state: String,
    pub(super) key: String,
    pub(super) note: String,
}

impl Line {
    /// Whether it has columns; the others say one thing only.
    pub(super) fn is_row(&self) -> bool {
        !self.state.is_empty()
    }
}

pub(super) fn lines_of(document: &Document) -> Vec<Line> {
    let lines = |entry: &Entry| match (&entry.speaks, entry.counters.as_slice()) {
        (Some(speaks), counters) if !counters.is_empty() => counters
            .iter()
            .map(|counted| row(document, entry, speaks, counted))
            .collect(),
        _ => vec![remark(document, entry)],
    };
    document.rules.iter().flat_map(lines).collect()
}

fn row(document: &Document, entry: &Entry, speaks: &Speaking, counted: &Counted) -> Line {
    let is_trial = counted.counter == "trial";
    let has_vote = speaks.mode == "enforce" && !is_trial;
    let mut notes = vec![said(document, speaks, counted, has_vote)];
    if is_trial {
        notes.push("on trial".to_owned());
    } else {
        notes.extend(circumstances(document, speaks, counted));
    }
    if let Some(on_failure) = &entry.on_failure {
        notes.push(format!("without the store, by on_failure = {on_failure}"));
    }
    if counted.approximate {
        notes.push("an estimate: the store is full".to_owned());
    }
    notes.retain(|note| !note.is_empty());
    Line {
        mark: match (counted.allowed, has_vote) {
            (true, _) => Mark::Allows,
            (false, true) => Mark::Denies,
            (false, false) => Mark::WouldDeny,
        },
        name: entry.rule.clone(),
        state: format!(
            "{} of {} left",
            grouped(counted.remaining),
            grouped(counted.limit)
        ),
        key: format!("key {}", shown(speaks)),
        note: notes.join("; "),
    }
}

/// What one counter says to the request.
fn said(document: &Document, speaks: &Speaking, counted: &Counted, has_vote: bool) -> String {
    let denies = if has_vote { "denies" } else { "would deny" };
    let cost = speaks.cost.unwrap_or(1);
    match (counted.allowed, counted.retry_after_ms) {
        (false, Some(ms)) => {
            let at = instant(document.at_ms + ms, document.at_ms);
            format!("{denies}, fits in {} at {at}", span(ms))
        }
        (false, None) => format!("{denies}, can never hold {cost}"),
        (true, _) if !document.allowed => "keeps them: all rules are charged, or none".to_owned(),
        (true, _) => format!("takes {cost}"),
    }
}

/// What else is in force.
fn circumstances(document: &Document, speaks: &Speaking, counted: &Counted) -> Vec<String> {
    let mut notes = vec![speaks.allows.clone()];
    // A sliding log promises what it says.
    let says_more = speaks.at_most != format!("at most {}", speaks.allows);
    if says_more && !speaks.at_most.is_empty() {
        notes.push(speaks.at_most.clone());
    }
    match (
        &speaks.plan,
        speaks.terms.as_str(),
        speaks.override_until_ms,
    ) {
        (_, "override", None) => notes.push("by an override, until it is lifted".to_owned()),
        (_, "override", Some(until)) => {
            let until = instant(until, document.at_ms);
            notes.push(format!("by an override, until {until}"));
        }
        (Some(plan), _, _) => notes.push(match (&plan.name, plan.known) {
            (None, _) => "no plan named".to_owned(),
            (Some(name), true) => format!("plan {name}"),
            (Some(name), false) => format!("plan {name} is unknown, so the rule's own terms"),
        }),
        _ => {}
    }
    if speaks.mode != "enforce" || speaks.mode_by_order {
        let by = if speaks.mode_by_order {
            ", set by an operator"
        } else {
            ""
        };
        notes.push(format!("mode {}{by}", speaks.mode));
    }
    match (speaks.cost_from.as_str(), &speaks.cost_field) {
        ("answer", Some(field)) => notes.push(format!("an estimate, until {field} of the answer")),
        (_, Some(field)) => notes.push(format!("cost by {field}")),
        _ => {}
    }
    if let Some(statuses) = &speaks.count {
        notes.push(format!("counted if the answer is {statuses}"));
    }
    if !counted.allowed && speaks.charges_denials {
        notes.push("a denial costs what is left".to_owned());
    }
    if counted.counter == "preflights" {
        let factor = jeton::policy::PREFLIGHT_FACTOR;
        notes.push(format!(
            "preflights have {factor} times as much, on a counter of their own"
        ));
    }
    notes
}

fn shown(speaks: &Speaking) -> String {
    let parts = speaks.key.iter();
    let parts: Vec<&str> = parts.map(|part| part.shown.as_str()).collect();
    if parts.is_empty() {
        return "(none)".to_owned();
    }
    parts.join(", ")
}

/// A rule that the store gave no decision for.
fn uncharged(document: &Document, entry: &Entry) -> Line {
    let has_vote = entry
        .speaks
        .as_ref()
        .is_some_and(|speaks| speaks.mode == "enforce");
    let on_failure = entry.on_failure.as_deref().unwrap_or_default();
    let (mark, what) = match on_failure {
        "deny" if has_vote => (Mark::Denies, "refuses"),
        "deny" => (Mark::WouldDeny, "would refuse"),
        _ if document.allowed => (Mark::Allows, "passes uncharged"),
        "allow" => (Mark::Silent, "would pass uncharged"),
        _ => (Mark::Silent, "waits for the store"),
    };
    Line {
        mark,
        name: entry.rule.clone(),
        state: String::new(),
        key: String::new(),
        note: format!("{what} (on_failure = {on_failure})"),
    }
}

/// A rule that counts nothing here.
fn remark(document: &Document, entry: &Entry) -> Line {
    let (mark, before) = match entry.outcome.as_str() {
        "refuses" | "too-many-rules" => (Mark::Denies, ""),
        "would-refuse" => (Mark::WouldDeny, ""),
        "unlimited" => (Mark::Allows, ""),
        "unmatched" => (Mark::Silent, "not matched: "),
        "skipped" => (Mark::Silent, "skipped: "),
        "charged" if entry.on_failure.is_some() => return uncharged(document, entry),
        _ => (Mark::Silent, ""),
    };
    let until = entry.blocked_until_ms.map(|until| {
        let until = instant(until, document.at_ms);
        format!(" until {until}")
    });
    let mut notes = vec![format!(
        "{before}{}{}",
        entry.why,
        until.unwrap_or_default()
    )];
    if let (true, Some(speaks)) = (mark != Mark::Silent, &entry.speaks) {
        if let (Some(plan), "plan") = (&speaks.plan, speaks.terms.as_str()) {
            notes.extend(plan.name.iter().map(|name| format!("plan {name}")));
        }
        if !speaks.key.is_empty() {
            notes.push(format!("key {}", shown(speaks)));
        }
    }
    Line {
        mark,
        name: entry.rule.clone(),
        state: String::new(),
        key: String::new(),
        note: notes.join("; "),
    }
}
