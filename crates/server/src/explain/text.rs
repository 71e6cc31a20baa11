//! An explanation as text: the verdict first, then every rule, then what the client would see.

use std::fmt::{self, Write};

use super::document::{Document, store_words};
use super::lines::{Line, lines_of};
use super::time::{instant, span};

/// What a mark before a rule says, for whoever colours it. The words beside it say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// `●`: it allows.
    Allows,
    /// `✕`: it denies.
    Denies,
    /// `◇`: it would deny, and has no vote.
    WouldDeny,
    /// `–`: it has nothing to say.
    Silent,
}

impl Mark {
    const fn sign(self) -> &'static str {
        match self {
            Self::Allows => "●",
            Self::Denies => "✕",
            Self::WouldDeny => "◇",
            Self::Silent => "–",
        }
    }
}

/// Writes an explanation for people; `paint` may colour the verdict and the marks.
///
/// # Errors
/// Those of `out`.
pub fn write_text(
    document: &Document,
    out: &mut impl Write,
    paint: &dyn Fn(Mark, &str) -> String,
) -> fmt::Result {
    let verdict = if document.allowed {
        paint(Mark::Allows, "ALLOWED")
    } else {
        paint(Mark::Denies, "DENIED")
    };
    writeln!(
        out,
        "{verdict}{}. Nothing was charged. {}.",
        why(document),
        state(document)
    )?;
    let lines: Vec<Line> = lines_of(document);
    let width = |of: fn(&Line) -> &str| {
        let widths = lines.iter().filter(|line| line.is_row());
        widths
            .map(|line| of(line).chars().count())
            .max()
            .unwrap_or(0)
    };
    let names = lines.iter().map(|line| line.name.chars().count()).max();
    let (names, states) = (names.unwrap_or(0), width(|line| &line.state));
    let keys = width(|line| &line.key);
    for line in &lines {
        let mark = paint(line.mark, line.mark.sign());
        let name = &line.name;
        if line.is_row() {
            let (state, key, note) = (&line.state, &line.key, &line.note);
            let row = format!("{name:names$}  {state:states$}  {key:keys$}  {note}");
            writeln!(out, "  {mark} {}", row.trim_end())?;
        } else {
            writeln!(out, "  {mark} {name:names$}  {}", line.note)?;
        }
    }
    if document.allowed && !document.marked.is_empty() {
        let marked = document.marked.join(", ");
        writeln!(out, "The service would be told x-jeton-limited: {marked}")?;
    }
    client(document, out)
}

fn state(document: &Document) -> String {
    let at = instant(document.at_ms, document.at_ms);
    match document.generation {
        0 if document.of_store && document.reason.as_deref() == Some("degraded") => {
            "The store did not answer".to_owned()
        }
        0 if document.of_store => format!("State of {at}, as the store has it"),
        0 => "Counters are fresh: no process was asked".to_owned(),
        generation => format!("State of {at}, policy generation {generation}"),
    }
}

/// What decided, behind the verdict.
fn why(document: &Document) -> String {
    let by = document.denied_by.join(", ");
    let reason = document.reason.as_deref();
    let refusing = document.rules.iter().find(|rule| rule.outcome == "refuses");
    match (reason, document.retry_after_ms) {
        (Some("unmatched"), _) => ": no rule matches".to_owned(),
        (Some("unlimited"), _) => ": no rule counts it".to_owned(),
        (Some("exempt"), _) => ": the address is on the exempt list".to_owned(),
        (Some("block"), _) if refusing.is_none() => ": the address is on the block list".to_owned(),
        (Some("too-many-rules"), _) => ": more rules match than can be decided together".to_owned(),
        (Some("degraded"), _) => format!(": {}, and on_failure decides", without_store(document)),
        (_, Some(ms)) => format!(" by {by}, retry in {}", span(ms)),
        _ if let Some(rule) = refusing => match rule.blocked_until_ms {
            Some(until) => {
                let until = instant(until, document.at_ms);
                format!(" by {}, blocked until {until}", rule.rule)
            }
            None => format!(" by {}", rule.rule),
        },
        _ if document.impossible => format!(" by {by}: it costs more than there can ever be"),
        _ if document.allowed && document.store_error.is_some() => {
            let why = without_store(document);
            format!(": {why}, and this process limits by itself")
        }
        _ if document.allowed => String::new(),
        _ => format!(" by {by}"),
    }
}

fn without_store(document: &Document) -> String {
    let word = document.store_error.as_deref();
    word.map_or_else(|| "the store gave no decision".to_owned(), store_words)
}

fn client(document: &Document, out: &mut impl Write) -> fmt::Result {
    let client = &document.client;
    let fields = client.headers.iter();
    let fields: Vec<String> = fields
        .map(|field| format!("{}: {}", field.name, field.value))
        .collect();
    match client.status {
        None if fields.is_empty() => writeln!(out, "The client would see the service's answer."),
        None => {
            let fields = fields.join(" · ");
            let now = "as of now, before it is charged";
            writeln!(
                out,
                "The client would see the service's answer, with ({now}) {fields}"
            )
        }
        Some(status) => {
            let all: Vec<String> = std::iter::once(status.to_string()).chain(fields).collect();
            writeln!(out, "The client would see: {}", all.join(" · "))?;
            let mut body = client.body.lines();
            body.try_for_each(|line| writeln!(out, "  {line}"))
        }
    }
}
